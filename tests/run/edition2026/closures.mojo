"""Lists of captures, function types as traits, lambdas: what closures see, own, and when what they own is destroyed."""


@fieldwise_init
struct Loud(Movable):
    var n: Int

    def __deinit__(deinit self):
        print("drop", self.n)


@fieldwise_init
struct Failure(Copyable, Writable):
    var n: Int


@fieldwise_init
struct Scale(def(Int) raises -> Int):
    var factor: Int

    def __call__(self, x: Int) -> Int:
        return self.factor * x


@fieldwise_init
struct Holder[F: Copyable & def(Int) -> Int](Copyable):
    var f: Self.F
    var n: Int

    def go(self, x: Int) -> Int:
        return self.f(x) + self.n


@fieldwise_init
struct Mapped[Out: Copyable & Deinitable, F: Copyable & Deinitable & def(Int) -> Out](Copyable):
    var f: Self.F


@fieldwise_init
struct Counter:
    var n: Int
    var items: List[Int]

    def total(self) -> Int:
        var sum = 0

        def add(i: Int) {mut sum, imm self}:
            sum += self.items[i] * self.n

        for i in range(len(self.items)):
            add(i)
        return sum

    def bump(mut self):
        def add() {mut self}:
            self.n += 1

        add()
        add()


comptime Predicate = def(Int) -> Bool
comptime Compare[T: AnyType] = def(T, T) -> Bool
comptime square = lambda (x: Int) -> Int: x * x


def apply[F: def(Int) -> Int](f: F, x: Int) -> Int:
    return f(x)


def run[F: def() -> None](f: F):
    f()


def implicitly(f: Some[def(Int) -> Int]) -> Int:
    return f(1)


def consume[F: def() -> None](var f: F):
    f()
    print("consumed")


def use[F: Copyable & def(Int) -> Int](f: F) -> Int:
    return Holder(f.copy(), 3).go(1)


def raising[F: def(Int) raises -> Int](f: F, x: Int) raises -> Int:
    return f(x)


def typed[F: def(Int) raises Failure -> None](f: F):
    try:
        f(3)
    except e:
        print("caught", e.n)


def of_widths[F: def[w: Int](i: Int) -> None](f: F):
    f[4](1)
    f[2](7)


def changing[F: def(mut x: Int) -> None](f: F) -> Int:
    var y = 1
    f(y)
    return y


def named[F: def(x: Int, y: Int) -> Int](f: F) -> Int:
    return f(y=1, x=5)


def mapped[T: Copyable, U: Copyable, F: def(T) -> U](x: T, f: F) -> U:
    return f(x)


def count[F: Predicate](items: List[Int], f: F) -> Int:
    var n = 0
    for x in items:
        if f(x):
            n += 1
    return n


def ordered[T: Copyable, F: Compare[T]](a: T, b: T, f: F) -> Bool:
    return f(a, b)


def twice[F: def(Int) -> Int](f: F) -> Int:
    def inner(x: Int) {imm f} -> Int:
        return f(f(x))

    return apply(inner, 3)


def free(x: Int) -> Int:
    return x + 1000


def difference(p: Int, q: Int) -> Int:
    return p - q


def by_reference():
    var x = 1

    def seen() {imm x} -> Int:
        return x

    def bare() {x} -> Int:
        return x

    x = 50
    print(seen(), bare())

    def change() {mut x}:
        x += 4

    run(change)
    run(change)

    def outer() {mut x}:
        def inner() {mut x}:
            x += 10

        inner()
        run(inner)

    outer()
    for i in range(3):

        def step() {imm i, mut x}:
            x += i

        step()
    comptime for i in range(3):

        def unrolled() {mut x}:
            x += i

        run(unrolled)

    def by_ref() {ref}:
        x += 100

    by_ref()
    print(x)
    var items = [1, 2, 3]
    ref first = items[0]

    def up() {mut first}:
        first += 10

    up()

    def at(i: Int) {ref items} -> ref [items] Int:
        return items[i]

    at(1) = 50
    print(items[0], items[1])


def by_value():
    var base = 10

    def add(x: Int) {var base} -> Int:
        return x + base

    base = 100
    var copied = add
    print(add(1), copied(2), Holder(add, 1).go(1), twice(add), use(add))
    var loud = Loud(1)

    def own() {var loud^}:
        print("owned", loud.n)

    run(own)
    own()
    print("own is gone")
    var other = Loud(2)

    def given() {var other^}:
        print("given", other.n)

    consume(given^)
    var kept = Loud(3)

    def referring() {imm kept}:
        print("kept", kept.n)

    referring()
    print("end")


def lambdas():
    var k = 10
    var f = lambda (x: Int) -> Int: x * k
    k = 20
    print(f(3), apply(lambda (x: Int) {var k} -> Int: x + k, 1), square(4))
    var items: List[Int] = [1]
    run(lambda () {mut items}: items.append(4))
    print(len(items), count(items, lambda (x: Int) -> Bool: x > 1))
    of_widths(lambda [w: Int](i: Int): print(w, i))


def effects() raises:
    var limit = 2

    def fail(i: Int) raises {imm limit} -> Int:
        if i > limit:
            raise Error("too big")
        return i

    print(raising(fail, 1), raising(free, 1), raising(Scale(6), 7))
    try:
        print(raising(fail, 3))
    except e:
        print("caught", e)

    def failure(i: Int) raises Failure {imm limit}:
        raise Failure(i + limit)

    typed(failure)
    typed(lambda (i: Int): print("typed", i))

    def widths[w: Int](i: Int) {imm limit}:
        print(w, i, limit)

    of_widths(widths)

    def more(mut x: Int) {imm}:
        x += limit

    print(changing(more))


def main() raises:
    var holder = Mapped[String](lambda (x: Int) -> String: String("<", x, ">"))
    print(holder.f(1))
    by_reference()
    by_value()
    lambdas()
    effects()
    var pointer: def(Int) thin -> Int = free
    print(apply(free, 1), implicitly(free), twice(free), use(free))
    pointer = lambda (x: Int) -> Int: x + 2
    print(pointer(9), named(difference))
    print(mapped(3, lambda (x: Int) -> Float64: 1.5), mapped(3, lambda (x: Int) -> String: "three"))
    print(ordered(1, 2, lambda (x: Int, y: Int) -> Bool: x < y))
    var counter = Counter(2, [1, 2, 3])
    counter.bump()
    print(counter.total(), counter.n)
