"""`match`: literals, alternatives, guards, tuples, bindings, values by name, jumps out of it; t-strings."""


@fieldwise_init
struct State(Equatable, TrivialRegisterPassable):
    var code: Int
    comptime IDLE = State(0)
    comptime DONE = State(2)


def size(n: Int) -> String:
    match n:
        case 0:
            return "zero"
        case 1 | 2:
            return "small"
        case _ if n < 0:
            return "negative"
        case _:
            return "big"


def pair(a: Int, b: String) -> Int:
    match (a, b):
        case (1, "a"):
            return 1
        case (2, _):
            return 2
        case (var x, var y) if x > 100:
            return x
        case (x, y):
            return x + y.byte_length()


def word(s: String) -> Int:
    match s:
        case "one":
            return 1
        case "two" | "deux":
            return 2
        case other:
            print(t"other: {other}")
            return 0


def state(s: State) -> StaticString:
    match s:
        case State.IDLE:
            return "idle"
        case == State(1):
            return "running"
        case State.DONE:
            return "done"
    return "unknown"


def effect() -> Int:
    print("once")
    return 3


struct Router(Copyable):
    """Methods may be called `match` and `case`."""

    var other: Int

    def __init__(out self):
        self.other = 3

    def match(self, x: Int) -> Int:
        match x:
            case 1:
                return 10
            case _:
                return self.other

    def case(self) -> Int:
        return self.match(2)


def all_of_bool(a: Bool) -> Int:
    match a:
        case True:
            return 1
        case False:
            return 0


def all_of_pairs(a: Bool, b: Bool) -> Int:
    match (a, b):
        case (True, x):
            return 1 if x else 5
        case (False, True):
            return 0
        case (False, False):
            return 7


def main():
    for i in [0, 1, 2, -4, 9]:
        print(size(i), end=" ")
    print()
    print(pair(1, "a"), pair(2, "x"), pair(5, "abc"), pair(200, "b"))
    print(word("one"), word("deux"), word("zz"))
    print(
        state(State.IDLE), state(State(1)), state(State.DONE), state(State(7))
    )
    var y = 3
    match effect():
        case 1:
            print(1)
        case == y:
            print("y")
        case _:
            pass
    match (1, (2, "x")):
        case (1, (var a, "x")) if a > 1:
            print("nested", a)
        case _:
            print("no")
    for i in range(5):
        match i:
            case 1:
                continue
            case 3:
                break
            case _:
                print(i, end=";")
    print()
    match y == 3:
        case True:
            print("true")
        case False:
            print("false")
    match 2.5:
        case 2.5:
            print("a float")
        case _:
            pass
    print(Router().match(1), Router().case())

    var x = 3.5
    var who = "w"
    print(t"{x}", rt"a\n{who}", t"{who} {{}} {1 + 2} {who.upper()}")
    var s = t"{x} and {who}"
    print(s, String(s).byte_length())
    print(
        t"""lines
{who}"""
    )
    try:
        raise Error(t"bad {x}")
    except e:
        print(e)
    print(all_of_bool(True), all_of_bool(False), all_of_pairs(True, False), all_of_pairs(False, False))
