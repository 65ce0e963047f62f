"""Exclusive access: no argument of a call may reach a place that the call changes or moves through another one.

Input: the arguments of a call, converted. Output: an error where two of them are surely one place, and the call writes
through one or moves it away, or where one is what the closure that is called captures. A value of a
'@register_passable' type is passed as such, and is no place of a variable.
"""

from collections.abc import Iterator, Sequence

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, partial_moves, place_operations, variables
from ktc.elaborate.instances import work_queue
from ktc.elaborate.instances.reference_mutability import is_always_immutable
from ktc.elaborate.model.declarations import FunctionInfo, StructInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import AccessPath, Arg, PackValue, Place, Result, RValue, Values
from ktc.elaborate.ownership.access_paths import may_overlap, of_inside, of_place
from ktc.elaborate.ownership.embedded_references import check_embedded
from ktc.elaborate.types import struct_types
from ktc.ir import nodes, types
from ktc.syntax import ast

_TAKEN = ("var", "deinit", "owned")


def check_call(body: Body, instance: Instance, values: Values, slots: Sequence[Arg | list[Arg] | None]) -> None:
    """Report a call that changes, or moves away, an argument and reaches the same place through another one.

    An argument that is a variable must still be there when the others have been computed; one that the function takes
    as its own must be copied implicitly, or be moved.
    """
    for sig, value, slot in zip(instance.signature.args, values, slots, strict=True):
        if isinstance(slot, Arg) and sig.convention in _TAKEN and isinstance(value, Place) and not value.owned:
            place_operations.check_copy(body, value, slot.span)
    if body.facts.moved and len(values) > 1:
        for _, value, at in _arguments(body, instance, values, slots):
            if isinstance(value, Place) and not value.owned and value.local in body.facts.moved:
                _require(body, value, at or body.frame.span)
    if instance.fn.parameter and instance.fn.parent is body and values and not body.frame.comptime:
        _check_captured(body, instance, values, slots)
    check_embedded(body, instance, values, slots)
    if not instance.signature.changes and not any(map(_moved, values)):
        return
    title, seen = instance.fn.title, list[tuple[Place | RValue, ArgumentSignature]]()
    for sig, value, at in _arguments(body, instance, values, slots):
        if sig.convention in _TAKEN:
            if not _moved(value):
                continue
        elif sig.passing == "direct" and not _is_place(instance, sig, value):
            origins = struct_types.origins_of(body.elab, value.ty)
            if not origins or any(one.kind == "any" for one in origins):
                continue
            # a copy in registers: where it points matters, not where it came from
            loans, paths = locals.loans_of(body, value), of_inside(body, value)
            value = RValue(value.ty, nodes.Const(types.UNIT, 0), loans=loans, access_paths=paths)
        for other, before in seen:
            changes = _changed(body, instance, sig, value) or _changed(body, instance, before, other)
            if not (changes or _moved(value) or _moved(other)) or not _overlap(body, value, other):
                continue
            changed, same = (sig, before) if _changed(body, instance, sig, value) else (before, sig)
            if changes:
                may = "may change" if changed.convention == "ref" else "changes"
                text = f"{title} {may} the argument '{changed.name}', and '{same.name}' is the same value"
            else:
                text = f"{title} moves this value with '^', but another of its arguments is the same value"
            body.fail(Code.CONFLICTING_ACCESS, text, at or body.frame.span, "pass a copy")
        seen.append((value, sig))


def _is_place(instance: Instance, sig: ArgumentSignature, value: Place | RValue) -> bool:
    """Say whether an argument stands for the caller's variable although its few bits go through registers."""
    if instance.fn.module.is_library or not isinstance(value, Place) or value.owned or sig.convention != "read":
        return False
    declared = sig.node.type
    if isinstance(declared, ast.Name):
        owner = instance.fn.owner.node.params if isinstance(instance.fn.owner, StructInfo) else ()
        if any(param.name == declared.id for param in (*instance.fn.node.params, *owner)):
            return True  # of a type parameter
    return isinstance(value.ty, StructTy) and not value.ty.info.register_passable


def _check_captured(body: Body, instance: Instance, values: Values, slots: Sequence[Arg | list[Arg] | None]) -> None:
    """Report an argument in a variable, or pointing into one, that the closure called captures by reference."""
    given: list[tuple[ArgumentSignature, Span | None, tuple[AccessPath, ...]]] = []
    for sig, value, at in _arguments(body, instance, values, slots):
        is_direct = struct_types.abi(body.elab, value.ty) == "direct" if sig.variadic else sig.passing == "direct"
        is_place = sig.convention not in _TAKEN and not is_direct
        given.append((sig, at, (*(_argument_paths(value) if is_place else ()), *of_inside(body, value))))
    if not any(paths for _, _, paths in given):
        return
    work_queue.request(body.elab, instance)
    work_queue.drain_closures(body.elab)  # the closure's body decides what it captures
    captured = {root: name for name, place in _captured(instance.fn, set()) for root, _ in of_place(place)}
    for sig, at, paths in given:
        for root, _ in paths:
            if root in captured:
                text = f"{instance.fn.title} captures '{captured[root]}', and the argument '{sig.name}' is in it"
                body.fail(Code.CONFLICTING_ACCESS, text, at or body.frame.span, "pass a copy")


def _captured(closure: FunctionInfo, seen: set[FunctionInfo]) -> Iterator[tuple[str, Place]]:
    """Yield the variables that a closure, or one that it calls, may change."""
    seen.add(closure)
    for item in variables.captures_of(closure.parent, closure):
        if isinstance(item, FunctionInfo):
            if item not in seen:
                yield from _captured(item, seen)
        elif isinstance(item.value, Place) and item.value.mutable:
            yield item.name, item.value


def _arguments(
    body: Body, instance: Instance, values: Values, slots: Sequence[Arg | list[Arg] | None]
) -> Iterator[tuple[ArgumentSignature, Place | RValue, Span | None]]:
    for sig, value, slot in zip(instance.signature.args, values, slots, strict=True):
        given = slot if isinstance(slot, list) else [slot] if slot is not None else []
        for number, one in enumerate(value.items if isinstance(value, PackValue) else (value,)):
            if isinstance(one, (Place, RValue)) and not _is_copied(body, sig, one):
                yield sig, one, given[number].span if number < len(given) else None


def _is_copied(body: Body, sig: ArgumentSignature, value: Place | RValue) -> bool:
    """Say whether an argument is one of `*values` that are only read, and copies where the call changes another."""
    is_read = sig.variadic == "list" and sig.convention == "read"
    if not is_read or not isinstance(value.ty, StructTy) or not value.ty.info.register_passable:
        return False
    return not struct_types.origins_of(body.elab, value.ty)


def _require(body: Body, place: Place, span: Span | None) -> None:
    local = place.local
    if local is not None and local not in body.facts.trusted and partial_moves.tracked(body, local):
        body.emit(nodes.Mark("require", local, place.path, span))


def _changed(body: Body, instance: Instance, sig: ArgumentSignature, value: Result) -> bool:
    """Return whether the call may write to an argument. For a `ref` argument the caller decides."""
    if sig.convention == "ref" and isinstance(value, Place) and value.mutable:
        return not (sig.node.origin and is_always_immutable(body.elab, instance, sig))
    return sig.convention == "mut"


def _moved(value: Result) -> bool:
    """Return whether an argument is a variable, or a part of one, that the call moves away."""
    return isinstance(value, Place) and value.owned and value.local is not None and bool(value.local.name)


def _overlap(body: Body, a: Result, b: Result) -> bool:
    """Return whether two arguments certainly overlap."""
    places = [_argument_paths(x) for x in (a, b)]
    if may_overlap(*places):
        return True
    if isinstance(a, Place) and isinstance(b, Place) and a.local is not None and a.local is b.local:
        return False
    inside = [of_inside(body, x) for x in (a, b)]
    return may_overlap(inside[1], places[0]) or may_overlap(inside[0], places[1])


def _argument_paths(value: Result) -> tuple[AccessPath, ...]:
    """Return the paths to an argument that is not the callee's own."""
    return of_place(value) if isinstance(value, Place) and (not value.owned or _moved(value)) else ()
