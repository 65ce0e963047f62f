"""`Int` is `Scalar[DType.int]`: generic code over scalars takes it; division of integers; explicit conversions."""


def ty[d: DType](x: Scalar[d]) -> String:
    return String(d)


def w[d: DType, n: SIMDLength](x: SIMD[d, n]) -> Scalar[d]:
    return x.reduce_add()


def sized(n: Int):
    print(n)


def scalars() raises:
    var i = 3
    print(ty(i), ty(UInt(3)), ty(Int8(1)), ty(3), w(i))
    var s: Scalar[DType.int] = 4
    sized(s)
    var l: List[Scalar[DType.int]] = [1, 2]
    var m: List[Int] = l^
    print(m, s + i, s * 2, i < s, -s, s // 3, s / 3, s % 3, s**2)
    var v = SIMD[DType.int, 4](i)
    print(v + i, v[0] + i, v.reduce_add() + i)
    for k in range(s):
        print(k, end=" ")
    print(m[s - 3], i.cast[DType.float32](), Float32(i), Int(s))
    comptime n = 4
    var q = SIMD[DType.float32, n](1)
    print(Int(q.length), q)
    comptime t: Int = Int(q.length)
    print(t)
    print(type_of(i) == type_of(s), Int.DTYPE)
    var x = 7
    x /= 2
    print(x, 7 / 2, x.__truediv__(2))
    print(
        min(i, 4),
        max(i, s),
        abs(-i),
        round(2.5),
        round(3),
        pow(i, 2),
        divmod(i, 2),
        i.__floordiv__(2),
    )
    print(Int32(7) / Int32(2), UInt(7) / UInt(2), Int32(-7) // 2, Int32(-7) % 3)
    print(i & 1, i | 4, i ^ 1, ~i, i << 2, i >> 1)
    print(Float64(7) / 2, 1 / 3.0)
    print(Bool(i), i == 3 and s == 4)
    print(Int64(i) * 2, UInt8(i) + 1, Int(Float64(3.9)), Int32(Float32(2.7)))
    print(i.clamp(0, 2), i.is_power_of_two())
    var z: Float32 = 1
    z += 2
    print(z, z.cast[DType.int](), Int(z))


def divisions() raises:
    var i = -7
    print(i / 2, i // 2, Int32(-7) / Int32(2), i % 2, Int32(-7) % Int32(2))
    print(
        i.eq(-7), i.lt(3), i.reduce_max(), i.reduce_add(), i.cast[DType.uint8]()
    )
    var f = Float64(-7)
    print(f // 2, f % 3, f / 2)
    var u = UInt(7)
    print(u / 2, u // 2, Int(u) - 8, u.cast[DType.float32]())
    print(Int.MAX, UInt.MAX, Int.DTYPE, UInt.DTYPE, Float32.DTYPE)


@fieldwise_init
struct V[d: DType](Copyable, Writable):
    var x: Scalar[Self.d]

    def twice(self) -> Scalar[Self.d]:
        return self.x * 2


def first[d: DType, n: SIMDLength](v: SIMD[d, n]) -> Scalar[d]:
    return v[0]


def total[d: DType](l: List[Scalar[d]]) -> Scalar[d]:
    var t = Scalar[d](0)
    for x in l:
        t += x
    return t


def ident[T: Copyable](x: T) -> T:
    return x.copy()


def generic() raises:
    var i = 5
    var v = V[DType.int](i)
    print(v.twice())
    var w = V(i)
    print(w.x + i, i + w.x)
    var f = first(SIMD[DType.int, 2](4, 5))
    var l: List[Int] = [f, i]
    print(l, l[f - 4])
    print(total(l), total(List[Float32](length=2, fill=1.5)))
    var d: Dict[Int, Int] = {f: w.x}
    print(d[4])
    print(ident(f) + ident(i), ident[Int](f))
    var x: Int = first(SIMD[DType.int, 2](4, 5))
    print(x, max(f, x), min(x, f), f == x, x == f, f < i)
    if f:
        print("yes")
    var g: Int32 = Int32(f)
    print(g, Float32(f) / 2, Int(g) + f)
    for k in range(0, f, 2):
        print(k, end=" ")
    print(l[f - 3], Optional(f).value() + 1)
    var o: Optional[Int] = f
    print(o.value(), String(f), repr(f), hash(f) == hash(4))
    comptime m = 3
    print(SIMD[DType.int64, 4](Int64(i)), SIMD[DType.float32, 2](Float32(i), 2))
    var u8: UInt8 = 200
    print(u8 + 100, Int(u8) + 100, u8.cast[DType.int](), u8 > 3, UInt(u8))
    print(abs(Int8(-4)), pow(2, 10), 2**i, i**2)
    print(i if i > 3 else 4, Int64(3) * 2, -i, +i, not i)
    i += 1
    i -= 2
    i *= 3
    i //= 2
    i %= 4
    i <<= 2
    i |= 1
    i ^= 3
    i &= 7
    print(i)


struct H[d: DType]:
    var l: List[Scalar[Self.d]]

    def __init__(out self):
        self.l = [0, 0]

    def __getitem__(self, i: Int) -> Scalar[Self.d]:
        return self.l[i]

    def __setitem__(mut self, i: Int, value: Scalar[Self.d]):
        self.l[i] = value


def arms():
    var i = 3
    var h = H[DType.float32]()
    h[0] = 2 if i == 3 else 0
    print(h.l)


@fieldwise_init
struct Never0(FloatableRaising, IntableRaising):
    var x: Int

    def __int__(self) raises -> Int:
        if self.x == 0:
            raise Error("zero")
        return self.x

    def __float__(self) raises -> Float64:
        return Float64(self.__int__()) + 0.5


def of_texts() raises:
    print(
        Float64("1.5"),
        Float64(String("2.25")),
        Float64(" 3 "),
        Float64("inf"),
        Float64("1e3"),
        Float64("-2.5e-3"),
    )
    print(Int(" 12 "), Int("-1_000"), Int("+7"))
    var parts = "a,2.5,c".split(",")
    print(Float64(parts[1]), Int(Never0(3)), Float64(Never0(3)))
    for s in ["", "1.5.2", "1.5x", "- 3"]:
        try:
            print(Float64(s))
        except e:
            print(e)
        try:
            print(Int(s))
        except e:
            print(e)
    try:
        print(Float64(Never0(0)))
    except e:
        print(e)


def literals_beyond_floats():
    print(Int32(1 << 1024), UInt8((1 << 1024) + 7), SIMD[DType.int16, 2](1 << 2000))
    print(BFloat16(1 << 1024), Float64(1 << 1024), Float32(-(1 << 2000)))


def main() raises:
    literals_beyond_floats()
    of_texts()
    scalars()
    divisions()
    generic()
    arms()
