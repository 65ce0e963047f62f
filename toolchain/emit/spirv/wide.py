"""Numbers of 128 bits as two of 64, the lower one first.

Input: a function that writes an instruction and returns its value, and the halves of the operands. Output: the
result's.
"""

import re
from collections.abc import Callable

from ktc.emit.spirv.syntax import unsupported

New = Callable[[str], str]
MULTIPLY_HIGH = "_Z6mul_himm"
"""OpenCL's upper half of an unsigned product."""


def combined(new: New, op: str, left: list[str], right: list[str]) -> list[str]:
    """Return the halves of an operation's result."""
    if op in ("and", "or", "xor"):
        return [new(f"{op} i64 {a}, {b}") for a, b in zip(left, right, strict=True)]
    if op in ("shl", "lshr", "ashr"):
        return _shifted(new, op, left, right[0])
    (a, b), (c, d) = left, right
    if op == "add":
        low = new(f"add i64 {a}, {c}")
        carry = new(f"zext i1 {new(f'icmp ult i64 {low}, {a}')} to i64")
        return [low, new(f"add i64 {new(f'add i64 {b}, {d}')}, {carry}")]
    if op == "sub":
        borrow = new(f"zext i1 {new(f'icmp ult i64 {a}, {c}')} to i64")
        return [new(f"sub i64 {a}, {c}"), new(f"sub i64 {new(f'sub i64 {b}, {d}')}, {borrow}")]
    if op == "mul":
        high = new(f"call i64 @{MULTIPLY_HIGH}(i64 {a}, i64 {c})")
        high = new(f"add i64 {high}, {new(f'mul i64 {a}, {d}')}")
        return [new(f"mul i64 {a}, {c}"), new(f"add i64 {high}, {new(f'mul i64 {b}, {c}')}")]
    raise unsupported(f"{op} i128")


def _shifted(new: New, op: str, value: list[str], amount: str) -> list[str]:
    """A shift by up to 127; what leaves one half enters the other, by a shift of one and one of up to 63."""
    low, high = value
    by = new(f"and i64 {amount}, 63")
    rest = new(f"sub i64 63, {by}")
    far = new(f"icmp ne i64 {new(f'and i64 {amount}, 64')}, 0")
    if op == "shl":
        moved = new(f"shl i64 {low}, {by}")
        over = new(f"lshr i64 {new(f'lshr i64 {low}, 1')}, {rest}")
        upper = new(f"or i64 {new(f'shl i64 {high}, {by}')}, {over}")
        return [new(f"select i1 {far}, i64 0, i64 {moved}"), new(f"select i1 {far}, i64 {moved}, i64 {upper}")]
    moved = new(f"{op} i64 {high}, {by}")
    over = new(f"shl i64 {new(f'shl i64 {high}, 1')}, {rest}")
    lower = new(f"or i64 {new(f'lshr i64 {low}, {by}')}, {over}")
    gone = new(f"ashr i64 {high}, 63") if op == "ashr" else "0"
    return [new(f"select i1 {far}, i64 {moved}, i64 {lower}"), new(f"select i1 {far}, i64 {gone}, i64 {moved}")]


def compared(new: New, predicate: str, left: list[str], right: list[str]) -> str:
    """Return the i1 of a comparison."""
    (a, b), (c, d) = left, right
    if predicate in ("eq", "ne"):
        either = new(f"or i64 {new(f'xor i64 {a}, {c}')}, {new(f'xor i64 {b}, {d}')}")
        return new(f"icmp {predicate} i64 {either}, 0")
    same = new(f"icmp eq i64 {b}, {d}")
    lower = new(f"icmp u{predicate[1:]} i64 {a}, {c}")
    upper = new(f"icmp {predicate} i64 {b}, {d}")
    return new(f"select i1 {same}, i1 {lower}, i1 {upper}")


def extended(new: New, op: str, kind: str, value: str) -> list[str]:
    """Return the halves of a smaller number."""
    if op not in ("zext", "sext"):
        raise unsupported(f"{op} {kind} to i128")
    low = value if kind == "i64" else new(f"{op} {kind} {value} to i64")
    return [low, new(f"ashr i64 {low}, 63") if op == "sext" else "0"]


def called(new: New, function: str, given: list[list[str]]) -> list[str]:
    """Return the halves of an intrinsic's result."""
    found = re.fullmatch(r"@llvm\.(umin|umax|smin|smax|abs|ctpop|ctlz|cttz|bswap)\.i128", function)
    if found is None:
        raise unsupported(function)
    name, value = found[1], given[0]
    if name in ("ctpop", "ctlz", "cttz", "bswap"):
        return _counted(new, name, value)
    other = combined(new, "sub", ["0", "0"], value) if name == "abs" else given[1]
    predicate = "sge" if name == "abs" else {"min": "lt", "max": "gt"}[name[1:]]
    test = compared(
        new, predicate if name == "abs" else name[0] + predicate, value, ["0", "0"] if name == "abs" else other
    )
    return [new(f"select i1 {test}, i64 {a}, i64 {b}") for a, b in zip(value, other, strict=True)]


def _counted(new: New, name: str, value: list[str]) -> list[str]:
    more = "" if name in ("ctpop", "bswap") else ", i1 false"
    low, high = (new(f"call i64 @llvm.{name}.i64(i64 {half}{more})") for half in value)
    if name == "bswap":
        return [high, low]
    if name == "ctpop":
        return [new(f"add i64 {low}, {high}"), "0"]
    first, second = (high, low) if name == "ctlz" else (low, high)
    none = new(f"icmp eq i64 {value[1 if name == 'ctlz' else 0]}, 0")
    return [new(f"select i1 {none}, i64 {new(f'add i64 {second}, 64')}, i64 {first}"), "0"]
