"""Errors of types that functions declare: the first that raises in a `try` decides the type of its errors."""


@fieldwise_init
struct P(Copyable, Movable, Writable):
    var a: Int

    def write_to(self, mut w: Some[Writer]):
        w.write("P", self.a)

    def __deinit__(deinit self):
        print("end", self.a)


def f(x: Int) raises P -> Int:
    if x == 1:
        raise P(1)
    return x


def h(x: Int) raises -> Int:
    if x == 2:
        raise Error("plain")
    return f(x)


def k[E: Writable & Movable & Deinitable](x: Int, var e: E) raises E -> Int:
    if x == 0:
        raise e^
    return x


def n() raises Never -> Int:
    return 4


def m() -> Int:
    return n()


def rr(x: Int) raises P:
    try:
        _ = f(x)
    except e:
        print("re", e.a)
        raise e^


def s(x: Int) raises String -> Int:
    if x == 1:
        raise "text"
    return x


def g(x: Int) raises Int:
    raise 4


@fieldwise_init
struct M(Movable):
    var n: Int

    def __enter__(self):
        pass

    def __exit__(self):
        print("exit")


trait T:
    def run(self) raises P -> Int:
        ...

    def both(self) raises P -> Int:
        return self.run() + self.run()


@fieldwise_init
struct One(T):
    def run(self) raises P -> Int:
        return f(1)


@fieldwise_init
struct Two(T):
    def run(self) -> Int:
        return 2


def call[X: T](x: X) raises P -> Int:
    return x.run() + x.both()


struct OfError:
    def __init__(out self):
        pass

    def __enter__(self):
        pass

    def __exit__(self):
        print("plain exit")

    def __exit__(self, e: Error) -> Bool:
        print("as Error:", e)
        return True


struct OfP:
    var handled: Bool

    def __init__(out self, *, handled: Bool):
        self.handled = handled

    def __enter__(self):
        pass

    def __exit__(self):
        print("plain exit")

    def __exit__(self, e: P) -> Bool:
        print("as P:", e.a)
        return self.handled


def of_any() raises:
    """Errors of a type become `Error`s where a block ends, and where they are raised again.
    """
    with OfError():
        _ = f(1)
    with OfP(handled=True):
        _ = f(1)
    try:
        with OfP(handled=False):
            _ = f(1)
    except e:
        print("passed on", e.a)


def again() raises:
    try:
        _ = f(1)
    except e:
        print("first", e.a)
        raise


def in_context() raises:
    with OfP(handled=False):
        _ = f(1)


def contexts():
    try:
        of_any()
        again()
    except e:
        print("an Error:", e)
    try:
        in_context()
    except e:
        print("an Error:", e)


def main():
    try:
        print(h(1))
    except e:
        print("h", e)
    try:
        print(k(0, P(7)))
    except e:
        print(e.a)
    print(m())
    try:
        rr(1)
    except e:
        print(e)
    try:
        raise P(4)
    except e:
        print(e.a)
    try:
        raise "text"
    except e:
        print(e)
    try:
        _ = s(1)
    except e:
        print(e, e.byte_length())
    try:
        g(1)
    except e:
        print(e + 1)
    try:
        try:
            _ = f(1)
        except e:
            print("in", e.a)
            raise e.copy()
    except e2:
        print("out", e2.a)
    try:
        try:
            _ = f(1)
        finally:
            print("fin")
    except e2:
        print("out", e2.a)
    try:
        with M(1):
            _ = f(1)
    except e:
        print("with", e.a)
    try:
        if f(0) == 1:
            raise P(6)
        print("no")
    except e:
        print(e.a)
    else:
        print("else")
    try:
        print(call(Two()))
        print(call(One()))
    except e:
        print("call", e.a)
    contexts()
