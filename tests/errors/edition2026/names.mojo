"""Names that edition 2026 does not have, each with what it has in its place."""

import math  # error@8: wrong-edition "the module 'math' is 'std.math' in edition 2026" help "write 'std.math'"
from gpu import barrier  # error@6: wrong-edition "the module 'gpu' is 'max.gpu'" help "write 'max.gpu'"
from std.memory import memcpy  # error@24: wrong-edition "module 'std.memory' has no 'memcpy' in edition 2026" help "write 'unsafe_memcpy'"
from std.memory import nothing  # error@24: unresolved-import "module 'std.memory' has no 'nothing'"


def takes(values: InlineArray[Int, 3]):  # error@19: undefined-name "'InlineArray' is not defined" help "write 'Array'"
    pass


def main():
    print(math.sqrt(2.0))
    print(ceildiv(7, 2))  # error@11: undefined-name "'ceildiv'" help "write 'from std.math import ceildiv'"
    var p = alloc[Int32](1)
    p.init_pointee_copy(3)  # error@7: wrong-edition "'UnsafePointer' has no 'init_pointee_copy' in edition 2026"
    _ = p.offset(1)  # error@11: wrong-edition "has no 'offset' in edition 2026" help "write 'unsafe_offset'"
    p.unsafe_free()
    print("{} {}".format(1))  # error@11: unsatisfied-constraint "'format' cannot fill in the fields"
    var text = String("a")
    print(text.__str__())  # error@16: wrong-edition "'String' has no '__str__' in edition 2026" help "write 'String(…)'"
    print(text.center(9))  # error@16: wrong-edition "'String' has no 'center'" help "write 'ascii_center'"
    var made: String = t"{text}"  # error@24: type-mismatch "does not convert to 'String'" help "write 'String(...)'"
    print(made)
