"""References that would outlive what they point into.

Input: a function's result, or a value stored behind one of its arguments. Output: an error, if it surely points into a
variable of the function itself, which ends with it. A value that only may point there is let through.
"""

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, variables
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Candidate
from ktc.elaborate.model.types import ConstValue, OriginValue, ParameterPack, StructTy
from ktc.elaborate.model.values import Arg, Place, Result, RValue, Var
from ktc.elaborate.ownership.access_paths import UNTRACKED
from ktc.elaborate.types import struct_types
from ktc.ir import nodes
from ktc.syntax import ast

_HELP = "return or keep the value itself, or let the caller give the place"


def check_returned(body: Body, value: Result, span: Span) -> None:
    """Report a result that holds a pointer into a variable of the function."""
    if (
        body.frame.module.is_library
        or not isinstance(value, (RValue, Place))
        or not struct_types.origins_of(body.elab, value.ty)
    ):
        return
    local = _pointed_local(body, value)
    if local is not None:
        _fail(body, "the result points", local, span)


def check_returned_place(body: Body, place: Place, node: ast.Expr, span: Span) -> None:
    """Report a `ref` result that is a variable of the function, or another place than its type names."""
    if body.frame.module.is_library:
        return
    if place.local is not None:
        if _is_dropped(body, place.local):
            _fail(body, "the result refers", place.local, span)
    elif place.loans and _all_are_dropped(body, place.loans):
        _fail(body, "the result refers", place.loans[0], span)
    assert body.frame.instance is not None
    path, named = _path(node), [_path(origin) for origin in body.frame.instance.fn.node.result_ref or ()]
    root, roots = path[:1], [one[:1] for one in named]
    arguments = [(arg.name,) for arg in body.frame.instance.fn.node.args]
    found = variables.find(body, root[0]) if root in arguments else None
    known = bool(named) and all(one in arguments for one in roots)
    if known and path not in named and isinstance(found, Var) and found.kind == "arg":
        names, this = " or ".join(f"'{'.'.join(one)}'" for one in named), ".".join(path)
        text = f"the result must refer to {names}, and this refers to '{this}'"
        help = f"write 'ref [{this}]'" if root in roots else f"name '{this}' in 'ref [...]' too"
        body.fail(Code.DANGLING_REFERENCE, text, span, help)


def check_stored(body: Body, place: Place, value: Result, span: Span) -> None:
    """Report a pointer into a variable of the function that is put where it outlives the function."""
    if (
        body.frame.module.is_library
        or not isinstance(value, (RValue, Place))
        or not struct_types.origins_of(body.elab, value.ty)
    ):
        return
    outside = (
        place.loans == () if place.local is None else place.local.at is not None and not _is_dropped(body, place.local)
    )
    if outside:
        local = _pointed_local(body, value)
        if local is not None:
            _fail(body, "this stays after the function and points", local, span)


def check_kept(body: Body, found: Candidate) -> None:
    """Report a pointer into a variable of the function that a method is given for a collection that outlives it."""
    args, slots = found.instance.signature.args, found.slots
    if len(args) < 2 or args[0].convention != "mut" or not isinstance(slots[0], Arg):
        return
    place = slots[0].value
    if (
        not isinstance(place, Place)
        or not isinstance(place.ty, StructTy)
        or not struct_types.origins_of(body.elab, place.ty)
    ):
        return
    own = {param.name for param in place.ty.info.node.params}
    for sig, slot in zip(args[1:], slots[1:], strict=True):
        if isinstance(slot, Arg) and isinstance(sig.node.type, ast.Name) and sig.node.type.id in own:
            check_stored(body, place, slot.value, slot.span)


def _fail(body: Body, what: str, local: nodes.Local, span: Span) -> None:
    name = f"'{local.name}', which ends with the function" if local.name else "a temporary value of the function"
    body.fail(Code.DANGLING_REFERENCE, f"{what} {'to' if what.endswith('refers') else 'into'} {name}", span, _HELP)


def _pointed_local(body: Body, value: RValue | Place) -> nodes.Local | None:
    """Return the local of the function into which a value surely points."""
    origins = _origins(value.ty)
    for origin in origins:
        if origin.local is not None and _is_dropped(body, origin.local):
            return origin.local
    if any(origin.kind == "some" for origin in origins):
        loans = locals.loans_of(body, value)
        if loans and _all_are_dropped(body, loans):
            return loans[0]
    return None


def _all_are_dropped(body: Body, loans: tuple[nodes.Local, ...]) -> bool:
    """Return whether a pointer into one of these locals dangles after the function for each of them."""
    return all(_is_dropped(body, one) and not _holds_outer_pointers(body, one) for one in loans)


def _holds_outer_pointers(body: Body, local: nodes.Local) -> bool:
    """Return whether a local holds pointers into memory outside of the function, of which a pointer may be a copy."""
    ty = body.facts.local_types.get(local)
    return ty is not None and not local.points_to and any(one.kind == "some" for one in _origins(ty))


def _is_dropped(body: Body, local: nodes.Local) -> bool:
    """Return whether a local is destroyed at the end of the function, and is not the caller's value."""
    out = (
        body.flow.out_var.value.local
        if body.flow.out_var is not None and isinstance(body.flow.out_var.value, Place)
        else None
    )
    return not local.is_caller_owned and local is not out


def _origins(ty: object, seen: set[StructTy] | None = None) -> list[OriginValue]:
    """Return the origins of a type, without those of pointers that are not tracked; a type may hold itself."""
    seen = set() if seen is None else seen
    if isinstance(ty, ParameterPack):
        return [origin for item in ty.items for origin in _origins(item, seen)]
    if isinstance(ty, ConstValue) and isinstance(ty.data, OriginValue):
        return [ty.data]
    if not isinstance(ty, StructTy) or UNTRACKED in ty.info.members or ty in seen:
        return []
    seen.add(ty)
    inside = (*ty.params, *(kind for _, kind in ty.fields or ()))
    return [origin for item in inside for origin in _origins(item, seen)]


def _path(node: ast.Expr | None) -> tuple[str, ...]:
    """Return the names that lead to a place; none if it is not only names."""
    found: tuple[str, ...] = ()
    while isinstance(node, ast.Attribute):
        found = (node.name, *found)
        node = node.value
    return (node.id, *found) if isinstance(node, ast.Name) else ()
