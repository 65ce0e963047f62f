"""Modules with values that LLVM's SPIR-V back end cannot translate, rewritten without them.

Input: an optimised module's text, its functions one kernel. Output: the same with the types that SPIR-V has.
"""

import re

from ktc.emit.spirv import wide
from ktc.emit.spirv.numbers import in_types, known_numbers
from ktc.emit.spirv.routines import with_reversals
from ktc.emit.spirv.splitting import split_values

_NUMBERED = re.compile(r"%(\d+)(?![\w.])")
_LABEL = re.compile(r"^(\d+):")
_CALLED = re.compile(r"call [^@\n]*@(llvm\.[\w.]+|_Z\w+)\(")
_DECLARED = re.compile(r"^declare [^@\n]*@(?:\"([^\"]+)\"|([\w.$]+))\(", re.MULTILINE)


def legal(text: str) -> str:
    """Return the module with values of SPIR-V's types only."""
    out: list[str] = []
    body: list[str] | None = None
    for line in with_reversals(text).splitlines():
        if line.startswith("define "):
            out.append(_named(in_types(line)))
            body = []
        elif body is not None and line == "}":
            out += [*_slots_first(_after_phis(known_numbers(split_values(body)))), line]
            body = None
        elif body is not None:
            body.append(_named(line.partition(" ; preds")[0].rstrip()))
        elif line.startswith("declare ") and ("@llvm." in line or "@ktc.bitreverse" in line):
            continue  # LLVM's reader declares its intrinsics itself
        else:
            out.append(in_types(line) if line.startswith("@") else line)
    return "\n".join([*out, *_missing("\n".join(out))]) + "\n"


def _named(line: str) -> str:
    """Values without names have numbers, which would have to stay without gaps."""
    return _LABEL.sub(r"n\1:", _NUMBERED.sub(r"%n\1", line))


def _after_phis(lines: list[str]) -> list[str]:
    """Return the lines with a block's phis at its beginning: those of a value's parts may stand after others' uses."""
    out: list[str] = []
    phis: list[str] = []
    others: list[str] = []
    for line in [*lines, "end:"]:
        if line and not line.startswith(" "):
            out += [*phis, *others]
            phis, others = [], [line]
            if line != "end:":
                out.append(others.pop())
        else:
            (phis if re.match(r"\s+%\S+ = phi ", line) else others).append(line)
    return out


def _slots_first(lines: list[str]) -> list[str]:
    """Return the lines with the stack slots of rewritten instructions at the function's beginning."""
    slots = [line for line in lines if re.match(r"  %ktc\.\d+ = alloca ", line)]
    return [*lines[:1], *slots, *[line for line in lines[1:] if line not in slots]] if slots else lines


def _missing(text: str) -> list[str]:
    """Return declarations of the built-in functions that the parts call."""
    declared = {found[1] or found[2] for found in _DECLARED.finditer(text)}
    called = set(_CALLED.findall(text)) - declared
    return [f"declare i64 @{wide.MULTIPLY_HIGH}(i64, i64)"] if wide.MULTIPLY_HIGH in called else []
