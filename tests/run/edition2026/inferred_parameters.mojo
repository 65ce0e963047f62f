"""Inferred parameters with defaults, origins whose mutability is given by name, members of variadic parameters."""


def f[n: Int = 3, //, T: Copyable](x: T) -> Int:
    return n


struct S[dt: DType = DType.float32, //, size: Int](Copyable):
    var v: SIMD[Self.dt, Self.size]

    def __init__(out self, x: Scalar[Self.dt]):
        self.v = x


def view[o: Origin[mut=True]](p: Pointer[Int, o]):
    p[] = 5


def peek[m: Bool, //, o: Origin[mut=m]](p: Pointer[Int, o]) -> Int:
    return p[]


struct View[mut: Bool, //, origin: Origin[mut=mut]](Copyable):
    var p: Pointer[Int, Self.origin]

    def __init__(out self, ref [Self.origin] x: Int):
        self.p = Pointer(to=x)

    def get(self) -> Int:
        return self.p[]


def of_types[*Ts: Writable]() -> Int:
    comptime n = Ts.length
    comptime for i in range(Ts.__len__()):
        print(i, end=" ")
    print(Ts.contains[Int](), Ts.contains[Bool]())
    return n + len(Ts)


def of_values[*values: Int]():
    print(len(values), values.size, values.__len__(), end=":")
    comptime for i in range(values.size):
        print(values[i], end=";")
    print()


def as_many[*Ts: Writable]() -> Array[Int, Ts.length]:
    return Array[Int, Ts.length](fill=2)


struct Pack[*Ts: Copyable, n: Int = Ts.length]:
    comptime LENGTH = Self.Ts.length

    @staticmethod
    def show():
        print(Self.LENGTH, Self.Ts.length, Self.n)


def variadic():
    print(of_types[Int, String]())
    print(of_types[]())
    of_values[1, 2]()
    of_values[]()
    print(as_many[Int, Int, Int]())
    Pack[Int, Bool].show()


def main():
    variadic()
    print(f(2))
    var s = S[4](1.5)
    print(s.v)
    var x = 3
    view(Pointer(to=x))
    print(peek(Pointer(to=x)))
    var v = View(x)
    x = 8
    print(v.get())
