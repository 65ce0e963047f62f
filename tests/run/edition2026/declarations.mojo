"""Declarations of edition 2026: conventions, lifecycle, traits in place of decorators, `Self.`, escapes, `comptime`."""

from std.sys import size_of


struct Pinned(Movable where False):
    var x: Int

    def __init__(out self):
        self.x = 1


struct Tracked(Copyable):
    var id: Int

    def __init__(out self, id: Int):
        self.id = id

    def __init__(out self, *, copy: Self):
        self.id = copy.id + 100

    def __init__(out self, *, deinit move: Self):
        self.id = move.id
        print("moved", self.id)

    def __deinit__(deinit self):
        print("end of", self.id)


struct Plain:
    """Movable by default."""

    var name: String

    def __init__(out self, var name: String):
        self.name = name^


struct Small(TrivialRegisterPassable):
    var x: Int32

    def __init__(out self, x: Int32):
        self.x = x


struct Box[T: AnyType, n: Int](Copyable where conforms_to(T, Copyable), Sized):
    comptime K = Self.n + 1
    var y: Int

    def __init__(out self):
        self.y = Self.n

    def __len__(self) -> Int:
        return Self.K

    def method[m: Int = Self.n](self, a: Array[Int, Self.n]) -> Int:
        return m + a[0]

    @staticmethod
    def make() -> Self:
        return Self()


trait Shape:
    def area(self) -> Float64:
        ...

    def name(self) -> String:
        return "shape"

    def touch(mut self):
        pass


@fieldwise_init
struct Square(Copyable, Shape):
    var side: Float64

    def area(self) -> Float64:
        return self.side * self.side


def pair[T: TrivialRegisterPassable](x: T) -> Tuple[T, T]:
    return x, x


def through[T: Movable & Deinitable](var x: T) -> T:
    return x^


def show[T: Shape](mut shape: T) -> String:
    shape.touch()
    return String(shape.name(), " ", shape.area())


@doc_hidden
def halve[n: Int]() -> Int where (n > 1, "n must be at least two"):
    return n // 2


comptime Pair[n: Int] where n > 2 = Box[Int, n]


@unavailable("use 'halve'")
def quarter() -> Int:
    ...


def main():
    var a, b = 1, 2
    a, b = b, a
    print(a, b, Pinned().x, halve[14]())
    for i in range(2):
        for j, k in zip(range(2), range(2)):
            print(i, j, k, end=";")
    print()
    var t = Tracked(1)
    var u = t.copy()
    var v = u^
    var w = Tracked(copy=v)
    print(v.id)
    print(w.id)
    print(t.id)
    print(through(Plain("plain")).name, pair(Small(3))[1].x)
    var box = Pair[4].make()
    print(len(box), box.method([1, 2, 3, 4]), box.K, box.copy().y)
    var square = Square(1.5)
    print(show(square))
    print(
        "\x41\x85\u00e9\U0001F600".byte_length(), "\x85".byte_length(), "\101"
    )
    comptime z = 3 + 4
    print(z, comptime(z * 2), 5 if comptime(z == 7) else 6)
    comptime assert z == 7, "seven"
    comptime if z > 7:
        print("no")
    else:
        print("at most seven")
    var total = 0
    for x in [1, 2, 3]:
        total += x
    assert total == 6, "sum"
    print(total, size_of[Small]())
