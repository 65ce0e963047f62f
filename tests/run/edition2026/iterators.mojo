"""Iterators that end by `StopIteration`, loops over packs of parameters, forwarding, open parameters, keyword slices.

Iterators of the program go through those of the library, and the library's through generic functions of the program.
"""

from std.itertools import cycle, drop, drop_while, product, take, take_while


struct Countdown:
    var n: Int

    def __init__(out self, n: Int):
        self.n = n

    def __iter__(self) -> CountdownIterator:
        return CountdownIterator(self.n)


@fieldwise_init
struct CountdownIterator(Copyable, Iterator):
    comptime Element = Int
    var left: Int

    def __next__(mut self) raises StopIteration -> Int:
        if self.left == 0:
            raise StopIteration()
        self.left -= 1
        return self.left + 1


@fieldwise_init
struct Loud(Copyable):
    var name: String

    def __deinit__(deinit self):
        print("end of", self.name)


@fieldwise_init
struct Names(Copyable, Iterator):
    comptime Element = Loud
    var at: Int

    def __iter__(self) -> Self:
        return self.copy()

    def __next__(mut self) raises StopIteration -> Loud:
        self.at += 1
        if self.at > 2:
            raise StopIteration()
        return Loud(String("n", self.at))


struct Text:
    var n: Int

    def __init__(out self):
        self.n = 3

    def __getitem__(self, *, byte: Int) -> Int:
        return byte + self.n


def multiplied[*values: Int]() -> Int:
    var p = 1
    for v in values:
        p *= v
    return p


def options(var **kwargs: Int) -> Int:
    var t = 0
    for e in kwargs.items():
        print(e.key, e.value, end=";")
        t += e.value
    return t


def pass_on(var **kwargs: Int) -> Int:
    return options(**kwargs^)


def lanes(v: SIMD[...]) -> Int:
    return len(v)


comptime Floats = SIMD[DType.float32, ...]


@fieldwise_init
struct Up(Copyable, Iterable, Iterator):
    comptime Element = Int
    comptime IteratorType[mut: Bool, //, origin: Origin[mut=mut]]: Iterator = Self
    var at: Int
    var end: Int

    def __iter__(ref self) -> Self:
        return self.copy()

    def __next__(mut self) raises StopIteration -> Int:
        if self.at == self.end:
            raise StopIteration()
        self.at += 1
        return self.at


@fieldwise_init
struct Twice[I: Iterator & Copyable](Copyable, Iterable, Iterator):
    comptime Element = Self.I.Element
    comptime IteratorType[mut: Bool, //, origin: Origin[mut=mut]]: Iterator = Self
    var inner: Self.I
    var calls: Int

    def __iter__(ref self) -> Self:
        return self.copy()

    def __next__(mut self) raises StopIteration -> Self.Element:
        self.calls += 1
        return next(self.inner)


def count_all[I: Iterator](var it: I) -> Int where conforms_to(I.Element, Deinitable) and conforms_to(I, Deinitable):
    var n = 0
    while True:
        try:
            _ = next(it)
            n += 1
        except:
            return n


def square(x: Int) -> Int:
    return x * x


def is_small(x: Int) -> Bool:
    return x < 3


def of_program() raises:
    for x in take(Up(0, 5), 2):
        print(x, end=" ")
    for x in drop(Up(0, 5), 2):
        print(x, end=" ")
    for x in take(cycle(Up(0, 2)), 5):
        print(x, end=" ")
    for i, x in enumerate(Up(0, 3)):
        print(i, x, end=" ")
    for a, b in zip(Up(0, 3), [7, 8, 9]):
        print(a, b, end=" ")
    for a, b, c in zip(Up(0, 3), Up(5, 9), [7, 8, 9]):
        print(a, b, c, end=" ")
    for a, b in product(Up(0, 2), Up(3, 5)):
        print(a, b, end=" ")
    for a in map[square](Up(0, 3)):
        print(a, end=" ")
    for x in take_while[is_small](Up(0, 9)):
        print(x, end=" ")
    for x in drop_while[is_small]([1, 2, 3, 1]):
        print(x, end=" ")
    print(List(Up(0, 3)), [x * 2 for x in Up(0, 4) if x != 2], any(Up(0, 2)))


def of_library() raises:
    print(count_all(iter([1, 2, 3])), count_all(iter(range(4))), count_all(Up(2, 4)))
    var values: List[Int] = [4, 5]
    for x in Twice(iter(values), 0):
        print(x, end=" ")
    var it = iter(range(1))
    print(it.__next__())
    try:
        print(it.__next__())
    except e:
        print(e, String(e), repr(e))
    try:
        print(next(it))
    except e:
        print("end", e)


def main() raises:
    for x in Countdown(3):
        print(x, end=" ")
    for x in Countdown(5):
        if x == 4:
            continue
        if x == 2:
            break
        print(x, end=" ")
    else:
        print("not reached")
    for _ in Countdown(0):
        print("never")
    else:
        print("else")
    for name in Names(0):
        print(name.name)
    var it = CountdownIterator(1)
    try:
        print(next(it))
        print(next(it))
    except:
        print("nothing is left")
    print(multiplied[2, 3, 7]())
    print(pass_on(depth=5, width=2))
    var v: Floats[4] = 0
    print(lanes(SIMD[DType.int8, 8](0)), len(v), Text()[byte=4])
    of_program()
    of_library()
