"""Iterators that end by `StopIteration`, loops over packs of parameters, forwarding, open parameters, keyword slices."""


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


def product[*values: Int]() -> Int:
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
    print(product[2, 3, 7]())
    print(pass_on(depth=5, width=2))
    var v: Floats[4] = 0
    print(lanes(SIMD[DType.int8, 8](0)), len(v), Text()[byte=4])
