"""Whether a value points into what the type that is expected names.

Input: a pointer, and the origin that a declared type names or that the old value of a variable had. Output: an error,
if both are surely different variables. Inside a generic function an origin names nothing, and what only may differ is
let through.
"""

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals
from ktc.elaborate.model.declarations import OverloadSet, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, OriginValue, StructTy
from ktc.elaborate.model.values import Place, RValue
from ktc.elaborate.types import struct_types, type_printer
from ktc.ir import nodes


def check_named(body: Body, value: object, expected: Ty, span: Span) -> None:
    """Report a pointer into another variable than the one that the origin in the expected type names."""
    if body.frame.module.is_library or not isinstance(value, (RValue, Place)):
        return
    _check_anywhere(body, value.ty, expected, span)
    expected_name = _origin(expected, value.ty)
    if expected_name is None or expected_name.local is None:
        return
    given = _only_loan(body, value)
    if given is not None and _are_disjoint(body, given, expected_name.local):
        _fail(body, given, expected_name.local, span)


_EXACT = ("LayoutTensor", "Pointer", "Span", "StringSlice")
"""Types of the library that point where their type says, or are converted explicitly."""


def disagrees(body: Body, have: Ty, expected: Ty) -> bool:
    """Return whether `check_named` would report a value for its type alone; another overload may take it."""
    if have is expected or body.frame.module.is_library:
        return False
    pairs = _origin_pairs(have, expected)
    return _any_anywhere(pairs, expected) or any(_are_named_apart(*pair) for pair in pairs)


def _check_anywhere(body: Body, have: Ty, expected: Ty, span: Span) -> None:
    """Report what points into something known where the expected type points anywhere."""
    origins = _origin_pairs(have, expected)
    if _any_anywhere(origins, expected):
        shown, other = type_printer.type_name(body.elab, have), type_printer.type_name(body.elab, expected)
        text = f"'{shown}' does not convert to '{other}', which points anywhere"
        body.fail(Code.TYPE_MISMATCH, text, span, "give the type an origin parameter, or convert the value explicitly")
    for given, wanted in origins:
        if _are_named_apart(given, wanted):
            text = f"this points into '{given.name}', but the expected type points into '{wanted.name}'"
            body.fail(Code.TYPE_MISMATCH, text, span, f"give both the origin '{wanted.name}'")


def _origin_pairs(have: Ty, expected: Ty) -> list[tuple[OriginValue, OriginValue]]:
    """Return the origins of two types of one struct, each with its counterpart."""
    if not isinstance(expected, StructTy) or not isinstance(have, StructTy) or expected.info is not have.info:
        return []
    pairs = zip(have.params, expected.params, strict=True)
    data = [(a.data, b.data) for a, b in pairs if isinstance(a, ConstValue) and isinstance(b, ConstValue)]
    return [(a, b) for a, b in data if isinstance(a, OriginValue) and isinstance(b, OriginValue)]


def _any_anywhere(pairs: list[tuple[OriginValue, OriginValue]], expected: Ty) -> bool:
    """Return whether a known origin is given where one points anywhere, and the type is not converted implicitly."""
    if not any(a.kind in ("local", "some") and b.kind == "any" for a, b in pairs):
        return False
    return isinstance(expected, StructTy) and _is_exact(expected.info)


def _are_named_apart(given: OriginValue, wanted: OriginValue) -> bool:
    """Return whether two origins are two parameters of a generic function."""
    return bool(given.name and wanted.name and given.name != wanted.name)


def _is_exact(info: StructInfo) -> bool:
    """Return whether a struct has no constructor that converts one of its own with another origin."""
    if info.module.is_library:
        return info.name in _EXACT
    inits = info.members.get("__init__")
    return not isinstance(inits, OverloadSet) or not any(fn.implicit for fn in inits.functions)


def check_kept(body: Body, place: Place, value: object, span: Span) -> None:
    """Report a pointer into another variable that is put into a variable, or into a field of one, whose type was found
    by its first value."""
    if body.frame.module.is_library or place.local is None or not isinstance(value, (RValue, Place)):
        return
    local = place.local
    expected = _origin(place.ty, value.ty)
    if expected is None or expected.kind != "some" or local.points_to_all or len(local.points_to) != 1:
        return
    given = _only_loan(body, value)
    if given is not None and _are_disjoint(body, given, local.points_to[0]):
        _fail(body, given, local.points_to[0], span)


def _origin(expected: Ty, have: Ty) -> OriginValue | None:
    """Return the only origin among the parameters of a type, where a value of the same struct is given."""
    if not isinstance(expected, StructTy) or not isinstance(have, StructTy) or expected.info is not have.info:
        return None
    found = [one.data for one in expected.params if isinstance(one, ConstValue) and isinstance(one.data, OriginValue)]
    return found[0] if len(found) == 1 else None


def _only_loan(body: Body, value: RValue | Place) -> nodes.Local | None:
    """Return the only local into which a value points."""
    origins = struct_types.origins_of(body.elab, value.ty)
    if any(one.kind == "any" for one in origins):
        return None
    named = {one.local for one in origins if one.local is not None}
    loans = named or set(locals.loans_of(body, value) or ())
    return next(iter(loans)) if len(loans) == 1 else None


def _are_disjoint(body: Body, one: nodes.Local, other: nodes.Local) -> bool:
    """Return whether two locals are variables of the program that hold no pointers."""
    return one is not other and all(
        local.name
        and local in body.facts.local_types
        and not struct_types.origins_of(body.elab, body.facts.local_types[local])
        for local in (one, other)
    )


def _fail(body: Body, given: nodes.Local, expected: nodes.Local, span: Span) -> None:
    text = f"this points into '{given.name}', but the expected type points into '{expected.name}'"
    help_text = "give the variable a type with 'MutAnyOrigin' or 'ImmutAnyOrigin' as its origin"
    body.fail(Code.TYPE_MISMATCH, text, span, help_text)
