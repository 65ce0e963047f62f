"""Patterns that are none, and forms of t-strings that edition 2026 lacks."""


def patterns(n: Int, p: Tuple[Int, Int]):
    match n:
        case -1:  # error@14: syntax-error "an expression is no pattern" help "write '== -1' to compare with it"
            pass
        case 1 | x:  # error@18: syntax-error "an alternative of a pattern cannot declare a name"
            pass


def templates(x: Float64):
    print(t"{x:.2f}")  # error@13: wrong-edition "the format of a field is not in edition 2026"
    print(t"{x!r}")  # error@13: wrong-edition "the format of a field" help "write '{repr(x)}'"


def main():
    pass
