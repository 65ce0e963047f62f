"""Calls of intrinsics with values that SPIR-V's back end cannot hold: lane by lane.

Input: the call. Output: calls of the same intrinsic with the parts.
"""

import re

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import members
from ktc.emit.spirv import wide
from ktc.emit.spirv.leaves import WIDE
from ktc.emit.spirv.parts import Parts, give, lanes_of, same
from ktc.emit.spirv.syntax import called, unsupported


def split_call(parts: Parts, found: Instruction) -> None:
    """An intrinsic, lane by lane."""
    kind, name, given = called(found)
    if WIDE in [one for one, _ in given]:
        _wide_call(parts, found.name, kind, name, [parts.parts(*one)[:2] for one in given])
        return
    if kind.startswith("{") and "with.overflow" in name:
        made = parts.new(f"call {found.flags}{found.body}")
        parts.bind(found.name, [parts.new(f"extractvalue {kind} {made}, {index}") for index in range(2)])
        return
    reduces = re.match(r"@llvm\.vector\.reduce\.(\w+)\.", name)
    if reduces:
        _reduce(parts, found, reduces[1], given)
        return
    if not name.startswith("@llvm.") or kind[0] != "<":
        raise unsupported(found.body)
    element, count = members(kind)[0], len(members(kind))
    lanes = [lanes_of(parts, one, value) if one[0] == "<" else [value] * count for one, value in given]
    kinds = [members(one)[0] if one[0] == "<" else one for one, _ in given]
    scalar = re.sub(r"\.v\d+(?=[a-z])", ".", name)
    made_lanes = []
    for index in range(count):
        words = ", ".join([f"{one} {values[index]}" for one, values in zip(kinds, lanes, strict=True)])
        made_lanes.append(parts.new(f"call {found.flags}{element} {scalar}({words})"))
    give(parts, found.name, kind, made_lanes)


def _wide_call(parts: Parts, name: str, kind: str, function: str, given: list[list[str]]) -> None:
    made = wide.called(parts.new, function, given)
    if kind == WIDE:
        parts.bind(name, made)
    else:
        parts.lines.append(f"  {name} = {same(kind, made[0])}")


_REDUCTIONS = {
    "add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fmul": "fmul",
}  # fmt: skip


def _reduce(parts: Parts, found: Instruction, name: str, given: list[tuple[str, str]]) -> None:
    kind, value = given[-1]
    element = members(kind)[0]
    total, *others = [*([given[0][1]] if len(given) > 1 else []), *lanes_of(parts, kind, value)]
    for other in others:
        if name in _REDUCTIONS:
            total = parts.new(f"{_REDUCTIONS[name]} {found.flags}{element} {total}, {other}")
        else:
            full = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}.get(name, name)
            suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)
            total = parts.new(
                f"call {found.flags}{element} @llvm.{full}.{suffix}({element} {total}, {element} {other})"
            )
    parts.lines.append(f"  {found.name} = {same(element, total)}")
