"""Loads that both sides of a condition do are done once, before it.

    before:  br i1 %c, label %one, label %two          before:  %at = getelementptr i8, ptr %p, i64 1024
    one:     %at = getelementptr i8, ptr %p, i64 1024           %x = load float, ptr %at
             %x = load float, ptr %at             ->            br i1 %c, label %one, label %two
    two:     %y = load float, ptr %q                   one:
                                                       two:     (%y is %x)

where %q is the same address in other words: LLVM compares instructions as they are written. What threads of one warp
would do one side after the other, all of them do at once.
"""

import re

from ktc.emit.loops.blocks import NAME, Block, defined, renamed, used

_LOAD = re.compile(rf"^  ({NAME}) = load (?!volatile|atomic)(.+?), (ptr(?: addrspace\(\d+\))?) ([%@]\S+), (align \d+)$")
_STEP = re.compile(
    rf"^  {NAME} = getelementptr (?:inbounds |nuw |nusw )*(.+), (ptr(?: addrspace\(\d+\))?) ([%@]\S+), (i\d+ \S+)$"
)
_PURE = re.compile(rf"^  {NAME} = (?!load|call|tail call|notail call|atomicrmw|cmpxchg|invoke|va_arg|alloca|phi)")

Steps = tuple[tuple[str, str], ...]
Address = tuple[str, Steps]
"""Where it starts, and the steps from there: type and index of each."""


def joined(blocks: list[Block]) -> bool:
    """Join the loads of all conditions of a function; say whether there are any."""
    by_name = {block.name: block for block in blocks}
    entries: dict[str, int] = {}
    for block in blocks:
        for name in used(block.lines[-1]) & by_name.keys():
            entries[name] = entries.get(name, 0) + 1
    lines = {defined(line): line for block in blocks for line in block.lines if defined(line)}
    changed = False
    for block in blocks:
        branch = block.branch()
        if branch is None or branch[1] == branch[2] or any(entries[name] != 1 for name in branch[1:]):
            continue
        changed = _join(block, by_name[branch[1]], by_name[branch[2]], lines, blocks) or changed
    return changed


def _join(before: Block, one: Block, two: Block, lines: dict[str, str], blocks: list[Block]) -> bool:
    """Move what both sides load before the condition."""
    ours, theirs = _first_loads(one, lines), _first_loads(two, lines)
    changed = False
    for key, name in theirs.items():
        if key not in ours:
            continue
        kept, needed = lines[ours[key]], _inside(ours[key], one, lines)
        if needed is None:
            continue
        moved = [lines[step] for step in needed] + [kept]
        one.lines[:] = [line for line in one.lines if line not in moved]
        two.lines[:] = [line for line in two.lines if defined(line) != name]
        before.lines[-1:] = [*moved, before.lines[-1]]
        for block in blocks:
            block.lines[:] = [renamed(line, {name: ours[key]}) if name in used(line) else line for line in block.lines]
        lines.update({defined(line): line for block in blocks for line in block.lines if defined(line)})
        changed = True
    return changed


def _first_loads(block: Block, lines: dict[str, str]) -> dict[tuple[str, Address, str], str]:
    """Return the loads before anything is written, by type, address and alignment."""
    found: dict[tuple[str, Address, str], str] = {}
    for line in block.lines[:-1]:
        load = _LOAD.match(line)
        if load:
            found.setdefault((f"{load[2]}, {load[3]}", _address(load[4], lines), load[5]), load[1])
        elif not _PURE.match(line):
            break
    return found


def _address(name: str, lines: dict[str, str]) -> Address:
    steps: list[tuple[str, str]] = []
    while step := _STEP.match(lines.get(name, "")):
        steps.insert(0, (step[1], step[4]))
        name = step[3]
    return name, tuple(steps)


def _inside(name: str, block: Block, lines: dict[str, str]) -> list[str] | None:
    """Return the steps of a load's address that a block does, in their order; None if it needs more of the block."""
    own = {defined(line) for line in block.lines} - {""}
    needed: list[str] = []
    work = sorted(used(lines[name]) & own)
    while work:
        step = work.pop()
        if not _STEP.match(lines[step]):
            return None
        needed.insert(0, step)
        work += sorted(used(lines[step]) & own)
    return needed
