"""Traits that containers have if their values have them: what `conforms_to` says, keys, comparisons, hashes and texts."""

from std.collections import BitSet, Counter, Deque, LinkedList, Set
from std.memory import ArcPointer, OwnedPointer
from std.utils import Variant


@fieldwise_init
struct Bare(Copyable):
    var k: Int


@fieldwise_init
struct Moved(Movable):
    var k: Int


@fieldwise_init
struct Holder(Copyable, Equatable, Hashable, Writable):
    var a: List[Int]
    var b: Optional[String]
    var c: Tuple[Int, Bool]
    var d: Variant[Int, String]
    var e: Array[Int, 2]
    var f: Dict[String, Int]
    var g: Deque[Int]
    var h: ArcPointer[Int]


struct WithoutRepr(Writable):
    """Some of its fields have no text, so `repr` of it would be an error; its own text is none of them.
    """

    var values: List[Bare]

    def __init__(out self):
        self.values = [Bare(1)]

    def write_to(self, mut writer: Some[Writer]):
        writer.write("own text of ", len(self.values))


struct Box[T: Movable & Deinitable](
    Movable,
    Copyable where conforms_to(T, Copyable),
    Equatable where conforms_to(T, Equatable),
    Hashable where conforms_to(T, Hashable),
    Writable where conforms_to(T, Writable),
):
    var value: Self.T

    def __init__(out self, var value: Self.T):
        self.value = value^

    def __init__(out self, *, copy: Self) where conforms_to(Self.T, Copyable):
        self.value = copy.value.copy()


def size[T: AnyType](s: Span[T, _]) -> Int:
    return len(s)


@fieldwise_init
struct View[T: AnyType, origin: Origin](Copyable):
    var values: Span[Self.T, Self.origin]


def traits[T: AnyType]() -> String:
    var s = String()
    s += "C" if conforms_to(T, Copyable) else "-"
    s += "E" if conforms_to(T, Equatable) else "-"
    s += "H" if conforms_to(T, Hashable) else "-"
    s += "W" if conforms_to(T, Writable) else "-"
    return s^


def is_key[K: Hashable & Copyable & Equatable & Deinitable](k: K) -> Bool:
    return hash(k) == hash(k.copy()) and k == k


def least[T: Comparable & Copyable & Deinitable](items: List[T]) -> T:
    var best = items[0].copy()
    for item in items:
        if item < best:
            best = item.copy()
    return best^


struct Kept[T: Movable & Deinitable](
    Copyable where conforms_to(T, Copyable), Movable
):
    """Its copies are made of its fields, where these can be copied."""

    var value: Self.T

    def __init__(out self, var value: Self.T):
        self.value = value^


@fieldwise_init
struct Freely[T: Movable & Deinitable](
    Copyable where conforms_to(T, Copyable),
    ImplicitlyCopyable where conforms_to(T, ImplicitlyCopyable),
):
    var value: Self.T
    var n: Int


def derived_copies():
    print(
        Kept(3).copy().value,
        conforms_to(Kept[Moved], Copyable),
        conforms_to(Kept[Int], Copyable),
    )
    var moved: List[Kept[Moved]] = []
    moved.append(Kept(Moved(1)))
    var texts: List[Kept[String]] = [Kept(String("p"))]
    var more = texts.copy()
    more[0].value += "q"
    print(len(moved), texts[0].value, more[0].value)
    var one = Freely(4, 5)
    var other = one
    other.n = 9
    print(
        one.n,
        other.n,
        conforms_to(Freely[List[Int]], Copyable),
        conforms_to(Freely[List[Int]], ImplicitlyCopyable),
    )


def main() raises:
    derived_copies()
    print(
        traits[List[Int]](),
        traits[List[Bare]](),
        traits[List[List[Bare]]](),
        traits[Dict[Int, Bare]](),
    )
    print(
        traits[Set[Int]](),
        traits[Deque[Int]](),
        traits[LinkedList[Bare]](),
        traits[Counter[Int]](),
    )
    print(
        traits[Optional[Int]](),
        traits[Optional[Bare]](),
        traits[Tuple[Int, String]](),
        traits[Tuple[Int, Bare]](),
    )
    print(
        traits[Variant[Int, Bare]](),
        traits[Array[Int, 3]](),
        traits[Array[Bare, 3]](),
        traits[ArcPointer[Int]](),
    )
    print(
        traits[Box[Int]](),
        traits[Box[Moved]](),
        traits[Box[List[Int]]](),
        traits[Box[List[Bare]]](),
    )

    print(
        is_key([1, 2]),
        is_key(List[Int]()),
        is_key(Optional(3)),
        is_key((1, 2)),
        is_key(Variant[Int, String](3)),
    )
    var by_list: Dict[List[Int], String] = {}
    var key: List[Int] = [1, 2]
    by_list[key^] = "x"
    print(by_list, len({Optional(3), Optional[Int](None), Optional(3)}))
    print(
        Variant[Int, String](3) == Variant[Int, String](3),
        Variant[Int, String](3) != Variant[Int, String](String("a")),
    )
    var holder = Holder(
        [1],
        None,
        (1, True),
        4,
        [1, 2],
        {"a": 1},
        Deque[Int](1, 2),
        ArcPointer(5),
    )
    print(holder == holder.copy(), hash(holder) == hash(holder.copy()), holder)
    var pairs: List[Tuple[Int, String]] = [
        (3, String("c")),
        (1, String("b")),
        (1, String("a")),
    ]
    sort(pairs)
    print(pairs, max((1, 2), (1, 3)), least(pairs))

    var shared = ArcPointer(3)
    print(
        shared == ArcPointer(3),
        shared is ArcPointer(3),
        shared,
        repr(shared),
        repr(OwnedPointer(4)),
    )
    var counts = Counter[String]()
    counts["a"] = 2
    print(counts, repr(counts), WithoutRepr())
    var bits = BitSet[20]()
    var i = 4
    bits.set(i)
    bits.toggle(5)
    bits.clear(3)
    print(bits, bits.test(i), repr(bits))

    var moved: List[Moved] = []
    moved.append(Moved(1))
    print(size(Span(moved)), len(View(Span(moved)).values))
