"""Calls that do not return, packs that are moved on, parameters that function types determine, places of calls."""
from std.os import abort
from std.reflection import SourceLocation, call_location, source_location


def fail(text: String) raises -> Never:
    raise Error("fail: ", text)


def stop() -> Never:
    abort("stopped")


def spin() -> Never:
    while True:
        pass


def leave() -> Never:
    stop()


def chain(n: Int) raises -> Never:
    if n > 0:
        fail("positive")
    fail("other")


struct Bad:
    @staticmethod
    def index(i: Int) raises -> Never:
        raise Error("index ", i)


def number_or_fail(n: Int) raises -> Int:
    if n > 0:
        return n
    fail("a")


def b(n: Int) raises -> Int:
    var x: Int
    if n > 0:
        x = n * 2
    else:
        chain(n)
    return x


def c(n: Int) raises -> String:
    if n == 1:
        return "one"
    elif n == 2:
        return "two"
    else:
        Bad.index(n)


def d(n: Int) -> Int:
    try:
        return number_or_fail(n)
    except:
        stop()


def third(n: Int) raises -> Int:
    for i in range(n):
        if i == 3:
            return i
    fail("e")


def spinning(n: Int) -> Int:
    while True:
        if n > 0:
            return n
        spin()


def g(s: String) raises -> Int:
    match s:
        case "x":
            return 1
        case _:
            fail(s)


def never() raises:
    print(
        number_or_fail(1), b(2), c(1), c(2), d(3), third(5), spinning(6), g("x")
    )
    for n in [0, 3]:
        try:
            print(number_or_fail(n), b(n), c(n))
        except err:
            print(err)
    try:
        print(b(0))
    except err:
        print(err)
    try:
        _ = third(2)
    except e2:
        print(e2)
    try:
        _ = g("y")
    except e3:
        print(e3)
    if len("x".split(",")) > 3:
        leave()


def by_abort(n: Int) -> Int:
    if n > 0:
        return n
    abort("no value")


def by_else(n: Int) -> Int:
    if n > 0:
        return n
    else:
        abort()


def by_prefix(n: Int) -> String:
    if n == 3:
        return "h"
    abort[prefix="STOP:"](String("none"))


def aborts() raises:
    print(by_abort(1), by_else(2), by_prefix(3))
    var x: Int
    if by_abort(4) > 3:
        x = 3
    else:
        abort(t"no {by_abort(1)}")
    print(x)


@fieldwise_init
struct Noisy(Copyable, Writable):
    var n: Int

    def __init__(out self, *, copy: Self):
        self.n = copy.n + 100

    def __deinit__(deinit self):
        print("end", self.n)


struct Row[*Ts: Copyable & Deinitable & Writable](Copyable, Writable):
    var cells: Tuple[*Self.Ts]

    def __init__(out self, var *cells: *Self.Ts):
        self.cells = Tuple(*cells^)

    def write_to(self, mut writer: Some[Writer]):
        comptime for i in range(type_of(self.cells).__len__()):
            if i > 0:
                writer.write(" & ")
            writer.write(self.cells[i])


def consume[*Ts: Copyable & Deinitable & Writable](var *args: *Ts):
    print("consume", args.__len__())
    comptime for i in range(args.__len__()):
        print("-", args[i], end=" ")
    print()


def pass_on[*Ts: Copyable & Deinitable & Writable](var *args: *Ts):
    consume(*args^)
    print("passed")


def half[*Ts: Copyable & Deinitable & Writable](flag: Bool, var *args: *Ts):
    if flag:
        consume(*args^)
    print("half")


def packs() raises:
    print(Row(1, "two", 3.5))
    var r = Row(Noisy(1), String("x"))
    print(r)
    pass_on(Noisy(2), 5)
    half(True, Noisy(3))
    half(False, Noisy(4))


trait Source(Copyable, Deinitable):
    comptime Out: Copyable & Deinitable

    def get(self) -> Self.Out:
        ...


@fieldwise_init
struct Nums(Source):
    comptime Out = List[Int]

    def get(self) -> List[Int]:
        return [1, 2, 3]


@fieldwise_init
struct One(Source):
    comptime Out = Int

    def get(self) -> Int:
        return 1


@fieldwise_init
struct A[U: Copyable & Deinitable](Copyable):
    var f: def(Int) thin -> Self.U


@fieldwise_init
struct B[P: Copyable & Deinitable, U: Copyable & Deinitable](Copyable):
    var p: Self.P
    var f: def(Self.P) thin -> Self.U


@fieldwise_init
struct C[P: Source, U: Copyable & Deinitable](Copyable):
    var p: Self.P
    var f: def(Self.P.Out) thin -> Self.U


@fieldwise_init
struct D[P: Source, U: Copyable & Deinitable](Source):
    comptime Out = Self.U
    var p: Self.P
    var f: def(Self.P.Out) thin -> Self.U

    def get(self) -> Self.U:
        return self.f(self.p.get())


def apply[
    P: Source, U: Copyable & Deinitable
](p: P, f: def(P.Out) thin -> U) -> U:
    return f(p.get())


def first[P: Source](p: P, q: P.Out) -> P.Out:
    return p.get()


def total(items: List[Int]) -> Int:
    var t = 0
    for i in items:
        t += i
    return t


def text(x: Int) -> String:
    return String("<", x, ">")


def inferred() raises:
    print(A(text).f(3))
    print(B(4, text).f(5))
    print(C(One(), text).f(6))
    print(C(Nums(), total).f([1, 2]))
    print(D(Nums(), total).get())
    print(D(D(Nums(), total), text).get())
    print(apply(Nums(), total), apply(One(), text))
    print(first(One(), 5))


@no_inline
def own() -> SourceLocation:
    return call_location()


@always_inline
def h() -> SourceLocation:
    return call_location()


@always_inline
def k() -> SourceLocation:
    return h()


struct Placed(Writable):
    var place: SourceLocation
    var text: String

    @always_inline
    def __init__(
        out self, text: String, *, location: Optional[SourceLocation] = None
    ):
        self.place = location.or_else(call_location())
        self.text = text


def raiser() raises Placed:
    raise Placed("bad", location=call_location())


def locations() raises:
    print(own().line(), h().line(), k().line(), source_location().line())
    print(call_location().line())
    print(Placed("x").place.line())
    try:
        raiser()
    except e:
        print(e.place.line())


def main() raises:
    aborts()
    packs()
    inferred()
    locations()
    never()
