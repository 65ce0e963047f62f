"""Lists, arrays and views: literals, positions, slices that are views."""

from std.collections import Set
from std.collections.span import ContiguousSlice


def takes_list(values: List[Int]) -> Int:
    return len(values)


def takes_any_list[T: Copyable & Writable](values: List[T]) -> String:
    return String("list ", values)


def takes_span(values: Span[Int, _]) -> Int:
    return len(values)


def takes_array[n: Int](values: Array[Int, n]) -> Int:
    return n


def rows() -> List[List[Int]]:
    return [[1], [2, 3]]


struct Holder:
    var values: List[Int]

    def __init__(out self):
        self.values = [1, 2]


struct Sliced:
    def __init__(out self):
        pass

    def __getitem__(self, part: Slice) -> String:
        return String(part)


struct Window[origin: ImmOrigin](Copyable, Sized):
    """Its slices without a step are views of their own."""

    var bytes: Span[UInt8, Self.origin]

    def __init__(out self, bytes: Span[UInt8, Self.origin]):
        self.bytes = bytes

    def __len__(self) -> Int:
        return len(self.bytes)

    def __getitem__(self, i: Int) -> UInt8:
        return self.bytes[i]

    def __getitem__(self, part: ContiguousSlice) -> Self:
        return Self(self.bytes[part])


def main() raises:
    var letters = String("hello")
    var window = Window(letters.as_bytes())
    print(len(window[:3]), len(window[1:]), window[1:3][0])
    print(
        takes_list([1, 2, 3]),
        takes_any_list([1, 2]),
        takes_span([1, 2]),
        takes_array([1, 2, 3]),
        rows(),
    )
    var holder = Holder()
    holder.values = [4]
    print(holder.values)
    var a = [1.5, 2.0]
    a[0] = 7
    print(
        a[0],
        2.0 in a,
        a == [7.0, 2.0],
        len(a),
        a.length,
        [[1, 2], [3, 4]][1][0],
    )
    for ref x in a:
        x += 1
    print(a, [i * i for i in range(4)])
    var x: List = ["a", "b"]
    var d: Dict = {"a": 1}
    var s: Set = {1, 2}
    var o: Optional = 3
    print(repr(x), repr(d), s, repr(o))
    var lists: Dict[String, List[Int]] = {"a": [1, 2]}
    var pair: Tuple[List[Int], Int] = ([1], 2)
    print(lists, pair)

    var l: List[Int] = [1, 2, 3, 4]
    var view = l[1:3]
    view[0] = 9
    view = view[1:]
    view[0] += 6
    print(l, len(l[1:2]))
    print(l[::2], l[::-1])
    var copy = List(l[2:])
    copy.append(1)
    print(copy, l.capacity() >= 4)
    print(
        List[Int](range(3)),
        List[Int](Span(unsafe_ptr=copy.unsafe_ptr(), length=2)),
    )
    l.resize(6, 0)
    l.resize(length=7, fill=1)
    print(l.pop(), l.pop(0), l)
    l.insert(5, 8)
    l.insert(0, 5)
    print(l, l.try_index(8), l.try_index(77), Bool(l.try_index(77)))
    l += [1]
    l.extend([2, 3])
    print(len(l), List[Int](length=2, fill=7), Array[Int, 3](fill=5))
    var fixed: Array[Int, 4] = [1, 2, 3, 4]
    var part = fixed[1:3]
    part[0] = 7
    print(fixed)
    print(Sliced()[1:2], Sliced()[::2])
    comptime known = [1, 2, 3]
    comptime for i in range(3):
        print(materialize[known]()[i], end=" ")
    print()
