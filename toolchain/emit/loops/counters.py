"""Counters of loops with constant bounds become 32 bits wide.

    %i = phi i64 [ 0, %entry ], [ %next, %loop ]         %i = phi i32 [ 0, %entry ], [ %next, %loop ]
    ...                                            ->    %i.wide = zext nneg i32 %i to i64
    %next = add nuw nsw i64 %i, 1                        %next = add nuw nsw i32 %i, 1
    %done = icmp eq i64 %next, 256                       %done = icmp eq i32 %next, 256

LLVM joins the extensions with what uses the wide number.
"""

import re
from collections.abc import Iterator

from ktc.emit.loops.blocks import Block, defined, renamed, used

_MAX = 1 << 30
_SUM = re.compile(r"^(add|or disjoint)((?: nuw| nsw)*) i64 (%\S+), (\d+)$")
_COMPARED = re.compile(r"^icmp (?:samesign )?(\w+) i64 (%\S+), (\d+)$")
_BELOW = {"ult": 0, "slt": 0, "ule": 1, "sle": 1}
_ABOVE = {"ugt": 1, "sgt": 1, "uge": 0, "sge": 0}


def narrowed(blocks: list[Block]) -> bool:
    """Narrow the counters of a function's loops; say whether there are any."""
    by_name = {block.name: block for block in blocks}
    changed = False
    for block in blocks:
        for name, kind, pairs in list(block.phis()):
            if kind == "i64" and len(pairs) == 2:
                changed = _counter(name, pairs, block, by_name, blocks) or changed
    return changed


def _counter(
    name: str, pairs: list[tuple[str, str]], block: Block, by_name: dict[str, Block], blocks: list[Block]
) -> bool:
    """Narrow one phi, if it counts from a constant, up by a constant, to a constant."""
    starts = [value for value, _ in pairs if value.isdigit()]
    nexts = [(value, origin) for value, origin in pairs if value.startswith("%")]
    if len(starts) != 1 or len(nexts) != 1:
        return False
    (following, latch) = nexts[0]
    home = by_name.get(latch)
    where = next((one for one in blocks if one.definition(following)), None)
    if home is None or where is None or not (branch := home.branch()) or block.name not in branch[1:]:
        return False
    step = _SUM.match(where.definition(following))
    if step is None or step[3] != name or not 0 < int(step[4]) < _MAX:
        return False
    bound = _bound(branch[0], branch[1] == block.name, name, following, home, (int(starts[0]), int(step[4])))
    if bound is None or bound + 2 * int(step[4]) >= _MAX:
        return False
    _rewrite(name, following, blocks)
    return True


def _bound(
    condition: str, goes_on: bool, name: str, following: str, latch: Block, counts: tuple[int, int]
) -> int | None:
    """Return what a counter cannot exceed as the loop goes on, if `condition` is `goes_on`."""
    says = latch.definition(condition)
    if (both := re.match(r"^(?:select i1 (%\S+), i1 (%\S+), i1 false|and i1 (%\S+), (%\S+))$", says)) and goes_on:
        parts = [part for part in both.groups() if part]
        found = [_bound(part, True, name, following, latch, counts) for part in parts]
        return min((one for one in found if one is not None), default=None)
    compared = _COMPARED.match(says)
    if compared is None or compared[2] not in (name, following):
        return None
    kind, limit = compared[1], int(compared[3])
    start, step = counts
    if start > limit:
        return None
    if kind in ("eq", "ne"):
        first = start if compared[2] == name else start + step
        exact = first <= limit and (limit - first) % step == 0
        return limit if exact and goes_on == (kind == "ne") else None
    if (goes_on and kind in _BELOW) or (not goes_on and kind in _ABOVE):
        return limit
    return None


def _rewrite(name: str, following: str, blocks: list[Block]) -> None:
    """Make a counter, its successor and other sums of it narrow; what else uses them gets wide ones."""
    wide = {one: _wide(one) for one in (name, following, *_sums_of(name, blocks))}
    for one in blocks:
        lines: list[str] = []
        pending: list[str] = []
        for line in one.lines:
            if pending and " = phi " not in line:
                lines += pending
                pending = []
            made = defined(line)
            if made in wide:
                lines.append(re.sub(r"(phi|add(?: nuw| nsw)*|or disjoint) i64 ", r"\1 i32 ", line, count=1))
                pending.append(f"  {wide[made]} = zext nneg i32 {made} to i64")
                continue
            if used(line) & wide.keys():
                line = _narrow_compare(line, wide) or renamed(line, wide)
            lines.append(line)
        one.lines[:] = lines


def _wide(name: str) -> str:
    return f'%"{name[1:].strip(chr(34))}.wide"'


def _sums_of(name: str, blocks: list[Block]) -> Iterator[str]:
    """Yield the names of sums of a counter and a small number."""
    for block in blocks:
        for line in block.lines:
            sum = _SUM.match(line.partition(" = ")[2])
            if sum is not None and sum[3] == name and int(sum[4]) < _MAX:
                yield defined(line)


def _narrow_compare(line: str, wide: dict[str, str]) -> str:
    """Return a comparison of a counter with a small constant as it is now, or ""."""
    found = re.match(r"^(  \S+ = icmp )(?:samesign )?(\w+) i64 (%\S+), (\d+)(.*)$", line)
    if found and found[3] in wide and int(found[4]) < _MAX:
        return f"{found[1]}{found[2]} i32 {found[3]}, {found[4]}{found[5]}"
    return ""
