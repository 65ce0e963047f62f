# An assertion that fails, two calls deep.


def inner(n: Int):
    debug_assert[assert_mode="safe"](n < 5, "n is ", n)


def outer(n: Int):
    inner(n + 1)


def main():
    outer(4)
