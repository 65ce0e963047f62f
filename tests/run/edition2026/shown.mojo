"""The texts of values: containers show their values as they are, `repr` names the types."""

from std.collections import Deque, LinkedList


@fieldwise_init
struct Pair(Copyable, Writable):
    var x: Int
    var s: String
    var l: List[String]

    def write_to(self, mut w: Some[Writer]):
        w.write("<", self.l, self.s, ">")


@fieldwise_init
struct Outer(Copyable, Writable):
    var pair: Pair
    var maybe: Optional[String]
    var both: Tuple[Int, String]
    var small: UInt8
    var yes: Bool


@fieldwise_init
struct Other(Copyable, Writable):
    var value: Float64

    def write_to(self, mut w: Some[Writer]):
        w.write(self.value)

    def write_repr_to(self, mut w: Some[Writer]):
        w.write("Other of ")
        self.value.write_repr_to(w)


def main() raises:
    print(repr(3), repr(Int32(3)), repr(2.5), repr(Float32(1.5)), repr(UInt(1)), repr(UInt8(3)), repr(BFloat16(1)))
    print(repr(True), repr(SIMD[DType.int32, 2](1, 2)), repr("it's\n"), repr(String('"')), repr(Codepoint.ord("a")))
    print([String("a")], {"a": ["b"]}, Optional("c"), Optional[Int](None), ("d", 1), Error("x ", 1, ["a"]))
    print(repr(["a"]), repr({"a": 1}), repr(Optional(3)), repr(("d", 1)), repr(Error("x")))
    var list: List[Float64] = [1, 2]
    print(repr(list), repr(Deque[Int](1)), repr(LinkedList[Int8](1)))
    print(repr([list.copy()]), slice(1, 2), repr(slice(1, 2)))
    var outer = Outer(Pair(1, "k", ["x", "y"]), String("z"), (1, "t"), 7, True)
    print(outer)
    print(repr(outer))
    print(Other(1.5), [Other(2.5)], repr([Other(2.5)]), t"{outer.pair.l}")
