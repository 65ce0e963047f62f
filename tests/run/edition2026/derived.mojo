"""Methods derived from fields, and what a condition on a type parameter lets a generic body do."""


@fieldwise_init
struct Point(Copyable, Equatable, Hashable, Writable):
    var x: Int
    var y: Float64
    var name: String


@fieldwise_init
struct Nothing(Equatable, Writable):
    pass


@fieldwise_init
struct Segment(Copyable, Equatable, Writable):
    var a: Point
    var b: Point


@fieldwise_init
struct Half(Equatable, Writable):
    var a: Int
    var b: Int

    def __eq__(self, other: Self) -> Bool:
        return self.a == other.a

    def write_to(self, mut writer: Some[Writer]):
        writer.write("half of ", self.b)


@fieldwise_init
struct Secret(Copyable):
    var code: Int


struct Box[T: Copyable & Deinitable](
    Copyable, Writable where conforms_to(T, Writable)
):
    var item: Self.T

    def __init__(out self, var item: Self.T):
        self.item = item^

    def write_to(
        self, mut writer: Some[Writer]
    ) where conforms_to(Self.T, Writable):
        writer.write("[", self.item, "]")


def describe[T: AnyType](value: T) -> String:
    comptime if conforms_to(T, Writable):
        return String(value)
    else:
        return "opaque"


def contains[
    T: Copyable & Deinitable
](items: List[T], wanted: T) -> Bool where conforms_to(T, Equatable):
    for item in items:
        if item == wanted:
            return True
    return False


def same[T: AnyType](a: T, b: T) -> Bool:
    comptime assert conforms_to(T, Equatable), "values that cannot be compared"
    return a == b


@fieldwise_init
struct Pair[A: Copyable & Deinitable, B: Copyable & Deinitable](
    Copyable,
    Equatable where conforms_to(A, Equatable) and conforms_to(B, Equatable),
    Writable where conforms_to(A, Writable) and conforms_to(B, Writable),
):
    var first: Self.A
    var second: Self.B


@fieldwise_init
struct Opaque(Copyable):
    var n: Int


def conditional():
    """What is derived under a condition is there where the condition holds."""
    var p = Pair(1, String("one"))
    print(p == Pair(1, String("one")), p != Pair(2, String("one")), repr(p).endswith("(first=Int(1), second='one')"))
    print(conforms_to(Pair[Int, Opaque], Equatable), conforms_to(Pair[Int, Opaque], Writable))
    print(conforms_to(Pair[Int, Int], Equatable), conforms_to(Pair[Int, Int], Writable))


struct Settings[T: Defaultable & Copyable & Deinitable](Copyable, Defaultable):
    """Its fields' types say how it begins."""

    var limit: Optional[Int]
    var value: Self.T
    var names: List[String]

    def __init__(out self, limit: Int, value: Self.T):
        self.limit = limit
        self.value = value.copy()
        self.names = []


@fieldwise_init
struct Marker(Copyable, Defaultable):
    pass


@fieldwise_init
struct Stamp(Copyable, Equatable, Hashable):
    """Its own `__hash__` takes no hasher: the one of the trait is derived beside it."""

    var seconds: Int
    var zone: Int

    def __hash__(self) -> UInt:
        return 3


def begun[T: Defaultable & Deinitable]() -> T:
    return T()


def main():
    conditional()
    var settings = begun[Settings[String]]()
    print(settings.limit, settings.value == "", len(settings.names))
    print(Settings(3, 4).value, begun[Settings[Int]]().value)
    _ = begun[Marker]()
    print(
        hash(Stamp(1, 2)) == hash(Stamp(1, 2)),
        hash(Stamp(1, 2)) == hash(Stamp(2, 2)),
        Stamp(1, 2).__hash__(),
    )
    var p = Point(1, 2.5, "ab")
    print(p)
    print(
        String(p),
        hash(p) == hash(p.copy()),
        hash(p) == hash(Point(1, 2.5, "ac")),
    )
    print(p == p.copy(), p != Point(1, 2.5, "ac"), p != p.copy())
    print(Nothing(), Nothing() == Nothing())
    print(Segment(p.copy(), Point(3, 4.5, "c")))
    print(Half(1, 2) == Half(1, 3), Half(1, 2) != Half(1, 3), Half(1, 4))
    print(describe(12), describe("text"), describe(Secret(1)))
    print(
        contains([1, 2, 3], 2),
        contains([1, 2, 3], 9),
        contains(["a", "b"], "b"),
    )
    print(same(1, 1), same(String("a"), "b"))
    print(Box(3), describe(Box(4)), describe(Box(Secret(2))))
    var visits: Dict[Point, Int] = {}
    for i in range(6):
        var key = Point(i % 2, 0.0, "k")
        visits[key.copy()] = visits.get(key, 0) + 1
    print(len(visits))
