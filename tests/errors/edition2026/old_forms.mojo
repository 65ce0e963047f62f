"""Forms that edition 2026 does not have, each with its successor."""

import .beside  # error@8: wrong-edition "'import' of a relative name" help "write 'from . import beside'"
alias N = 3  # error@1: wrong-edition "'alias' is not in edition 2026" help "write 'comptime'"


fn double(owned x: Int, read y: Int) -> Int:  # error@1: wrong-edition "'fn' is not in edition 2026" help "write 'def'"
    # error-1@11: wrong-edition "'owned'" help "write 'var'"
    # error-2@25: wrong-edition "'read'" help "write 'imm', or leave it out"
    return x + y


def unrolled(f: fn (Int) -> Int):  # error@17: wrong-edition "'fn'"
    @parameter  # error@5: wrong-edition "'@parameter'" help "write 'comptime for'"
    for i in range(2):
        print(f(i))
    @parameter  # error@5: wrong-edition "'@parameter'" help "write 'comptime if'"
    if N == 3:
        print(N)


def main():
    pass
