"""Counters of loops with constant bounds become 32 bits wide.

    %i = phi i64 [ 0, %entry ], [ %next, %loop ]         %i = phi i32 [ 0, %entry ], [ %next, %loop ]
    ...                                            ->    %i.wide = zext nneg i32 %i to i64
    %next = add nuw nsw i64 %i, 1                        %next = add nuw nsw i32 %i, 1
    %done = icmp eq i64 %next, 256                       %done = icmp eq i32 %next, 256

LLVM joins the extensions with what uses the wide number.
"""

from collections.abc import Iterator

from ktc.emit.llvm_text.functions import Block
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.scanning import suffixed

_MAX = 1 << 30
_BELOW = {"ult": 0, "slt": 0, "ule": 1, "sle": 1}
_ABOVE = {"ugt": 1, "sgt": 1, "uge": 0, "sge": 0}


def narrowed(blocks: list[Block]) -> bool:
    """Narrow the counters of a function's loops; say whether there are any."""
    by_name = {block.name: block for block in blocks}
    changed = False
    for block in blocks:
        for one in [one for one in block.instructions if one.op == "phi"]:
            if not one.flags and one.type == "i64" and len(one.incoming) == 2:
                changed = _counter(one.name, one.incoming, block, by_name, blocks) or changed
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
    step = next((found for one in blocks if (found := one.definition(following)) is not None), None)
    if home is None or step is None or not (branch := home.branch) or block.name not in branch[1:]:
        return False
    by = _added(step, name)
    if not 0 < by < _MAX:
        return False
    bound = _bound(branch[0], branch[1] == block.name, name, following, home, (int(starts[0]), by))
    if bound is None or bound + 2 * by >= _MAX:
        return False
    _rewrite(name, following, blocks)
    return True


def _added(one: Instruction, name: str) -> int:
    """Return the constant that an instruction adds to a number of 64 bits; 0 for others."""
    is_sum = one.is_plain("add", "nuw nsw") or (one.is_plain("or", "disjoint") and one.flags != "")
    if not is_sum or one.type != "i64" or one.values[0] != name or not one.values[1].isdigit():
        return 0
    return int(one.values[1])


def _bound(
    condition: str, goes_on: bool, name: str, following: str, latch: Block, counts: tuple[int, int]
) -> int | None:
    """Return the upper bound of a counter while the loop goes on, which it does if `condition` is `goes_on`."""
    says = latch.definition(condition)
    if says is None:
        return None
    if goes_on and (both := _both(says)):
        found = [_bound(part, True, name, following, latch, counts) for part in both]
        return min((one for one in found if one is not None), default=None)
    if not _is_compared(says) or says.values[0] not in (name, following):
        return None
    kind, limit = says.predicate, int(says.values[1])
    start, step = counts
    if start > limit:
        return None
    if kind in ("eq", "ne"):
        first = start if says.values[0] == name else start + step
        exact = first <= limit and (limit - first) % step == 0
        return limit if exact and goes_on == (kind == "ne") else None
    if (goes_on and kind in _BELOW) or (not goes_on and kind in _ABOVE):
        return limit
    return None


def _both(one: Instruction) -> tuple[str, ...]:
    """Return the two conditions that an instruction joins, or nothing."""
    is_chosen = one.is_plain("select") and one.type == "i1" and one.values[2] == "false"
    if not is_chosen and not (one.is_plain("and") and one.type == "i1"):
        return ()
    return one.values[:2] if all(value[0] == "%" for value in one.values[:2]) else ()


def _is_compared(one: Instruction) -> bool:
    """Return whether an instruction compares a number of 64 bits with a constant."""
    if not one.is_plain("icmp", "samesign") or one.operands[0].type != "i64":
        return False
    return one.values[0][0] == "%" and one.values[1].isdigit()


def _rewrite(name: str, following: str, blocks: list[Block]) -> None:
    """Make a counter, its successor and other sums of it narrow; what else uses them gets wide ones."""
    wide = {one: suffixed(one, ".wide") for one in (name, following, *_sums_of(name, blocks))}
    for block in blocks:
        made: list[Instruction] = []
        pending: list[Instruction] = []
        for one in block.instructions:
            if pending and one.op != "phi":
                made += pending
                pending = []
            if one.name in wide:
                body = one.body.removeprefix("i64")
                made.append(Instruction(f"  {one.name} = {one.op} {one.flags}i32{body}{one.attachments}"))
                pending.append(Instruction(f"  {wide[one.name]} = zext nneg i32 {one.name} to i64"))
                continue
            if not wide.keys().isdisjoint(one.uses):
                one = _narrow_compare(one, wide) or one.with_names(wide)
            made.append(one)
        block.instructions[:] = made


def _sums_of(name: str, blocks: list[Block]) -> Iterator[str]:
    """Yield the names of sums of a counter and a small number."""
    for block in blocks:
        for one in block.instructions:
            if one.op in ("add", "or") and name in one.uses and 0 < _added(one, name) < _MAX:
                yield one.name


def _narrow_compare(one: Instruction, wide: dict[str, str]) -> Instruction | None:
    """Return a comparison of a counter with a small constant as it is now; None for anything else."""
    if one.op != "icmp" or one.flags not in ("", "samesign ") or one.operands[0].type != "i64":
        return None
    counter, limit = one.values
    if counter not in wide or not limit.isdigit() or int(limit) >= _MAX:
        return None
    return Instruction(f"  {one.name} = icmp {one.predicate} i32 {counter}, {limit}{one.attachments}")
