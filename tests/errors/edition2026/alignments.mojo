"""Alignments of structs."""


@align(3)  # error@8: unsatisfied-constraint "an alignment is a power of two"
@fieldwise_init
struct Odd:
    var x: Int


@align  # error@1: syntax-error "'@align' takes one argument" help "write '@align(64)'"
@fieldwise_init
struct Unsaid:
    var x: Int


def main():
    print(Odd(1).x, Unsaid(2).x)
