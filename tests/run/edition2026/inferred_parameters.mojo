"""Inferred parameters with defaults, and origins whose mutability is given by name."""


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


def main():
    print(f(2))
    var s = S[4](1.5)
    print(s.v)
    var x = 3
    view(Pointer(to=x))
    print(peek(Pointer(to=x)))
    var v = View(x)
    x = 8
    print(v.get())
