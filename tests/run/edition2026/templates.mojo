"""t-strings: they refer to what they name, and write their pieces one by one when they are written themselves."""


struct Noisy(Writable):
    var n: String

    def __init__(out self, n: String):
        self.n = n

    def __deinit__(deinit self):
        print("~", self.n, sep="", end=" ")

    def write_to(self, mut w: Some[Writer]):
        print("write", end=" ")
        w.write("<", self.n, ">")


struct Log(Writer):
    var text: String

    def __init__(out self):
        self.text = ""

    def write_string(mut self, s: StringSpan):
        if s.byte_length():
            self.text += String(t"[{s}]")


struct Deck(Writable):
    var items: List[String]

    def __init__(out self):
        self.items = ["a", "b"]

    def write_to(self, mut w: Some[Writer]):
        t"Deck of {len(self.items)}: {self.items}".write_to(w)


def make(n: String) -> Noisy:
    print("make", n, end=" ")
    return Noisy(n)


def logged(value: Some[Writable]) -> String:
    var log = Log()
    log.write(value)
    return log.text


def each[*Ts: Writable](*values: *Ts):
    comptime for i in range(values.__len__()):
        print(t"{i}={values[i]}", end=" ")
    print()


def checked(n: Int) raises -> String:
    if n == 0:
        raise Error(t"bad {n}")
    return String(t"ok {n}")


def main() raises:
    print(t"{make('a')} {make('b')}", t"{make('c')}")
    print()
    var kept = t"{make('d')} {make('e')}!"
    print("kept")
    print(kept)
    print()
    var n = Noisy("n")
    var named = t"{n}"
    print("named")
    print(named, named)
    var x = 3
    print(logged(t"a{x}b{n.n}c"), logged(t"{t'{x}'}{{}}"), logged(Deck()))
    x = 5
    assert x == 5, t"x is {x}"
    comptime k = 4
    comptime assert k == 4, t"k is {k}"
    each(1, "a", 2.5, ["p", "q"])
    try:
        print(checked(1), end=" ")
        print(checked(0))
    except e:
        print(t"caught {e}", String(t"{x}", t"{k}", sep="|"), t"a" t"{x}")
    print(
        t"{'a'} {True} {1.5} {(1, 'b')} {['c']} {Optional(x)}",
        String(t"é{x}").byte_length(),
    )
