"""Declarations that edition 2026 asks for in another way."""


struct Vector[n: Int]:
    var data: SIMD[DType.float32, n]  # error@35: wrong-edition "'n', a parameter of 'Vector'" help "write 'Self.n'"

    comptime K = n + 1  # error@18: wrong-edition "is a member of 'Self' in edition 2026"

    def __init__(out self):
        self.data = 0

    def count[m: Int = Self.n](self, n: Int) -> Int:
        return n + m


@register_passable("trivial")  # error@1: wrong-edition "'@register_passable' is not in edition 2026" help "list the trait"
struct Old(Copyable, Movable):
    var x: Int32


struct Pinned(Movable where False):
    var x: Int

    def __init__(out self):
        self.x = 1


struct Twice(Copyable):
    var x: Int

    def __init__(out self, *, copy: Self):
        self.x = copy.x

    def __copyinit__(out self, other: Self):  # error@9: duplicate-definition "two copy constructors"
        self.x = other.x


struct Begun(Copyable, Defaultable):  # error@8: missing-argument "argument 'value' of 'Started' is missing"
    var part: Started


@fieldwise_init
struct Started(Copyable):
    var value: Int


@unavailable("write 'new'")
def old() -> Int:
    ...


@fieldwise_init
struct Problem(Copyable):
    var code: Int


def fails(code: Int) raises Problem -> Int:
    raise Problem(code)


def plain() raises:
    raise Error("plain")


def both() raises:
    _ = fails(1)  # error@9: unhandled-raise "'fails' may raise 'Problem', and errors have the type 'Error' here"


def mixed():
    try:
        _ = fails(1)
        plain()  # error@9: unhandled-raise "'plain' may raise 'Error', and errors have the type 'Problem' here"
    except e:
        print(e.code)


def silent():
    plain()  # error@5: unhandled-raise "'plain' may raise" help "declare this function with 'raises'"
    raise Error("no")  # error@5: unhandled-raise "nothing may raise here"


def assigns():
    x = 3  # error@5: wrong-edition "an assignment does not declare 'x' in edition 2026" help "write 'var x'; a text of edition 2025 needs '--edition 2025'"
    if (y := 4) > 3:  # error@9: wrong-edition "does not declare 'y'"
        print(x, y)
    for i in range(3):
        z = i  # error@9: wrong-edition "does not declare 'z'"
        print(z)


def unmovable() -> Pinned:
    var p = Pinned()
    return p^  # error@12: not-copyable "a value of type 'Pinned' can be neither copied nor moved"


def escapes():
    print("\uD800")  # error@12: invalid-literal "'\uD800' is no character"


def main():
    print(old())  # error@11: not-callable "'old' is unavailable: write 'new'"
