"""Heaps, variants, optionals, dictionaries, iterators and atomics of the library."""

from std.collections import BinaryHeap, Set, Deque, Counter
from std.utils import Variant
from std.itertools import count, cycle, drop, product, repeat, take
from std.atomic import Atomic, Ordering, fence
from std.ffi import external_call, c_int


@fieldwise_init
struct T(Comparable, Copyable, Writable):
    var p: Int
    var n: String

    def __lt__(self, o: Self) -> Bool:
        return self.p < o.p

    def __eq__(self, o: Self) -> Bool:
        return self.p == o.p


def containers() raises:
    var h = BinaryHeap[Int]()
    for x in [5, 1, 8, 3]:
        h.push(x)
    print(h.peek(), len(h))
    while len(h) > 0:
        print(h.pop(), end=" ")
    print()
    var v = Variant[Int, String](3)
    print(v.isa[Int](), v[Int], v)
    v.set(String("x"))
    print(v[String], v.isa[String](), repr(v))

    v = 7

    print(v^.unwrap[Int]())
    var o: Optional[Int] = 3
    print(o.or_else(4), o.value(), o[])
    print(o.take(), Bool(o), o is None)
    var e: Optional[String] = "x"
    for s in e:
        print(s)
    if e:
        print(e.value())
    print(e == Optional(String("x")), Optional[Int](None).or_else(9))
    var d: Dict[String, Int] = {"a": 1}
    try:
        print(d["zz"])
    except err:
        print(err)
    try:
        _ = d.pop("zz")
    except err:
        print(err)
    var di: Dict[Int, Int] = {}
    try:
        print(di[3])
    except err:
        print(err)
    print(d.pop("a"), len(d), d.get("q"), d.get("q", 5), d.find("a"))
    var es: Set[Int] = Set[Int]()
    try:
        es.remove(3)
    except err:
        print(err)
    try:
        _ = es.pop()
    except err:
        print(err)
    try:
        _ = di.popitem()
    except err:
        print(err)
    var dq = Deque[Int]()
    try:
        _ = dq.pop()
    except err:
        print(err)
    dq.append(1)
    dq.appendleft(0)
    print(dq, dq.popleft(), len(dq))
    var c = Counter[String]()
    c["a"] += 2
    c["b"] += 1
    print(c["a"], c["zzz"], c.total())
    print(len(c.most_common(1)))
    var dd = {"x": [1, 2], "y": [3, 4]}
    print(dd)
    print({1: "a"} | {2: "b"})
    for one in {"k": 1}.items():
        print(one.key, one.value)
    d.update({"n": 4})
    d |= {"m": 5}
    print(d, "n" in d, d.setdefault("n", 0))
    for k in d:
        print(k, end=" ")
    for k in d.keys():
        print(k, end=" ")
    for ref val in d.values():
        val += 1
    print(d)
    var s = {1, 2, 3}
    print(
        s | {4},
        s & {1},
        s - {1},
        s ^ {1, 9},
        2 in s,
        {1} <= s,
        s.issubset({1, 2, 3, 4}),
    )
    s.add(7)
    s.discard(1)
    print(len(s), s)


def heaps() raises:
    var h = BinaryHeap[T]()
    h.push(T(2, "b"))
    h.push(T(5, "e"))
    h.push(T(1, "a"))
    print(h.pop().n, h.peek().n, len(h))
    h.clear()
    print(len(h))


def iterators() raises:
    for x in take([1, 2, 3, 4], 2):
        print(x, end=" ")
    for x in drop([1, 2, 3, 4], 2):
        print(x, end=" ")
    for x in take(count(5), 3):
        print(x, end=" ")
    for x in take(cycle([1, 2]), 5):
        print(x, end=" ")
    for x in take(repeat(7, times=4), 2):
        print(x, end=" ")
    for a, b in product([1, 2], [3, 4]):
        print(a, b, end=" ")
    print()
    var a = Atomic[Int32](5)
    print(a.load(), a.fetch_add(2), a.load(), a.fetch_sub(1))
    a.store(11)
    _ = a.fetch_add[ordering=Ordering.RELAXED](3)
    print(a.load[ordering=Ordering.ACQUIRE]())
    var exp: Int32 = 14
    print(a.compare_exchange(exp, 20), a.load())
    fence[Ordering.SEQUENTIAL]()
    print(external_call["abs", c_int](c_int(-3)))


struct Bag[T: Copyable & Deinitable]:
    """Its constructor takes list displays, by a flag of the type `NoneType`."""

    var items: List[Self.T]

    def __init__(out self, var *items: Self.T, __list_literal__: NoneType = None):
        self.items = []
        for ref x in items:
            self.items.append(x.copy())


def made_of_loops() raises:
    """Lists of what a loop gives, where the type of the elements is given and where it is inferred; tuples as keys."""
    var xs: List[Int] = [3, 1, 2]
    var some = List[Int](xs[:2])
    some.append(9)
    print(some, xs, List(range(3)), List(xs), List[Int](range(1, 3)))
    var edges = Dict[Tuple[Int, String], Int]()
    edges[(0, "a")] = 5
    edges[(0, "a")] += 1
    print(edges[(0, "a")], (1, "a") in edges, hash((1, 2)) == hash((1, 2)), hash((1, 2)) == hash((2, 1)))


def main() raises:
    containers()
    heaps()
    iterators()
    made_of_loops()
    var bag: Bag[String] = ["a", "b"]
    print(bag.items, len(Bag[Int](1, 2, 3).items))
