"""Memory that is not given back."""

from std.memory import Layout


def main():
    var a = alloc(Layout[Int](count=2))
    a.unsafe_ptr().unsafe_write(1)  # error@5: unconsumed-value "'a' is not consumed on this path" help "write 'dealloc(a^)'"
