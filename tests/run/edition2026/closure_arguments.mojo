"""Functions of the library that take closures: loops, sorting, optionals, threads, measurements."""

from max.algorithm import parallelize, sync_parallelize
from std.algorithm import map as for_each
from std.algorithm import tile, unswitch, vectorize
from std.benchmark import Bench, BenchConfig, Bencher, BenchId, black_box, run
from std.iter import map


def double(x: Int) -> Int:
    return x * 2


def loops():
    var sum = 0

    def step[w: Int](i: Int) {mut sum}:
        sum += w * 100 + i

    vectorize[4](10, step)
    print(sum)
    vectorize[4, unroll_factor=2](10, step)
    print(sum)
    vectorize[4, size=10](step)
    print(sum)
    vectorize[4](10, lambda [w: Int](i: Int, count: Int): print("vector", w, i, count))
    for_each(2, lambda (i: Int): print("each", i))
    tile(0, 10, 4, 3, workgroup_function=lambda (at: Int, size: Int): print("tile", at, size))
    tile[[4, 1]](0, 6, lambda [w: Int](at: Int): print("tile", at, w))
    unswitch(True, lambda [flag: Bool](): print("flag", flag))


def collections():
    var items: List[Int] = [5, 2, 9]
    var sign = -1

    def before(a: Int, b: Int) {imm sign} -> Bool:
        return a * sign < b * sign

    sort(items, before)
    print(items[0], items[1], items[2])
    sort[stable=True](Span(items), lambda (a: Int, b: Int) {} -> Bool: a < b)
    print(items[0], items[1], items[2])
    for value in map[double](items):
        print(value)
    var found = Optional[Int](3)
    print(found.map(lambda (x: Int) {imm} -> String: String("is ", x * sign)).value())
    print(found.map[To=Int](double).value())
    print(found.and_then(lambda (x: Int) -> Optional[Int]: None) is None)
    print(Optional[Int](None).map(double) is None)


def threads():
    var squares: List[Int] = [0, 0, 0, 0, 0, 0, 0, 0]

    def square(i: Int) {mut squares}:
        squares[i] = i * i

    parallelize(square, 8)

    def add(i: Int) raises {mut squares}:
        squares[i] += 1

    sync_parallelize(add, 8)
    print(squares[0], squares[7])
    parallelize(square, 8, 2)
    print(squares[0], squares[7])


def measurements() raises:
    var calls = 0

    def body() {mut calls}:
        calls += 1

    _ = run(body, max_iters=10, min_runtime_secs=0.0001)
    print(calls > 0)
    calls = 0
    var bench = Bench(BenchConfig(max_iters=3))

    def measured(mut bencher: Bencher) raises {mut calls}:
        bencher.iter(lambda () {mut calls}: print("", end=""))
        calls += 1

    bench.bench_function(measured, BenchId("counted"))
    print(calls > 0)


def main() raises:
    loops()
    collections()
    threads()
    measurements()
    print(black_box(3), black_box(String("a")), black_box([1, 2]))
