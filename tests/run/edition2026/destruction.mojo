"""The order in which values are destroyed: arguments before variables and temporaries, of each the last one first."""


struct N(Copyable):
    var n: String

    def __init__(out self, n: String):
        self.n = n

    def __init__(out self, *, copy: Self):
        self.n = copy.n + "'"

    def __deinit__(deinit self):
        print("~", self.n, sep="", end=" ")

    def me(self) -> Int:
        return 1

    def twice(self) -> N:
        return N(self.n + self.n)

    def both(self, o: N) -> N:
        return N(self.n + "+" + o.n)


struct P(Movable):
    var a: N
    var b: N

    def __init__(out self, a: String, b: String):
        self.a = N(a)
        self.b = N(b)


def use(a: N):
    print("use", a.n, end=" ")


def use2(a: N, b: N):
    print("use2", end=" ")


def use3(a: N, b: N, c: N):
    print("use3", end=" ")


def own2(var a: N, var b: N):
    print("own2", end=" ")


def own2u(var a: N, var b: N):
    print("own2u", a.n, b.n, end=" ")


def own2r(var a: N, var b: N):
    print("own2r", b.n, a.n, end=" ")


def mk(n: String) -> N:
    return N(n)


def val(a: N) -> Int:
    return 1


def mut2(mut a: N, b: N):
    a.n += b.n


def fail(a: N, b: N) raises -> Int:
    raise Error("x")


def t2():
    use3(N("a"), N("b"), N("c"))


def t5():
    var a = N("a")
    var b = N("b")
    var c = N("c")
    use3(b, a, c)


def t6():
    var a = N("a")
    var b = N("b")
    use2(a, N("t"))


def t8():
    var a = N("a")
    var b = N("b")
    use3(N("s"), a, N("t"))


def t10():
    own2u(N("a"), N("b"))


def t18():
    use(N("a").both(N("b")))


def t21():
    var p = P("a", "b")
    var q = P("c", "d")
    use2(p.a, q.b)


def t23(c: Bool):
    var a = N("a")
    var b = N("b")
    if c:
        use2(a, b)
        return
    print("later", end=" ")
    use2(b, a)


def t24(c: Bool):
    var a = N("a")
    var b = N("b")
    if c:
        print("then", end=" ")
    else:
        use2(a, b)
    print("end", end=" ")


def t25():
    for i in range(2):
        var a = N(String("a", i))
        var b = N(String("b", i))
        use2(a, b)


def t26() raises:
    var a = N("a")
    var b = N("b")
    _ = fail(a, b)


def t27():
    try:
        _ = fail(N("a"), N("b"))
    except:
        print("caught", end=" ")


def t31():
    var a = N("a")
    var b = N("b")
    a = N("c")
    use2(a, b)


def t32():
    var a = N("a")
    var b = N("b")
    mut2(a, b)


def t39(var a: N, var b: N):
    var c = N("c")
    use3(a, b, c)


def t40(var a: N, var b: N):
    use3(N("c"), b, a)


def t42():
    var a = N("a")
    var b = N("b")
    for i in range(2):
        use2(a, b)
    print("end", end=" ")


def t43() -> N:
    var a = N("a")
    var b = N("b")
    return a.both(b)


def t44() -> Int:
    var a = N("a")
    var b = N("b")
    return val(a) + val(b) + val(N("c"))


def t46():
    var a = N("a")
    var b = N("b")
    while val(a) != val(b):
        print("yes", end=" ")
    print("end", end=" ")


def use5(a: N, b: N, c: N, d: N, e: N):
    print("use5", end=" ")


def oi(var a: N, b: N, var c: N, d: N):
    print("oi", end=" ")


def oi2(var a: N, b: N, var c: N, d: N):
    print("oi2", a.n, b.n, c.n, d.n, end=" ")


def two(a: Int, b: N, c: Int):
    print("two", end=" ")


def u1():
    var a = N("a")
    var b: N
    var c: N
    c = N("c")
    b = N("b")
    use3(a, b, c)


def u4():
    var a = N("a")
    var b = N("b")
    var c = N("c")
    var d = N("d")
    oi2(c^, a, b^, d)


def u12():
    var x = N("x")
    var y = N("y")
    var z = N("z")
    print(x.n + z.n + y.n, end=" ")


def u14(c: Bool):
    var x: N
    if c:
        x = N("x1")
    else:
        x = N("x2")
    var y = N("y")
    use2(x, y)


def u17():
    for a in [1, 2]:
        var n = N(String(a))
        var m = N("m")
        if a == 1:
            use2(n, m)
            continue
        use2(m, n)
        break


def u18(var a: N, b: N, var c: N):
    var d = N("d")
    use5(a, b, c, d, N("t"))


def u22():
    var a = N("a")
    var b = N("b")
    a = b.copy()
    b = N("c")
    print("mid", end=" ")
    swap(a, b)
    use2(a, b)


def u26():
    var o = Optional(N("o"))
    var p = Optional(N("p"))
    if Bool(o) and Bool(p):
        use2(o.value(), p.value())


def u27():
    var a = N("a")
    var b = N("b")

    def inner() {imm}:
        use2(a, b)

    inner()
    print("end", end=" ")


def main():
    t2()
    print("t2")
    t5()
    print("t5")
    t6()
    print("t6")
    t8()
    print("t8")
    t10()
    print("t10")
    t18()
    print("t18")
    t21()
    print("t21")
    t23(True)
    print("t23")
    t23(False)
    print("t23")
    t24(True)
    print("t24")
    t24(False)
    print("t24")
    t25()
    print("t25")
    try:
        t26()
    except:
        print("raised", end=" ")
    print()
    t27()
    print("t27")
    t31()
    print("t31")
    t32()
    print("t32")
    t39(N("a"), N("b"))
    print("t39")
    t40(N("a"), N("b"))
    print("t40")
    t42()
    print("t42")
    _ = t43()
    print("t43")
    _ = t44()
    print("t44")
    t46()
    print("t46")
    u1()
    print("u1")
    u4()
    print("u4")
    u12()
    print("u12")
    u14(True)
    print("u14")
    u17()
    print("u17")
    u18(N("a"), N("b"), N("c"))
    print("u18")
    u22()
    print("u22")
    u26()
    print("u26")
    u27()
    print("u27")
