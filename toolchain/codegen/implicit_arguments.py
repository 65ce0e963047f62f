"""Which functions need the thread's ids, or the block's shared memory, as further parameters.

Input: a unit of a target that has no registers for them (`Target.system_values` is not empty). Output:
`ImplicitArguments`.
"""

from collections.abc import Iterator

from ktc.codegen.context import SHARED_SPACE, ImplicitArguments
from ktc.codegen.local_pointers import flat
from ktc.ir.nodes import Call, CallIntrinsic, Function, GlobalAddress, Let, Op, Statement, Unit
from ktc.ir.types import align_of, size_of
from ktc.targets.target import Target

_SHARED = -1
"""Stands among the slots for the pointer to shared memory."""

SHARED_ALIGN = 64


def trailing(unit: Unit, target: Target) -> ImplicitArguments:
    """Return the implicit arguments of each function, those of its callees included."""
    if not target.system_values:
        return ImplicitArguments()
    offsets, size = _shared_layout(unit) if target.entry in ("blocks", "threads") else ({}, 0)
    is_sized = any(at == size for at in offsets.values())
    needs = {name: _direct(function, target, offsets) for name, function in unit.functions.items()}
    callers: dict[str, list[str]] = {}
    for name, function in unit.functions.items():
        for statement in flat(function.body):
            if isinstance(statement, Let) and isinstance(statement.value, Call):
                callers.setdefault(statement.value.function, []).append(name)
    work = [name for name, found in needs.items() if found]
    while work:
        name = work.pop()
        for caller in callers.get(name, ()):
            if not needs[name] <= needs[caller]:
                needs[caller] |= needs[name]
                work.append(caller)
    return ImplicitArguments(
        {name: tuple(sorted(found - {_SHARED})) for name, found in needs.items()},
        frozenset(name for name, found in needs.items() if _SHARED in found),
        offsets,
        size,
        is_sized,
    )


def _shared_layout(unit: Unit) -> tuple[dict[str, int], int]:
    """Return the place of each shared global, and the size of all; those that a launch sizes have none and are last."""
    offsets: dict[str, int] = {}
    at = 0
    shared = [held for held in unit.globals.values() if held.space == SHARED_SPACE]
    for held in sorted(shared, key=lambda held: size_of(held.type) == 0):
        align = held.align or align_of(held.type)
        # Vectors of an array are not to lie on two lines of the cache.
        if not 0 < size_of(held.type) < SHARED_ALIGN:
            align = max(align, SHARED_ALIGN)
        at = (at + align - 1) // align * align
        offsets[held.name] = at
        at += size_of(held.type)
    return offsets, at


def _direct(function: Function, target: Target, shared: dict[str, int]) -> set[int]:
    found: set[int] = set()
    for statement in flat(function.body):
        action = statement.value if isinstance(statement, Let) else None
        if isinstance(action, CallIntrinsic) and action.name in target.system_values:
            found.add(target.system_values[action.name])
        if shared and _SHARED not in found and any(name in shared for name in _globals(statement)):
            found.add(_SHARED)
    return found


def _globals(statement: Statement) -> Iterator[str]:
    """Give the globals that a statement names outside constants."""
    holder: object = statement.value if isinstance(statement, Let) else statement
    parts: list[object] = [holder] if isinstance(holder, Op) else _operands(holder)
    while parts:
        part = parts.pop()
        if isinstance(part, GlobalAddress):
            yield part.name
        elif isinstance(part, Op):
            parts.extend(part.args)


def _operands(holder: object) -> list[object]:
    names = ("pointer", "value", "target", "origin", "size", "byte", "condition", "expected", "desired")
    return [*(getattr(holder, name, None) for name in names), *getattr(holder, "args", ())]
