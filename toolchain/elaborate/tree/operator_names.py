"""Operators, and the methods that they call. Input: one of them. Output: the other."""

from collections.abc import Mapping
from types import MappingProxyType

BINARY: Mapping[str, str] = MappingProxyType({
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor",
})  # fmt: skip


COMPARE: Mapping[str, str] = MappingProxyType({
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
})  # fmt: skip


UNARY: Mapping[str, str] = MappingProxyType({"-": "neg", "+": "pos", "~": "invert"})


def operator_of(method: str) -> str:
    """Return the operator that calls a method, in quotes; "" if none does."""
    name = method.removeprefix("__").removesuffix("__")
    for table in (BINARY, COMPARE, UNARY):
        for op, of in table.items():
            if name in (of, f"r{of}", f"i{of}"):
                return f"'{op}'"
    return ""
