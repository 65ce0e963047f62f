"""Modules with values that LLVM's SPIR-V back end cannot translate, rewritten without them.

Input: an optimised module's text, its functions one kernel. Output: the same with the types that SPIR-V has.
"""

import re

from ktc.emit.llvm_text.functions import Function, with_names
from ktc.emit.llvm_text.modules import Module
from ktc.emit.spirv import wide
from ktc.emit.spirv.numbers import in_types, known_numbers
from ktc.emit.spirv.routines import with_reversals
from ktc.emit.spirv.splitting import split_values
from ktc.emit.spirv.syntax import instruction

_SLOT = re.compile(r"  %ktc\.\d+ = alloca ")


def legal(text: str) -> str:
    """Return the module with values of SPIR-V's types only."""
    module = Module(with_reversals(text))
    # LLVM's reader declares its intrinsics itself.
    module.drop_declarations(lambda symbol: symbol.startswith(("llvm.", "ktc.bitreverse")))
    for at, entity in enumerate(module.entities):
        if entity.startswith("define "):
            module.entities[at] = _function(module.at(at))
        elif entity.startswith("@"):
            module.entities[at] = in_types(entity)
    if f"@{wide.MULTIPLY_HIGH}(" in (made := module.text()) and wide.MULTIPLY_HIGH not in module.symbols("declare "):
        module.add([f"declare i64 @{wide.MULTIPLY_HIGH}(i64, i64)"])
        return module.text()
    return made


def _function(function: Function) -> str:
    function = with_names(function, _named)
    lines = []
    for block in function.blocks:
        lines += [f"{block.name[1:]}:"] if block.label else []
        lines += [one.source for one in block.instructions]
    made = _slots_first(_after_phis(known_numbers(split_values(lines))))
    return "\n".join([in_types(function.head), *made, "}"])


def _named(name: str) -> str:
    """Values without names have numbers, which would have to stay without gaps."""
    return f"%n{name[1:]}" if name[1:].isdigit() else name


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
            one = instruction(line)
            (phis if one is not None and one.op == "phi" else others).append(line)
    return out


def _slots_first(lines: list[str]) -> list[str]:
    """Return the lines with the stack slots of rewritten instructions at the function's beginning."""
    slots = [line for line in lines if _SLOT.match(line)]
    return [*lines[:1], *slots, *[line for line in lines[1:] if line not in slots]] if slots else lines
