"""Corrections of misspelt names, and hints for conversions between types."""

import re
from collections.abc import Iterable
from types import MappingProxyType

from ktc.base.similarity import close_matches, similarity

CLOSE, SHORT = 0.7, 3
"""How alike names must be; those of up to three letters a little less."""


_TIE_MARGIN = 0.08
"""A second name is shown only if it is nearly as close as the first."""


NUMBERS = frozenset({
    "Int", "UInt", "Bool", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float16",
    "Float32", "Float64", "BFloat16", "IntLiteral", "FloatLiteral",
})  # fmt: skip


TEXTS = frozenset(("String", "StringLiteral", "StringSlice", "StaticString"))


INDICES = MappingProxyType({
    "_ThreadIdx": "thread_idx", "_BlockIdx": "block_idx", "_GlobalIdx": "global_idx", "_BlockDim": "block_dim",
    "_GridDim": "grid_dim",
})  # fmt: skip
"""Names of the members `x`, `y` and `z`, by the type that has them."""


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the one of some names that looks most like a name, or ""."""
    return next(iter(close_matches(name, sorted(set(names) - {name}), n=1, cutoff=CLOSE)), "")


def suggest(name: str, names: Iterable[str]) -> str:
    """Return a help text that names what was perhaps meant, or ""."""
    known = sorted(set(names) - {name})
    same = [one for one in known if one.lower() == name.lower()]
    if len(name) <= SHORT:  # of a short name any two letters are alike
        known = [one for one in known if abs(len(one) - len(name)) <= 1 or one.startswith(name)]
    near = same or close_matches(name, known, n=2, cutoff=CLOSE if len(name) > SHORT else 0.6)
    if len(near) == 2 and similarity(name, near[0]) - similarity(name, near[1]) > _TIE_MARGIN:
        near = near[:1]
    return "did you mean " + " or ".join(f"'{one}'" for one in near) + "?" if near else ""


def conversion_help(have: str, expected: str) -> str:
    """Return how a value of one type becomes one of another, where a common mistake is near; types as shown."""
    family = have.partition("[")[0]
    if have == expected:  # a launch: the type is no kernel's
        return "declare it 'Scalar[DType.bool]' and pass one" if have == "Bool" else ""
    if have == f"Optional[{expected}]":
        return "take the value out with '.value()', or '.or_else(...)'"
    if expected == "NoneType":
        return "the variable holds only None; declare it 'var name: Optional[…] = None'"
    expected_name = expected.partition("[")[0]
    if (family, expected_name) == ("Tuple", "List"):
        return "write it in '[…]'"
    if family == "List" and expected_name in ("Tuple", "Dim"):
        return "write it in '(…)'"
    if family == "List" and expected_name in ("DeviceBuffer", "HostBuffer"):
        return "copy the items one by one: 'with buffer.map_to_host() as host:'"
    if have == "NoneType":
        return f"'{expected}' is never None; 'Optional[{expected}]' is the type of an optional value"
    if family in NUMBERS and expected in NUMBERS:
        return f"write '{expected}(...)' to convert it"
    if expected == "Error" and family in TEXTS:
        return "write 'Error(...)'"
    if expected == "String" and (family in NUMBERS or family == "TString"):
        return "write 'String(...)' to convert it"
    if expected in NUMBERS and expected != "Bool" and family in TEXTS:
        return (
            f"'{expected}(...)' reads a number from a text" if family != "StringLiteral" else _unquoted(have, expected)
        )
    return ""


def _unquoted(have: str, expected: str) -> str:
    """Return the help for a number in quotes."""
    number = have.partition('["')[2].removesuffix('"]')
    return f"leave the quotes out: '{number}'" if re.fullmatch(r"-?\d+(\.\d+)?", number) else ""
