"""Constructors and methods of the library's types, called with the names that edition 2026 gives their arguments."""

from std.collections import BinaryHeap, Counter, Deque, LinkedList, Set
from std.memory import ArcPointer, OwnedPointer
from std.utils import Variant


def seven() -> Int:
    return 7


def square(i: Int) -> Int:
    return i * i


def construct() raises:
    var text = String("grün x")
    # String
    var a = String(capacity_bytes=10)
    a += "ab"
    print(
        a,
        String(unsafe_from_utf8=text.as_bytes()),
        String(from_utf8=text.as_bytes()),
    )
    var raw = List[UInt8](text.as_bytes())
    print(
        String(from_utf8_lossy=Span(raw)[0:3]), String(from_utf8_lossy=raw), raw
    )
    print(
        String("a", 1, 2.5, sep="-", end="!"),
        String(t"x{1}"),
        String(True),
        repr(String(1, end="\n")),
    )
    var un = String(unsafe_uninit_length=2)
    print(un.byte_length())
    # StringSpan
    print(
        StringSpan(text),
        StringSpan(unsafe_from_utf8=text.as_bytes()),
        StringSpan(from_utf8=text.as_bytes()),
    )
    var st: StaticString = "static"
    print(StringSpan(st), StringSpan("lit"))
    # List
    var l = List[Int](length=3, fill=7)
    print(
        l,
        List[Int](capacity=5).capacity() >= 5,
        List[Int](range(3)),
        List(range(2, 5)),
        List[Int](unsafe_uninit_length=4).__len__(),
    )
    print(List(Set[Int]()), List([1, 2, 3]), List(l))
    # Dict
    var d = Dict[String, Int](capacity=10)
    d["k"] = 1
    print(d, len(Dict[String, Int]()))
    # Optional
    print(Optional[Int](3), Optional[Int](None), Optional(4), Optional[Int]())
    print(Optional[Int](init_with=seven))
    # Error
    print(Error("e"), Error("n ", 1), Error(String("s"), depth=0))
    # Array
    var ar = Array[Int, 3](fill=2)
    print(
        ar[1],
        Array[Int, 3](fill_with=square)[2],
        Array[Int, 2]()[0],
        Array[String, 2](fill="s")[1],
    )
    # numbers
    print(
        Int(),
        Float64(),
        UInt8(),
        Int(Float32(2.9)),
        Float32(Int8(3)),
        Int8(UInt64(300)),
        Int16(from_int=5),
    )
    print(
        Int(True),
        Float64(True),
        UInt8(False),
        Int("12"),
        Float64("1.5"),
        UInt8(Int("7")),
    )
    print(
        SIMD[DType.int32, 4](),
        SIMD[DType.int32, 4](7),
        SIMD[DType.float32, 2](1, 2.5),
        SIMD[DType.bool, 2](fill=True),
    )
    print(SIMD[DType.int32, 2](SIMD[DType.float32, 2](1.5, -2.5)))
    print(Bool(), Bool(None), Bool(3), Bool(String("x")), Bool(List[Int]()))
    print(
        Codepoint(UInt8(65)),
        Codepoint(unsafe_unchecked_codepoint=0x1F600),
        Codepoint("é"),
        Codepoint.ord("z"),
    )
    # others
    print(Set[Int](), Set(1, 2, 2).__len__(), len(Set([1, 2, 2])))
    print(
        Deque[Int](),
        Deque(1, 2, 3),
        Deque[Int](capacity=4),
        Deque[Int](elements=Optional[List[Int]]([1, 2, 3]), maxlen=2),
    )
    print(LinkedList[Int](), LinkedList(1, 2))
    print(
        Counter[String]().__len__(),
        Counter(["a", "b", "a"])["a"],
        Counter("x", "y")["x"],
    )
    print(ArcPointer(5)[], OwnedPointer(6)[], OwnedPointer(copy_value=7)[])


struct Mover(Movable, Writable):
    var n: Int

    def __init__(out self, n: Int):
        self.n = n

    def write_to(self, mut w: Some[Writer]):
        w.write("M", self.n)


def quiet() raises:
    var l: List[Int] = [1, 2, 3]
    l.reserve(capacity=10)
    l.shrink(new_length=2)
    l.resize(length=4, fill=9)
    l.extend(SIMD[DType.int, 4](5, 6, 7, 8), count=2)
    l.swap_elements(0, 1)
    print(l, l.count(9), l.byte_length() > 0)
    var sp = Span(l)
    sp.swap_elements(0, 2)
    print(l)
    var q = Deque[Int](1, 2, 3)
    q.insert(1, 9)
    print(q)
    var ll = LinkedList[Int](1, 2)
    ll.insert(1, 5)
    print(ll, ll.maybe_pop(0).value())
    var h = BinaryHeap[Int]()
    h.push(3)
    h.push(8)
    print(h.peek())
    print(h.pop(), len(h))
    print(Codepoint.ord("é").utf8_byte_length() + 1)
    var s = Set(1, 2)
    s.discard(9)
    print(len(s))
    var o = Optional(Mover(3))
    print(o^.or_else(Mover(4)))
    var a = ArcPointer(5)
    a[] += a.ptr()[]
    print(a[], a.count())
    var w = OwnedPointer(Mover(8))
    var inner = w^.into_inner()
    print(inner)
    var n = 3
    print(
        n.dtype,
        Int(n.length),
        Float32(1).dtype,
        Int(SIMD[DType.int8, 4].length),
        SIMD[DType.int8, 4].dtype,
        Int.dtype,
    )
    print(
        "a b  c".split(maxsplit=1),
        "a-b-c".split("-", maxsplit=1),
        "a-b".split(sep="-"),
    )
    print("x".join([1, 2, 3]), ", ".join(["p", "q"]))
    print(UInt16(258).as_bytes()[0])
    print(UInt16.from_bytes([2, 1]))
    var v = Variant[Int, String](3)
    v.set(String("s"))
    v.set(init_with=seven)
    print(
        v[Int],
        v.is_type_supported[String](),
        Variant[Int, String].is_type_supported[Bool](),
    )
    print(v.replace[Int, Int](12), v)
    var d: Dict[String, Int] = {"a": 1}
    d.setdefault("b", 5) += 1
    print(d, d.find("a").value(), d.pop("zz", 9))
    var f = Dict[String, Int].fromkeys(["x", "y"], 3)
    print(f)
    print(Counter("a", "b", "a").most_common(1)[0]._count)


struct Only(Movable):
    var n: Int

    def __init__(out self, n: Int):
        self.n = n


def span_len[T: Movable & Deinitable](s: Span[T, _]) -> Int:
    return len(s)


def span_any[T: AnyType](s: Span[T, _]) -> Int:
    return len(s)


def list_push[T: Movable & Deinitable](mut l: List[T], var x: T) -> Int:
    l.append(x^)
    return len(l)


def opt[T: Movable & Deinitable](var x: T) -> Optional[T]:
    return Optional(x^)


def dict_put[V: Movable & Deinitable](mut d: Dict[String, V], var v: V):
    d["k"] = v^


def arr[T: Movable & Deinitable](a: Array[T, 2]) -> Int:
    return len(a)


def arc[T: Movable & Deinitable](var x: T) -> ArcPointer[T]:
    return ArcPointer(x^)


def owned[T: Movable & Deinitable](var x: T) -> OwnedPointer[T]:
    return OwnedPointer(x^)


def deque[T: Movable & Deinitable](mut q: Deque[T], var x: T):
    q.append(x^)


def linked[T: Movable & Deinitable](mut q: LinkedList[T], var x: T):
    q.append(x^)


def tup[
    T: Movable & Deinitable, U: Movable & Deinitable
](t: Tuple[T, U]) -> Int:
    return len(t)


def bounded() raises:
    var l = List[Only]()
    print(list_push(l, Only(1)), list_push(l, Only(2)))
    print(span_len(Span(l)), span_any(Span(l)))
    print(l[0].n, l[1].n)
    print(opt(Only(3)).value().n, arc(Only(4))[].n, owned(Only(5))[].n)
    var d = Dict[String, Only]()
    dict_put(d, Only(6))
    print(d["k"].n, len(d))
    var a: Array[Only, 2] = [Only(7), Only(8)]
    print(arr(a), a[1].n)
    var t = (Only(9), Only(10))
    print(tup(t), t[0].n)
    var v: Variant[Int, Only] = Only(11)
    print(v[Only].n)
    var q = Deque[Only]()
    deque(q, Only(12))
    print(len(q))
    var k = LinkedList[Only]()
    linked(k, Only(13))
    print(len(k))


def main() raises:
    construct()
    bounded()
    quiet()
    var d = Dict[Int, Int](capacity=10)
    for i in range(5):
        d[i] = i * i
    var e = d.popitem()
    print(e.key, e.value, len(d))
    for it in d.take_items():
        print(it.key, end=" ")
    print(len(d))
    var st = Set[Int](4)
    print(st.pop())
    try:
        _ = st.pop()
    except err:
        print("empty:", err)
    try:
        st.remove(3)
    except err:
        print("remove:", err)
    try:
        _ = d.popitem()
    except err:
        print("popitem:", err)
    try:
        _ = d.pop(77)
    except err:
        print("pop:", err)
    var l: List[Int] = [3, 4]
    try:
        print(l.index(9))
    except err:
        print("index:", err)
    var q = Deque[Int]()
    try:
        _ = q.pop()
    except err:
        print("deque:", err)
    try:
        q.remove(3)
    except err:
        print("deque remove:", err)
    try:
        _ = q.peek()
    except err:
        print("deque peek:", err)
    var c = Counter[String]()
    try:
        _ = c.pop("x")
    except err:
        print("counter pop:", err)
    var ll = LinkedList[Int]()
    try:
        _ = ll.pop()
    except err:
        print("linked pop:", err)
