"""Loads that both sides of a condition do are done once, before it.

    before:  br i1 %c, label %one, label %two          before:  %at = getelementptr i8, ptr %p, i64 1024
    one:     %at = getelementptr i8, ptr %p, i64 1024           %x = load float, ptr %at
             %x = load float, ptr %at             ->            br i1 %c, label %one, label %two
    two:     %y = load float, ptr %q                   one:
                                                       two:     (%y is %x)

where %q is the same address in other words: LLVM compares instructions as they are written. The threads of a warp
would run one side after the other; now all of them run the common part at once.
"""

from ktc.emit.llvm_text.functions import Block
from ktc.emit.llvm_text.instructions import Instruction

_NOT_PURE = frozenset({"load", "call", "atomicrmw", "cmpxchg", "invoke", "va_arg", "alloca", "phi"})

Steps = tuple[tuple[str, str], ...]
Address = tuple[str, Steps]
"""Where it starts, and the steps from there: type and index of each."""
Lines = dict[str, Instruction]
"""Instructions by the name that they define."""


def joined(blocks: list[Block]) -> bool:
    """Join the loads of all conditions of a function; say whether there are any."""
    by_name = {block.name: block for block in blocks}
    entries: dict[str, int] = {}
    for block in blocks:
        for name in block.successors:
            entries[name] = entries.get(name, 0) + 1
    lines: Lines = {one.name: one for block in blocks for one in block.instructions if one.name}
    changed = False
    for block in blocks:
        branch = block.branch
        if branch is None or branch[1] == branch[2] or any(entries[name] != 1 for name in branch[1:]):
            continue
        changed = _join(block, by_name[branch[1]], by_name[branch[2]], lines, blocks) or changed
    return changed


def _join(before: Block, one: Block, two: Block, lines: Lines, blocks: list[Block]) -> bool:
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
        one.instructions[:] = [line for line in one.instructions if line not in moved]
        two.instructions[:] = [line for line in two.instructions if line.name != name]
        before.instructions[-1:] = [*moved, before.instructions[-1]]
        for block in blocks:
            block.instructions[:] = [
                line.with_names({name: ours[key]}) if name in line.uses else line for line in block.instructions
            ]
        lines.update({line.name: line for block in blocks for line in block.instructions if line.name})
        changed = True
    return changed


def _first_loads(block: Block, lines: Lines) -> dict[tuple[str, Address, str], str]:
    """Return the loads before anything is written, by type, address and alignment."""
    found: dict[tuple[str, Address, str], str] = {}
    for one in block.instructions[:-1]:
        if _is_load(one):
            kind, _, align = one.parts
            (place,) = one.operands
            found.setdefault((f"{kind}, {place.type}", _address(place.value, lines), align), one.name)
        elif not one.name or one.op in _NOT_PURE:
            break
    return found


def _is_load(one: Instruction) -> bool:
    """Return whether an instruction loads through a named pointer, and nothing more is known of it."""
    if not one.is_plain("load") or one.is_atomic or len(one.parts) != 3:
        return False
    return one.values[0][0] in "%@" and one.parts[2].startswith("align ")


def _is_step(one: Instruction | None) -> bool:
    """Return whether an instruction adds one index to a named pointer."""
    if one is None or not one.is_plain("getelementptr", "inbounds nuw nusw") or len(one.parts) != 3:
        return False
    return one.values[0][0] in "%@" and one.operands[1].type[0] == "i"


def _address(name: str, lines: Lines) -> Address:
    steps: list[tuple[str, str]] = []
    while (step := lines.get(name)) is not None and _is_step(step):
        steps.insert(0, (step.source_type, step.parts[2]))
        name = step.values[0]
    return name, tuple(steps)


def _inside(name: str, block: Block, lines: Lines) -> list[str] | None:
    """Return the steps of a load's address that a block does, in their order; None if it needs more of the block."""
    own = {one.name for one in block.instructions} - {""}
    needed: list[str] = []
    work = sorted(own.intersection(lines[name].uses))
    while work:
        step = work.pop()
        if not _is_step(lines[step]):
            return None
        needed.insert(0, step)
        work += sorted(own.intersection(lines[step].uses))
    return needed
