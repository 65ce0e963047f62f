"""Comparisons of remainders with 0.

The language's remainder has the sign of the divisor, so the machine's is corrected: by `d` where the signs differ.
A remainder that is compared with 0 needs no correction, for it is never `-d`, but LLVM does not know that.

    %r = srem i32 %n, %d                           %r = srem i32 %n, %d
    %x = xor i32 %r, %d                            %zero = icmp eq i32 %r, 0
    %c = icmp slt i32 %x, 0                   ->   %positive = icmp sgt i32 %d, -1
    %s = select i1 %c, i32 %d, i32 0               %e = and i1 %zero, %positive
    %m = sub i32 0, %s
    %e = icmp eq i32 %r, %m

(Where %d may be negative, LLVM has kept a test that %r is not 0, and nothing is changed here.)
"""

from ktc.emit.llvm_text.functions import Block
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import suffixed

Lines = dict[str, Instruction]
"""Instructions by the name that they define."""


def compared(blocks: list[Block]) -> bool:
    """Compare remainders with 0 as they are; say whether there are any."""
    if not any(one.op == "srem" for block in blocks for one in block.instructions):
        return False
    lines: Lines = {one.name: one for block in blocks for one in block.instructions if one.name}
    changed = False
    for block in blocks:
        made: list[Instruction] = []
        for one in block.instructions:
            new = _without_correction(one, lines) if one.op == "icmp" else []
            changed = changed or bool(new)
            made += new or [one]
        block.instructions[:] = made
    return changed


def _without_correction(one: Instruction, lines: Lines) -> list[Instruction]:
    """Return the instructions that replace a comparison of a corrected remainder with 0; none for another one."""
    is_equal = one.is_plain("icmp") and one.predicate in ("eq", "ne")
    if not is_equal or not all(value[0] == "%" for value in one.values):
        return []
    name, how, kind = one.name, one.predicate, one.operands[0].type
    for rest, corrected in (one.values, one.values[::-1]):
        divided = lines.get(rest)
        if divided is None or not divided.is_plain("srem"):
            continue
        divisor = divided.values[1]
        tested = lines.get(_condition(corrected, divisor, lines))
        if tested is None or not tested.is_plain("icmp") or tested.predicate != "slt" or tested.values[1] != "0":
            continue
        if tested.values[0] == rest:
            return [Instruction(f"  {name} = icmp {how} {kind} {rest}, 0")]
        signs = lines.get(tested.values[0])
        if signs is not None and signs.is_plain("xor") and set(signs.values) == {rest, divisor}:
            zero, positive = suffixed(name, ".zero"), suffixed(name, ".sign")
            sign, joined = ("sgt", "and") if how == "eq" else ("slt", "or")
            return [
                Instruction(f"  {zero} = icmp {how} {kind} {rest}, 0"),
                Instruction(f"  {positive} = icmp {sign} {kind} {divisor}, {-1 if how == 'eq' else 0}"),
                Instruction(f"  {name} = {joined} i1 {zero}, {positive}"),
            ]
    return []


def _condition(corrected: str, divisor: str, lines: Lines) -> str:
    """Return the condition of `0 - (condition ? divisor : 0)`, or ""."""
    negated = _negated(corrected, lines)
    choice = lines.get(negated or corrected)
    if choice is None or not choice.is_plain("select") or choice.operands[0].type != "i1" or choice.values[2] != "0":
        return ""
    condition, chosen, _ = choice.values
    return condition if chosen == divisor or (not negated and _is_negative(chosen, divisor, lines)) else ""


def _negated(name: str, lines: Lines) -> str:
    """Return the value of which a named one is the negative, or ""."""
    one = lines.get(name)
    if one is None or not one.is_plain("sub", "nuw nsw") or one.values[0] != "0" or one.values[1][0] != "%":
        return ""
    return one.values[1]


def _is_negative(name: str, divisor: str, lines: Lines) -> bool:
    """Return whether one is minus the other, as LLVM writes it."""
    if negated := _negated(name, lines):
        return negated == divisor
    turned, sum = lines.get(name), lines.get(divisor)
    if turned is None or sum is None or not turned.is_plain("xor") or not sum.is_plain("add", "nuw nsw"):
        return False
    return (turned.values[1], sum.values[1]) == ("-1", "1") and turned.values[0] == sum.values[0]
