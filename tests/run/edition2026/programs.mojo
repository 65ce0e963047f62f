"""Everyday programs of edition 2026: operators, generic structs, iterators, containers, texts and numbers."""

from std.collections import BitSet, Deque, LinkedList
from std.memory import ArcPointer, OwnedPointer
from std.os import getenv
from std.pathlib import Path
from std.utils import IndexList
from std.complex import ComplexFloat64
from std.builtin.sort import sort

@fieldwise_init
struct Point(Copyable, Sized, Boolable, Equatable, Hashable, Comparable, Writable):
    var x: Int
    var y: Int
    def __lt__(self, o: Self) -> Bool:
        return self.x < o.x
    def __add__(self, o: Self) -> Self: return Point(self.x + o.x, self.y + o.y)
    def __neg__(self) -> Self: return Point(-self.x, -self.y)
    def __len__(self) -> Int: return 2
    def __bool__(self) -> Bool: return self.x != 0
    def __contains__(self, v: Int) -> Bool: return v == self.x or v == self.y
    def __call__(self, v: Int) -> Int: return v * self.x
    def __iadd__(mut self, o: Self): self.x += o.x; self.y += o.y

struct Stack[T: Copyable & Deinitable](Sized, Boolable):
    var items: List[Self.T]
    def __init__(out self): self.items = []
    def push(mut self, var x: Self.T): self.items.append(x^)
    def pop(mut self) raises -> Self.T:
        if len(self.items) == 0: raise Error("empty stack")
        return self.items.pop()
    def peek(self) -> Self.T: return self.items[len(self.items) - 1].copy()
    def __len__(self) -> Int: return len(self.items)
    def __bool__(self) -> Bool: return len(self) > 0

struct CountDown(Iterable, Iterator, Copyable):
    comptime Element = Int
    comptime IteratorType[mut: Bool, //, origin: Origin[mut=mut]]: Iterator = Self
    var n: Int
    def __init__(out self, n: Int): self.n = n
    def __iter__(ref self) -> Self: return self.copy()
    def __next__(mut self) raises StopIteration -> Int:
        if self.n == 0: raise StopIteration()
        self.n -= 1
        return self.n + 1

struct Resource:
    var name: String
    def __init__(out self, name: String):
        self.name = name
        print("open", name)
    def __deinit__(deinit self): print("close", self.name)
    def __enter__(mut self) -> ref [self] Self: return self
    def __exit__(mut self): print("exit")

def largest[T: Copyable & Comparable & Deinitable](l: List[T]) -> T:
    var best = l[0].copy()
    for x in l:
        if x > best: best = x.copy()
    return best^

def main() raises:
    var p = Point(1, 2)
    p += Point(2, 2)
    print(p + p, -p, len(p), Bool(p), 4 in p, p(3), p < Point(9, 0), p == Point(3, 4), hash(p) == hash(Point(3, 4)))
    var st = Stack[String]()
    st.push("a"); st.push("b")
    print(st.peek(), len(st), st.pop(), len(st), Bool(st))
    try:
        _ = st.pop()
        _ = st.pop()
    except e: print(e)
    for i in CountDown(3): print(i, end=" ")
    print(largest([3, 7, 2]), largest([String("x"), "z"]))
    var r = Resource("r1")
    _ = r^
    var arc = ArcPointer(List[Int](length=2, fill=1))
    var arc2 = arc
    arc2[].append(5)
    print(arc[], arc.count())
    var own = OwnedPointer(String("boxed"))
    print(own[].upper())
    var ps: List[Point] = [Point(3, 1), Point(1, 2)]
    sort(ps)
    print(ps)
    var bs = BitSet[8]()
    bs.set(3)
    print(bs.test(3), len(bs))
    var ll = LinkedList[Int]()
    ll.append(1); ll.prepend(0)
    print(ll, len(ll))
    var q: Deque[Int] = [1, 2, 3]
    q.rotate(1)
    print(q, q[0])
    var idx = IndexList[2](3, 4)
    print(idx, idx[0], idx.flattened_length())
    print(ComplexFloat64(1, 2) * ComplexFloat64(0, 1))
    print(getenv("NOPE_X", "dflt"), Path("/a/b.txt").suffix(), Path("a") / "b")
    var text = """multi
line"""
    print(text.splitlines(), len(text.splitlines()))
    var nested: List[List[Int]] = [[1, 2], [3]]
    nested[0].append(9)
    nested[1][0] = 7
    print(nested, len(nested[0]))
    var dd: Dict[String, List[Int]] = {}
    dd["a"] = [1]
    dd["a"].append(2)
    print(dd["a"], dd)
    var total = 0
    for item in dd.items():
        for v in item.value: total += v
    print(total)
    var m = SIMD[DType.float32, 4](1, 2, 3, 4)
    m[1] = 9
    print(m, m * 2, m.reduce_add(), m.gt(2.0), m.cast[DType.int32]())
    var it = iter([1, 2, 3])
    print(next(it), next(it))
    var f: def(Int) thin -> Int = double
    print(f(4))
    print(Int8(127) + 1, UInt8(0) - 1, Int32.MAX, Float32(1) / 3, Float64(1) / 3, Float16(0.1))
    var k = 5
    def addk(x: Int) {imm k} -> Int: return x + k
    print(addk(1))
    assert k == 5, "k is five"
    print(String(Point(1, 2)), t"{Point(1, 2)} {k + 1}", repr(Point(1, 2)))
def double(x: Int) -> Int: return x * 2
