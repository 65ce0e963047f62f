"""Items and attributes that are parameters, and structs with an alignment."""

from std.sys import align_of, size_of

comptime LINE = 32


struct Items:
    var data: List[Int]

    def __init__(out self):
        self.data = [1, 2, 3]

    def __getitem_param__[i: Int](self) -> Int:
        return self.data[i] * 10

    def __getattr_param__[name: StringSpan](self) -> String:
        comptime if name == "first":
            return String(self.data[0])
        return String("no ", name)


@align(64)
@fieldwise_init
struct Line(Copyable):
    var x: Int


@align(2)
@fieldwise_init
struct Natural(Copyable):
    var x: Int


@align(LINE)
@fieldwise_init
struct Lanes[n: Int](Copyable):
    var x: SIMD[DType.float32, Self.n]


@fieldwise_init
struct Mixed(Copyable):
    var byte: UInt8
    var line: Line


def main():
    var items = Items()
    print(items[2], items.first, items.second, items.__getitem_param__[1]())
    print(size_of[Line](), align_of[Line](), size_of[Natural](), align_of[Natural]())
    print(size_of[Mixed](), align_of[Mixed](), size_of[Lanes[4]](), align_of[Lanes[4]]())
    var line = Line(3)
    var lines: List[Line] = [line.copy(), Line(4)]
    var mixed = Mixed(1, Line(5))
    print(Int(Pointer(to=line)) % 64, Int(Span(lines).unsafe_ptr()) % 64, Int(Pointer(to=mixed.line)) % 64)
    print(line.x, lines[1].x, mixed.line.x, Lanes[4](1).copy().x[2])
