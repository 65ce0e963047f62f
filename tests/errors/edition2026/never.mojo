# A call that does not return has no value, and what must not return cannot end.


def fail(text: String) raises -> Never:
    raise Error("fail: ", text)


def joined(n: Int) raises -> Int:
    return n if n > 0 else fail("h")  # error@12: type-mismatch "'Int' and 'Never' have no common type"


def given() raises -> Int:
    return fail("h")  # error@12: type-mismatch "'Never' does not convert to 'Int'"


def ends(text: String) raises -> Never:  # error@5: missing-return "'ends' must return a value of type 'Never' on every path"
    print(text)


def main() raises:
    print(joined(1), given())
    ends("x")
