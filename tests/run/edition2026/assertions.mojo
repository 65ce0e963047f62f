"""Assertions take all values that have a text, and say what differs; `assert_raises` takes errors of any type."""

from std.reflection import call_location
from std.testing import (
    assert_almost_equal,
    assert_equal,
    assert_false,
    assert_not_equal,
    assert_raises,
    assert_true,
)


@fieldwise_init
struct Ordered(Comparable, ImplicitlyCopyable, Writable):
    var mm: Float64

    def __lt__(self, other: Self) -> Bool:
        return self.mm < other.mm

    def write_to(self, mut writer: Some[Writer]):
        writer.write(self.mm, " mm")


@fieldwise_init
struct Derived(Copyable, Equatable, Writable):
    var mm: Float64


@fieldwise_init
struct Failure(Copyable, Writable):
    var n: Int


def fail() raises Failure:
    raise Failure(3)


def shown(e: Error) -> String:
    """Returns an error's text without the folder of this file."""
    var text = String(e)
    var at = text.find("assertions.mojo")
    return String(text[byte=at :]) if at >= 0 else text


@always_inline
def check(x: Int) raises:
    assert_equal(x, 3, location=call_location())


def main() raises:
    assert_equal(Derived(1), Derived(1))
    assert_equal(Ordered(1), Ordered(1))
    assert_equal(Ordered(1), Ordered(1))
    assert_not_equal(Ordered(1), Ordered(2))
    assert_equal([1, 2], [1, 2])
    var l: List[Int] = [1]
    assert_equal(l, [1])
    assert_equal(l[:], l[:])
    assert_equal((1, "a"), (1, "a"))
    assert_equal(Optional(3), Optional(3))
    assert_equal({1: 2}, {1: 2})
    var x = 3
    assert_equal(x, 3)
    assert_equal("a", String("a"))
    assert_equal(UInt8(3), 3)
    assert_true(l)
    assert_false(List[Int]())
    assert_almost_equal(SIMD[DType.float32, 2](1, 2), [1, 2])
    try:
        assert_equal(Ordered(1), Ordered(2), "why")
    except e:
        print(shown(e))
    try:
        assert_equal(l, [2])
    except e:
        print(shown(e))
    try:
        assert_not_equal(Derived(1), Derived(1))
    except e:
        print(shown(e))
    try:
        assert_true(False)
    except e:
        print(shown(e))
    try:
        assert_almost_equal(1.0, 1.5, msg="off")
    except e:
        print(shown(e))
    try:
        assert_equal(l[:], [2, 3])
    except e:
        print(shown(e))
    try:
        assert_equal("ab", "ac")
    except e:
        print(shown(e))
    try:
        assert_equal(Optional(3), None)
    except e:
        print(shown(e))
    try:
        check(4)
    except e:
        print(shown(e))
    with assert_raises():
        fail()
    with assert_raises(contains="abc"):
        raise Error("xabcy")
    try:
        with assert_raises(contains="abc"):
            raise Error("zz")
    except e:
        print("other", e)
    try:
        with assert_raises():
            pass
    except e:
        print(shown(e))
