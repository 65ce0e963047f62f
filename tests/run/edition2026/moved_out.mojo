"""Values that are moved out of a container: loops that own it, and methods that consume it."""

from std.collections import Deque, LinkedList, Set
from std.ffi import CStringSpan
from std.sys import Endian


@fieldwise_init
struct M(Movable, Writable):
    var n: Int

    def __deinit__(deinit self):
        print("~", self.n, sep="", end=" ")


@fieldwise_init
struct N(Copyable, Writable):
    var n: Int

    def __init__(out self, *, copy: Self):
        self.n = copy.n
        print("copy", end=" ")

    def __deinit__(deinit self):
        print("~", self.n, sep="", end=" ")


def three() -> List[M]:
    return [M(1), M(2), M(3)]


def eat(var m: M):
    print("eat", m.n, end=" ")


def mk(var x: Int) -> M:
    return M(x)


def keep(var m: M) -> Optional[M]:
    return Optional(m^)


def loops() raises:
    var l: List[M] = [M(1), M(2), M(3)]
    for var m in l^:
        print(m.n, end=" ")
    print()
    for m in three():
        print(m.n, end=" ")
        if m.n == 2:
            break
    print()
    for var m in three():
        eat(m^)
    print()
    var n: List[N] = [N(1), N(2)]
    for x in n^:
        print(x.n, end=" ")
    print()
    n = [N(1), N(2)]
    for var x in n^:
        print(x.n, end=" ")
    print()
    n = [N(1), N(2)]
    for var x in [N(1), N(2)]:
        print(x.n, end=" ")
    print()
    var d = Deque[N](N(1), N(2))
    for var x in d^:
        print(x.n, end=" ")
    print()
    var s: Set[Int] = {1, 2, 3}
    print(s.pop(), s)
    for x in s^:
        print(x, end=" ")
    var k: LinkedList[Int] = [1, 2, 3]
    for x in k^:
        print(x, end=" ")
    var o = Optional(M(1))
    for var x in o^:
        print(x.n, end=" ")
    print()
    var a: Array[N, 2] = [N(1), N(2)]
    for var x in a^:
        print(x.n, end=" ")
    print()


def tuples() raises:
    print((1, "a", 2.5).reverse())
    print((1, 2).concat((3, "x")))
    print((M(1), 2).reverse())
    var t = (M(1), String("x"))
    var u = t^.concat((M(2), 5))
    print(u[0].n, u[3])
    var a = (1, 2)
    print(a.reverse(), a)
    var o: Optional[String] = None
    try:
        print(o[])
    except e:
        print(e)
    var p: Optional[List[Int]] = None
    try:
        print(p[])
    except e:
        print(e)
    var q: Optional[M] = None
    try:
        print(q[].n)
    except e:
        print(e)


def renumber[o: MutOrigin](items: MutSpan[M, _], others: MutSpan[M, o]):
    items[0].n = 8
    others[0].n += 1


def functions():
    var two: List[M] = [M(1)]
    var three: List[M] = [M(2)]
    renumber(two, three)
    print(two[0].n, three[0].n)
    var o = Optional(3).map(mk)
    print(o.value().n)
    var p = Optional(M(3)).and_then(keep)
    print(p.value().n)
    print(Optional(3).map(lambda (x: Int) -> Int: x + 1))
    var l: List[Int] = [1, 2, 3, 4]
    print(Span(l).binary_search_by(lambda (x: Int) -> Int: x - 3))
    print(Endian.native(), Endian.big == Endian.native())
    print("hello".as_c_string_span())
    try:
        print(CStringSpan("abc"))
    except e:
        print(e)


def main() raises:
    loops()
    tuples()
    functions()
