"""Values that a pattern cannot be compared with, and what a type parameter does not promise."""


def patterns(n: Int, p: Tuple[Int, Int]):
    match n:
        case "a":  # error@14: type-mismatch "'==' does not accept"
            pass
    match p:
        case (1, 2, 3):  # error@14: type-mismatch "is no tuple of 3 items"
            pass


def shows[T: AnyType](value: T) -> String:
    comptime if conforms_to(T, Writable):
        return String(value)
    else:
        return String(value)  # error@16: no-matching-overload "no constructor of 'String' accepts"


def main():
    pass
