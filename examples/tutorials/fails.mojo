def inner(n: Int) raises:
    if n > 4:
        raise Error("too big: " + String(n))


def outer(n: Int) raises:
    inner(n + 1)


def main() raises:
    outer(4)
