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

from collections.abc import Mapping

from ktc.emit.llvm_text.functions import Block
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import suffixed

_TIMES = 4
_LONGEST = 40
"""Instructions of a body; longer ones hide the wait by themselves."""
_MANY = 128
"""Instructions of a loop whose number of turns is not known, when it does more than four at a time."""
_MANY_COUNTED = 240
"""Instructions of a loop with a constant number of turns, when it is unrolled."""
_STEP = 1 << 40
_REPEATED = frozenset({
    "getelementptr", "icmp", "fcmp", "select", "trunc", "zext", "sext", "sitofp", "uitofp", "fptosi", "fptoui",
    "fptrunc", "fpext", "add", "sub", "mul", "fadd", "fsub", "fmul", "fdiv", "fneg", "shl", "lshr", "ashr", "and", "or",
    "xor", "bitcast", "freeze", "extractelement", "insertelement", "shufflevector", "phi",
})  # fmt: skip
"""Operations that may be repeated: none that threads wait in, and none that writes."""
_REPEATED_CALLS = tuple(f"llvm.{name}" for name in (
    "fma", "fmuladd", "maxnum", "minnum", "maximum", "minimum", "exp2", "sqrt", "fabs", "abs", "smax", "smin", "umax",
    "umin", "nvvm.ex2.", "nvvm.rcp.", "nvvm.rsqrt.", "nvvm.sqrt.", "nvvm.fma.", "nvvm.saturate.", "nvvm.mul.",
    "nvvm.add.",
))  # fmt: skip


def unrolled(blocks: list[Block]) -> bool:
    """Unroll the loops of a function that are one block; say whether there are any."""
    changed = False
    for block in list(blocks):
        if _is_worth_it(block):
            changed = _repeat(block) or _unroll(block, blocks) or changed
    return changed


def _phis(block: Block) -> list[Instruction]:
    return [one for one in block.instructions if one.op == "phi"]


def _from(phi: Instruction, block: str) -> str:
    """Return the value of a phi that comes from a block."""
    return next(value for value, origin in phi.incoming if origin == block)


def _before(phi: Instruction, block: str) -> str:
    """Return the value of a phi that comes from another block."""
    return next(value for value, origin in phi.incoming if origin != block)


def _repeat(block: Block) -> bool:
    """Put two or four turns into a loop whose number of turns is a multiple of that."""
    branch = block.branch
    if branch is None or branch[2] != block.name:
        return False
    turns = _turns_of(block, branch[0])
    phis = _phis(block)
    body = len(block.instructions) - len(phis)
    times = next(
        (times for times in (4, 2) if turns > times and turns % times == 0 and times * body <= _MANY_COUNTED), 0
    )
    if not times:
        return False
    turn = {phi.name: _from(phi, block.name) for phi in phis}
    own = {one.name for one in block.instructions} - {""}
    # A value used after the loop keeps its name, which the last iteration has.
    lines, now = _turns(block, turn, times, _indices(block, branch[0]))
    last = {name: made for made, name in now.items() if made in own and made not in turn}
    names = {_again(one, 0): one for one in turn} | last
    block.instructions[:] = [*phis, *(one.with_names(names) for one in lines), block.instructions[-1]]
    return True


def _defined(block: Block, name: str, op: str, flags: str = "") -> Instruction | None:
    """Return the instruction of a block that defines a name, if it is such an operation without attachments."""
    one = block.definition(name)
    return one if one is not None and one.is_plain(op, flags) else None


def _ended(block: Block, condition: str) -> tuple[str, Instruction, int] | None:
    """Return the counter, its successor and the end of a loop that ends when that is a constant."""
    ended = _defined(block, condition, "icmp")
    if ended is None or ended.predicate != "eq" or not ended.values[1].isdigit():
        return None
    sum = _defined(block, ended.values[0], "add", "nuw nsw")
    if sum is None or sum.type not in ("i32", "i64") or not sum.values[1].isdigit():
        return None
    return sum.values[0], sum, int(ended.values[1])


def _turns_of(block: Block, condition: str) -> int:
    """Return how many turns a loop has that ends when its counter is a constant; 0 if that is not known."""
    ended = _ended(block, condition)
    if ended is None:
        return 0
    counter, sum, end = ended
    step = int(sum.values[1])
    for phi in _phis(block) if step else ():
        first = next((value for value, origin in phi.incoming if origin != block.name), "")
        if phi.name == counter and (sum.name, block.name) in phi.incoming and first.isdigit():
            whole, rest = divmod(end - int(first), step)
            return whole if rest == 0 else 0
    return 0


def _is_worth_it(block: Block) -> bool:
    body = [one for one in block.instructions[:-1] if not one.is_note]
    if not all(_is_repeated(one) if one.name else _is_plain_store(one) for one in body):
        return False
    return any(one.op == "load" for one in body)


def _is_plain_store(one: Instruction) -> bool:
    return one.op == "store" and not one.is_volatile and not one.is_atomic


def _is_repeated(one: Instruction) -> bool:
    """Return whether an instruction may be done more than once."""
    if one.op == "load":
        return not one.is_volatile and not one.is_atomic
    if one.op == "call":
        called = one.call.callee
        return one.tail != "musttail" and (called.startswith('asm "') or one.callee.startswith(_REPEATED_CALLS))
    return one.op in _REPEATED


def _unroll(block: Block, blocks: list[Block]) -> bool:
    branch = block.branch
    if branch is None or branch[1] != block.name or branch[1] == branch[2]:
        return False
    if len(block.instructions) > _LONGEST or block.instructions[-1].attached("llvm.loop"):
        return False
    if any(one.op == "store" for one in block.instructions):
        return False  # the loads of one turn cannot go before the stores of another
    condition, _, leaves = branch
    entries = [one for one in blocks if one is not block and block.name in one.successors]
    after = next(one for one in blocks if one.name == leaves)
    own = {one.name for one in block.instructions} - {""}
    counted = _counts(block, condition, own, blocks)
    if len(entries) != 1 or counted is None or not _uses_fit(block, after, own, blocks):
        return False
    counter, end, step = counted
    phis = _phis(block)
    first = {phi.name: _before(phi, block.name) for phi in phis}
    turn = {phi.name: _from(phi, block.name) for phi in phis}
    head, main, tail = (suffixed(block.name, f".{part}") for part in ("head", "main", "tail"))
    left, go, rest, many, again = (suffixed(block.name, f".{part}") for part in ("left", "go", "rest", "many", "again"))
    times = _times(block, step)
    others = str((times - 1) * int(step)) if step.isdigit() else suffixed(block.name, ".others")
    entry = entries[0]
    entry.instructions[-1] = entry.instructions[-1].with_names({block.name: head})
    start = _block(head, [
        *([] if step.isdigit() else [f"  {others} = mul i64 {step}, {times - 1}"]),
        f"  {left} = sub i64 {end}, {first[counter]}",
        f"  {go} = icmp ugt i64 {left}, {others}",
        f"  br i1 {go}, label {main}, label {block.name}",
    ])  # fmt: skip
    lines, now = _turns(block, turn, times)
    heads = [
        f"  {_again(phi.name, 0)} = phi {phi.flags}{phi.type} "
        f"[ {first[phi.name]}, {head} ], [ {now[turn[phi.name]]}, {main} ]"
        for phi in phis
    ]
    more = now[condition]
    if not step.isdigit():
        lines = _opaque(lines, {_again(turn[counter], number) for number in range(times)})
    made = _block(main, heads)
    made.instructions += lines
    made.instructions += map(Instruction, [
        f"  {rest} = sub i64 {end}, {now[turn[counter]]}",
        f"  {many} = icmp ugt i64 {rest}, {others}",
        f"  {again} = and i1 {more}, {many}",
        f"  br i1 {again}, label {main}, label {tail}",
    ])  # fmt: skip
    last = _block(tail, [f"  br i1 {more}, label {block.name}, label {leaves}"])
    _join(block, after, {entry.name: head, block.name: tail}, now)
    at = blocks.index(block)
    blocks[at:at] = [start, made, last]
    return True


def _block(name: str, lines: list[str]) -> Block:
    return Block(name, f"{name[1:]}:", [Instruction(line) for line in lines])


def _times(block: Block, step: str) -> int:
    """Return how many turns to do at a time: more where a turn is short and its addresses are constants apart."""
    works = sum(one.name != "" and one.op != "phi" for one in block.instructions)
    return 2 * _TIMES if step.isdigit() and 2 * _TIMES * works <= _MANY else _TIMES


def _counts(block: Block, condition: str, own: set[str], blocks: list[Block]) -> tuple[str, str, str] | None:
    """Return the counter, its end and its step, if the loop goes on while the next number is below the end."""
    compared = _defined(block, condition, "icmp")
    if compared is None or compared.predicate not in ("slt", "sgt") or compared.operands[0].type != "i64":
        return None
    following, end = compared.values if compared.predicate == "slt" else compared.values[::-1]
    sum = _defined(block, following, "add", "nuw nsw")
    if sum is None or sum.type != "i64" or end in own:
        return None
    counter, step = sum.values
    if not any(phi.name == counter and (following, block.name) in phi.incoming for phi in _phis(block)):
        return None
    if step.isdigit():
        return (counter, end, step) if 1 < int(step) < _STEP else None
    says = next((found for one in blocks if (found := one.definition(step)) is not None), None)
    is_small = says is not None and says.op == "mul" and says.flags == "nuw nsw " and says.type == "i64"
    return (counter, end, step) if step not in own and is_small else None


def _uses_fit(block: Block, after: Block, own: set[str], blocks: list[Block]) -> bool:
    """Return whether what the loop computes is used by itself and by the phis after it alone."""
    for one in blocks:
        if one is block:
            continue
        for line in one.instructions:
            if not own.isdisjoint(line.uses) and not (one is after and line.op == "phi"):
                return False
    return True


def _again(name: str, turn: int) -> str:
    return suffixed(name, f".u{turn}")


def _indices(block: Block, condition: str) -> dict[str, int]:
    """Return the wide forms of the counter that are only indices, with the counter's step.

    In later turns they are the first one's plus a constant, and loads of neighbours become one.
    """
    ended = _ended(block, condition)
    found = {}
    for one in block.instructions if ended is not None else ():
        if ended is not None and one.is_plain("zext", "nneg") and one.flags and one.values[0] == ended[0]:
            uses = [user for user in block.instructions if one.name in user.uses]
            if one.type == "i64" and all(user.op == "getelementptr" for user in uses):
                found[one.name] = int(ended[1].values[1])
    return found


def _turns(
    block: Block, turn: Mapping[str, str], times: int, indices: Mapping[str, int] | None = None
) -> tuple[list[Instruction], dict[str, str]]:
    """Return the instructions of several iterations, and the name of each value after the last."""
    lines: list[Instruction] = []
    names = {one: _again(one, 0) for one in turn}
    for number in range(times):
        if number:
            names = {one: names.get(turn[one], turn[one]) for one in turn}
        for one in block.instructions[:-1]:
            if one.op == "phi" or one.is_note:
                continue
            made = one.name
            if number and indices and made in indices:
                text = f"  {_again(made, number)} = add nuw nsw i64 {_again(made, 0)}, {number * indices[made]}"
                here = Instruction(text)
                names[made] = _again(made, number)
            elif made:
                here = one.with_names({**names, made: _again(made, number)})
                names[made] = _again(made, number)
            else:
                here = one.with_names(names)
            lines.append(here)
    return lines, {**{value: value for value in turn.values()}, **names}


def _opaque(lines: list[Instruction], counters: set[str]) -> list[Instruction]:
    """Hide from LLVM that counters grow by a step: it would keep an address in registers for each load of each turn."""
    made: list[Instruction] = []
    for one in lines:
        if one.name in counters:
            open_name = suffixed(one.name, ".open")
            text = f"  {open_name} = {one.text}{one.attachments}"
            made += [Instruction(text), Instruction(f"  {one.name} = freeze i64 {open_name}")]
        else:
            made.append(one)
    return made


def _join(block: Block, after: Block, origins: dict[str, str], now: dict[str, str]) -> None:
    """Name the new blocks in the phis of the loop and of the blocks after it."""
    tail = origins[block.name]
    for at, one in enumerate(block.instructions):
        if one.op == "phi":
            value = _from(one, block.name)
            pairs = [(value, origins[origin] if origin != block.name else origin) for value, origin in one.incoming]
            block.instructions[at] = one.with_incoming([*pairs, (now.get(value, value), tail)])
    for at, one in enumerate(after.instructions):
        if one.op == "phi" and any(origin == block.name for _, origin in one.incoming):
            value = _from(one, block.name)
            after.instructions[at] = one.with_incoming([*one.incoming, (now.get(value, value), tail)])
