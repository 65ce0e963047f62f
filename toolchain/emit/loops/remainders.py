"""Comparisons of remainders with 0.

The language's remainder has the sign of the divisor, so the machine's is corrected: by `d` where the signs differ.
What is compared with 0 needs no correction, for a remainder is never `-d`, but LLVM does not know that.

    %r = srem i32 %n, %d                           %r = srem i32 %n, %d
    %x = xor i32 %r, %d                            %zero = icmp eq i32 %r, 0
    %c = icmp slt i32 %x, 0                   ->   %positive = icmp sgt i32 %d, -1
    %s = select i1 %c, i32 %d, i32 0               %e = and i1 %zero, %positive
    %m = sub i32 0, %s
    %e = icmp eq i32 %r, %m

(Where %d may be negative, LLVM has kept a test that %r is not 0, and nothing is changed here.)
"""

import re

from ktc.emit.loops.blocks import NAME, Block, defined

_EQUAL = re.compile(rf"^icmp (eq|ne) (i\d+) ({NAME}), ({NAME})$")
_REST = re.compile(rf"^srem i\d+ \S+, ({NAME}|\d+)$")
_NEGATED = re.compile(rf"^sub(?: nuw| nsw)* i\d+ 0, ({NAME})$")
_CHOICE = re.compile(rf"^select i1 ({NAME}), i\d+ ({NAME}|-?\d+), i\d+ 0$")
_BELOW = re.compile(rf"^icmp slt i\d+ ({NAME}), 0$")
_XOR = re.compile(rf"^xor i\d+ ({NAME}), ({NAME}|\d+)$")
_NOT = re.compile(rf"^xor i\d+ ({NAME}), -1$")
_ONE_MORE = re.compile(rf"^add(?: nuw| nsw)* i\d+ ({NAME}), 1$")


def compared(blocks: list[Block]) -> bool:
    """Compare remainders with 0 as they are; say whether there are any."""
    if not any(" = srem " in line for block in blocks for line in block.lines):
        return False
    says = {defined(line): line.partition(" = ")[2] for block in blocks for line in block.lines if defined(line)}
    changed = False
    for block in blocks:
        lines: list[str] = []
        for line in block.lines:
            new = _without_correction(defined(line), says)
            changed = changed or bool(new)
            lines += new or [line]
        block.lines[:] = lines
    return changed


def _without_correction(name: str, says: dict[str, str]) -> list[str]:
    """Return what a comparison of a corrected remainder with 0 may be instead; nothing if `name` is no such thing."""
    equal = _EQUAL.match(says.get(name, ""))
    if equal is None:
        return []
    how, kind = equal[1], equal[2]
    for rest, corrected in ((equal[3], equal[4]), (equal[4], equal[3])):
        divided = _REST.match(says.get(rest, ""))
        condition = _condition(corrected, divided[1], says) if divided else ""
        tested = _BELOW.match(says.get(condition, ""))
        if divided is None or tested is None:
            continue
        if tested[1] == rest:
            return [f"  {name} = icmp {how} {kind} {rest}, 0"]
        signs = _XOR.match(says.get(tested[1], ""))
        if signs and set(signs.groups()) == {rest, divided[1]}:
            word = name[1:].strip('"')
            sign, joined = ("sgt", "and") if how == "eq" else ("slt", "or")
            return [
                f'  %"{word}.zero" = icmp {how} {kind} {rest}, 0',
                f'  %"{word}.sign" = icmp {sign} {kind} {divided[1]}, {-1 if how == "eq" else 0}',
                f'  {name} = {joined} i1 %"{word}.zero", %"{word}.sign"',
            ]
    return []


def _condition(corrected: str, divisor: str, says: dict[str, str]) -> str:
    """Return the condition of `0 - (condition ? divisor : 0)`, or ""."""
    negated = _NEGATED.match(says.get(corrected, ""))
    choice = _CHOICE.match(says.get(negated[1] if negated else corrected, ""))
    if choice is None:
        return ""
    return choice[1] if choice[2] == divisor or (not negated and _is_negative(choice[2], divisor, says)) else ""


def _is_negative(name: str, divisor: str, says: dict[str, str]) -> bool:
    """Return whether one is minus the other, as LLVM writes it."""
    negated = _NEGATED.match(says.get(name, ""))
    if negated:
        return negated[1] == divisor
    turned, sum = _NOT.match(says.get(name, "")), _ONE_MORE.match(says.get(divisor, ""))
    return turned is not None and sum is not None and turned[1] == sum[1]
