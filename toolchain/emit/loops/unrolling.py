"""Loops that load and compute do several turns at a time, with the loads of all before the first waits for its number.

A loop with a constant number of turns just gets several in a row. Else four or, where a turn is short and the step a
constant, eight, as long as there are so many:

    loop:  i = phi [first, before], [next, loop]      head:  if end - first > 3 * step: main else loop
           body(i)                                    main:  i = phi [first, head], [i4, main]
           next = i + step                       ->          body(i); body(i + step); ... ; i4 = i + 4 * step
           if next < end: loop else after                    if i4 < end and end - i4 > 3 * step: main else tail
                                                      tail:  if i4 < end: loop else after
                                                      loop:  as before, for what is left

`end - i` is exact as an unsigned number where i < end, and so are 3 or 7 steps: constants are small, and others below
2**62. Sums keep their order. Counters with a step that is not constant are frozen, so that LLVM does not see how they
grow: it would keep two registers for the address of each load of each turn.
"""

import re

from ktc.emit.loops.blocks import NAME, Block, defined, renamed, used

_TIMES = 4
_LONGEST = 40
"""Instructions of a body; longer ones hide the wait by themselves."""
_MANY = 128
"""Instructions of a loop whose number of turns is not known, when it does more than four at a time."""
_MANY_COUNTED = 240
"""Instructions of a loop with a constant number of turns, when it is unrolled."""
_STEP = 1 << 40
_MORE = re.compile(r"^icmp (slt|sgt) i64 (%\S+), (%\S+|\d+)$")
_SUM = re.compile(r"^add(?: nuw| nsw)* i64 (%\S+), (%\S+|\d+)$")
_ENDED = re.compile(r"^icmp eq i(?:32|64) (%\S+), (\d+)$")
_COUNTED = re.compile(r"^add(?: nuw| nsw)* i(?:32|64) (%\S+), (\d+)$")
_WIDE = re.compile(rf"^  ({NAME}) = zext nneg i32 ({NAME}) to i64$")
_SMALL_PRODUCT = re.compile(r"^mul nuw nsw i64 ")
_STORE = re.compile(r"^  (?:store (?!volatile|atomic)|#dbg)")
_WORKS = re.compile(
    r"^(?:load (?!volatile|atomic)|getelementptr|phi|icmp|fcmp|select|fdiv|trunc|[sz]ext|[su]itofp|fpto[su]i|fptrunc|"
    r"fpext|f?(?:add|sub|mul|neg|cmp)\b|[us]?(?:add|sub|mul|shl)\b|and\b|or\b|xor\b|[al]shr\b|bitcast|freeze|"
    r"extractelement|insertelement|shufflevector|(?:tail |notail )?call [^@\"]*(?:asm \"|"
    r"@llvm\.(?:fma|fmuladd|maxnum|minnum|maximum|minimum|exp2|sqrt|fabs|abs|smax|smin|umax|umin|"
    r"nvvm\.(?:ex2|rcp|rsqrt|sqrt|fma|saturate|mul|add)\.)))"
)
"""What may be done more than once: nothing that threads wait in, and nothing that writes."""


def unrolled(blocks: list[Block]) -> bool:
    """Unroll the loops of a function that are one block; say whether there are any."""
    changed = False
    for block in list(blocks):
        if _is_worth_it(block):
            changed = _repeat(block) or _unroll(block, blocks) or changed
    return changed


def _repeat(block: Block) -> bool:
    """Put two or four turns into a loop whose number of turns is a multiple of that."""
    branch = block.branch()
    if branch is None or branch[2] != block.name:
        return False
    turns = _turns_of(block, branch[0])
    body = sum(" = phi " not in line for line in block.lines)
    times = next(
        (times for times in (4, 2) if turns > times and turns % times == 0 and times * body <= _MANY_COUNTED), 0
    )
    if not times:
        return False
    phis = list(block.phis())
    turn = {name: next(value for value, origin in pairs if origin == block.name) for name, _, pairs in phis}
    own = {defined(line) for line in block.lines} - {""}
    # What is used after the loop keeps its name: it is the last turn that has it.
    lines, now = _turns(block, phis, turn, times, _indices(block, branch[0]))
    last = {name: made for made, name in now.items() if made in own and made not in turn}
    heads = [line for line in block.lines if " = phi " in line]
    names = {_again(one, 0): one for one in turn} | last
    block.lines[:] = [*heads, *(renamed(line, names) for line in lines), block.lines[-1]]
    return True


def _turns_of(block: Block, condition: str) -> int:
    """Return how many turns a loop has that ends when its counter is a constant; 0 if that is not known."""
    ended = _ENDED.match(block.definition(condition))
    sum = _COUNTED.match(block.definition(ended[1])) if ended else None
    if ended is None or sum is None or int(sum[2]) == 0:
        return 0
    for name, _, pairs in block.phis():
        first = next((value for value, origin in pairs if origin != block.name), "")
        if name == sum[1] and (ended[1], block.name) in pairs and first.isdigit():
            whole, rest = divmod(int(ended[2]) - int(first), int(sum[2]))
            return whole if rest == 0 else 0
    return 0


def _is_worth_it(block: Block) -> bool:
    works = [line.split(" = ", 1)[1] for line in block.lines[:-1] if " = " in line]
    others = [line for line in block.lines[:-1] if " = " not in line and not _STORE.match(line)]
    if others:
        return False
    return any(work.startswith("load ") for work in works) and all(_WORKS.match(work) for work in works)


def _unroll(block: Block, blocks: list[Block]) -> bool:
    branch = block.branch()
    if branch is None or block.name not in branch[1:] or branch[1] == branch[2]:
        return False
    if len(block.lines) > _LONGEST or "!llvm.loop" in block.lines[-1]:
        return False
    if any(line.startswith("  store ") for line in block.lines):
        return False  # the loads of one turn cannot go before the stores of another
    condition, goes, leaves = branch
    if goes != block.name:
        return False
    entries = [one for one in blocks if one is not block and block.name in used(one.lines[-1])]
    after = next(one for one in blocks if one.name == leaves)
    phis = list(block.phis())
    own = {defined(line) for line in block.lines} - {""}
    counted = _counts(block, condition, own, blocks)
    if len(entries) != 1 or counted is None or not _uses_fit(block, after, own, blocks):
        return False
    counter, end, step = counted
    first = {name: next(value for value, origin in pairs if origin != block.name) for name, _, pairs in phis}
    turn = {name: next(value for value, origin in pairs if origin == block.name) for name, _, pairs in phis}
    word = block.name[1:].strip('"')
    head, main, tail = (f'%"{word}.{part}"' for part in ("head", "main", "tail"))
    times = _times(block, step)
    others = str((times - 1) * int(step)) if step.isdigit() else f'%"{word}.others"'
    made = [] if step.isdigit() else [f"  {others} = mul i64 {step}, {times - 1}"]
    entry = entries[0]
    entry.lines[-1] = renamed(entry.lines[-1], {block.name: head})
    start = Block(head, f"{head[1:]}:", [
        *made,
        f'  %"{word}.left" = sub i64 {end}, {first[counter]}',
        f'  %"{word}.go" = icmp ugt i64 %"{word}.left", {others}',
        f'  br i1 %"{word}.go", label {main}, label {block.name}',
    ])  # fmt: skip
    lines, now = _turns(block, phis, turn, times)
    heads = [
        f"  {name} = phi {kind} [ {first[one]}, {head} ], [ {now[turn[one]]}, {main} ]"
        for one, kind, _ in phis
        for name in [_again(one, 0)]
    ]
    more = now[condition]
    if not step.isdigit():
        lines = _opaque(lines, {_again(turn[counter], number) for number in range(times)})
    lines += [
        f'  %"{word}.rest" = sub i64 {end}, {now[turn[counter]]}',
        f'  %"{word}.many" = icmp ugt i64 %"{word}.rest", {others}',
        f'  %"{word}.again" = and i1 {more}, %"{word}.many"',
        f'  br i1 %"{word}.again", label {main}, label {tail}',
    ]
    last = Block(tail, f"{tail[1:]}:", [f"  br i1 {more}, label {block.name}, label {leaves}"])
    _join(block, after, phis, {entry.name: head, block.name: tail}, now)
    at = blocks.index(block)
    blocks[at:at] = [start, Block(main, f"{main[1:]}:", heads + lines), last]
    return True


def _times(block: Block, step: str) -> int:
    """Return how many turns to do at a time: more where a turn is short and its addresses are constants apart."""
    works = sum(" = " in line and " = phi " not in line for line in block.lines)
    return 2 * _TIMES if step.isdigit() and 2 * _TIMES * works <= _MANY else _TIMES


def _counts(block: Block, condition: str, own: set[str], blocks: list[Block]) -> tuple[str, str, str] | None:
    """Return the counter, its end and its step, if the loop goes on while the next number is below the end."""
    compared = _MORE.match(block.definition(condition))
    if compared is None:
        return None
    following, end = (compared[2], compared[3]) if compared[1] == "slt" else (compared[3], compared[2])
    sum = _SUM.match(block.definition(following))
    if sum is None or end in own:
        return None
    counter, step = sum[1], sum[2]
    if not any(name == counter and (following, block.name) in pairs for name, _, pairs in block.phis()):
        return None
    if step.isdigit():
        return (counter, end, step) if 1 < int(step) < _STEP else None
    says = next((found for one in blocks if (found := one.definition(step))), "")
    return (counter, end, step) if step not in own and _SMALL_PRODUCT.match(says) else None


def _uses_fit(block: Block, after: Block, own: set[str], blocks: list[Block]) -> bool:
    """Return whether what the loop computes is used by itself and by the phis after it alone."""
    for one in blocks:
        if one is block:
            continue
        for line in one.lines:
            if used(line) & own and not (one is after and " = phi " in line):
                return False
    return True


def _again(name: str, turn: int) -> str:
    return f'%"{name[1:].strip(chr(34))}.u{turn}"'


def _indices(block: Block, condition: str) -> dict[str, int]:
    """Return the wide forms of the counter that are only indices, with the counter's step.

    In later turns they are the first one's plus a constant, and loads of neighbours become one.
    """
    ended = _ENDED.match(block.definition(condition))
    sum = _COUNTED.match(block.definition(ended[1])) if ended else None
    found = {}
    for line in block.lines:
        wide = _WIDE.match(line)
        if sum is not None and wide is not None and wide[2] == sum[1]:
            uses = [one for one in block.lines if wide[1] in used(one)]
            if all(" = getelementptr " in one for one in uses):
                found[wide[1]] = int(sum[2])
    return found


def _turns(
    block: Block,
    phis: list[tuple[str, str, list[tuple[str, str]]]],
    turn: dict[str, str],
    times: int,
    indices: dict[str, int] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """Return the instructions of several turns, and what each name is called after the last."""
    lines: list[str] = []
    names = {one: _again(one, 0) for one, _, _ in phis}
    for number in range(times):
        if number:
            names = {one: names.get(turn[one], turn[one]) for one, _, _ in phis}
        for line in block.lines[:-1]:
            if " = phi " in line or line.startswith("  #dbg"):
                continue
            made = defined(line)
            if number and indices and made in indices:
                here = f"  {_again(made, number)} = add nuw nsw i64 {_again(made, 0)}, {number * indices[made]}"
                names[made] = _again(made, number)
            elif made:
                here = renamed(line, {**names, made: _again(made, number)})
                names[made] = _again(made, number)
            else:
                here = renamed(line, names)
            lines.append(here)
    return lines, {**{value: value for value in turn.values()}, **names}


def _opaque(lines: list[str], counters: set[str]) -> list[str]:
    """Hide from LLVM that counters grow by a step: it would keep an address in registers for each load of each turn."""
    made: list[str] = []
    for line in lines:
        name = defined(line)
        if name in counters:
            open_name = f'%"{name[1:].strip(chr(34))}.open"'
            made += [line.replace(name, open_name, 1), f"  {name} = freeze i64 {open_name}"]
        else:
            made.append(line)
    return made


def _join(
    block: Block, after: Block, phis: list[tuple[str, str, list[tuple[str, str]]]], origins: dict[str, str],
    now: dict[str, str],
) -> None:  # fmt: skip
    """Let the phis of the loop and of what follows it know the new blocks."""
    turn = {one: next(value for value, origin in pairs if origin == block.name) for one, _, pairs in phis}
    tail = origins[block.name]
    for at, line in enumerate(block.lines):
        if " = phi " not in line:
            continue
        name = defined(line)
        old = next(origin for origin in origins if origin != block.name)
        line = line.replace(f", {old} ]", f", {origins[old]} ]")
        block.lines[at] = f"{line}, [ {now.get(turn[name], turn[name])}, {tail} ]"
    for at, line in enumerate(after.lines):
        found = re.search(rf"\[ ([^\[\]]+?), {re.escape(block.name)} \]", line) if " = phi " in line else None
        if found:
            after.lines[at] = f"{line}, [ {now.get(found[1], found[1])}, {tail} ]"
