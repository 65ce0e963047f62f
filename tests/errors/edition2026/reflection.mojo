"""Fields that a type does not have."""

from std.reflection import reflect


struct Pair:
    var x: Int
    var y: Int


def main():
    comptime Wrong = reflect[Pair].field_types()[2]  # error@22: unsatisfied-constraint "'Pair' has no field 2: it has 2, counted from 0"
