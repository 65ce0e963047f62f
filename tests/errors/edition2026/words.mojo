"""Messages name types of the library as edition 2026 does, unless the text itself has the older name."""


def at(p: Pointer[Int, MutUntrackedOrigin]):
    pass


def of(x: Array[Int, 3]):
    pass


def equal[T: Equatable](x: T):
    pass


struct N:
    var x: Int

    def __init__(out self):
        self.x = 1


def main():
    at(3)  # error@8: type-mismatch "but 'Pointer[Int, MutUntrackedOrigin]' is expected"
    of("a")  # error@8: type-mismatch "but 'Array[Int, 3]' is expected"
    equal(N())  # error@11: unsatisfied-trait "'N' does not conform to 'Equatable'"
    var s: StringSpan[ImmStaticOrigin] = 4  # error@42: type-mismatch "to 'StringSpan[ImmStaticOrigin]'"
