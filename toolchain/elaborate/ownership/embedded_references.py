"""Exclusive access through references that stand in values: two pointers into one variable, one of them mutable.

Input: the arguments of a call that a program makes, converted. Output: an error where what one argument points into may
be written through it, and another argument points into it, too, or is it. A pointer that may point anywhere, or whose
variable is not known, conflicts with nothing.
"""

from collections.abc import Sequence
from itertools import product

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import AccessPath, Arg, PackValue, Place, Result, RValue, Values
from ktc.elaborate.ownership.access_paths import may_overlap, of_inside, of_place
from ktc.elaborate.types import struct_types
from ktc.ir import nodes
from ktc.syntax import ast

_COMPARES = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__is__", "__isnot__", "__sub__",
    "assert_equal", "assert_not_equal")  # fmt: skip
"""Methods and functions of the library whose two operands may point into one variable."""
_TEXTS = ("String", "StringSlice")
"""Nothing is written through what points into a text."""
_IN_PLACE = ("std.nn.", "std.linalg.")
"""Packages whose functions may have their results where their inputs are."""
_ALIASES = "__unsafe_disable_nested_origin_exclusivity"
"""A decorator: pointers among the arguments may point into one variable."""


@record
class _Reach:
    """The variable that an argument reaches: its own, or the only one that it points into."""

    name: str
    paths: tuple[AccessPath, ...]
    may_write: bool


def check_embedded(body: Body, instance: Instance, values: Values, slots: Sequence[Arg | list[Arg] | None]) -> None:
    """Report two arguments that reach one variable, through a mutable pointer in one of them."""
    if body.frame.module.is_library:
        return
    seen, writers = list[_Reach](), list[_Reach]()
    for sig, value, slot in zip(instance.signature.args, values, slots, strict=True):
        for number, one in enumerate(_given(body, sig, value, slot)):
            reaches = _reaches(body, sig, one) if isinstance(one, (Place, RValue)) else ()
            together = isinstance(value, PackValue) and sig.variadic == "list" and not _points_anywhere(body, sig.ty)
            # two that only read do not conflict, and a display may have thousands of these
            others = seen if any([reach.may_write for reach in reaches]) else writers
            for other, found in product(others, reaches) if reaches else ():
                # items of one type that point into several variables may all point into each of them
                is_beside = together and other.name == sig.name
                if (
                    (found.may_write or other.may_write)
                    and (is_beside or may_overlap(found.paths, other.paths))
                    and not _may_alias(instance)
                ):
                    writer, reader = (found, other) if found.may_write else (other, found)
                    text = f"{instance.fn.title} may write through the argument '{writer.name}', and "
                    text += f"'{reader.name}' reaches the same memory"
                    if reader.name == writer.name:
                        text = f"{instance.fn.title} gets two values that reach the same memory, and may write to it"
                    help = "pass a copy, or a pointer whose origin is 'MutAnyOrigin'"
                    body.fail(Code.CONFLICTING_ACCESS, text, _span(slot, number) or body.frame.span, help)
            seen += reaches
            writers += [one for one in reaches if one.may_write]


def _points_anywhere(body: Body, ty: Ty | None) -> bool:
    return ty is None or any(one.kind == "any" for one in struct_types.origins_of(body.elab, ty))


def _span(slot: Arg | list[Arg] | None, number: int) -> Span | None:
    """Return where an argument, or the item of that number of `*values`, is written."""
    if isinstance(slot, list):
        return slot[number].span if number < len(slot) else None
    return slot.span if slot is not None else None


def _given(
    body: Body, sig: ArgumentSignature, value: Result | None, slot: Arg | list[Arg] | None
) -> Sequence[Result | None]:
    """Return the values of one argument, before they lose what they point into on their way into memory."""
    if isinstance(value, PackValue):
        written = slot if isinstance(slot, list) else []
        if len(written) != len(value.items):
            return value.items
        pairs = zip(written, value.items, strict=True)
        return [arg.value if _same_origins(body, arg.value, item) else item for arg, item in pairs]
    return (slot.value if isinstance(slot, Arg) and _leaves_origin_open(sig.node.type) else value,)


def _same_origins(body: Body, before: Result, after: Result) -> bool:
    """Say whether a conversion leaves what a value points into as it is."""
    if not isinstance(before, (Place, RValue)) or not isinstance(after, (Place, RValue)):
        return False
    return before.ty is after.ty and bool(struct_types.origins_of(body.elab, after.ty))


def _reaches(body: Body, sig: ArgumentSignature, value: Place | RValue) -> tuple[_Reach, ...]:
    """Return the places that an argument reaches; a closure may change some variables and only read others."""
    first = _reach(body, sig, value)
    local = value.local if isinstance(value, Place) else None
    read = body.facts.read_paths.get(local) if local is not None else None
    return tuple(one for one in (first, _Reach(sig.name, read, False) if read else None) if one is not None)


def _reach(body: Body, sig: ArgumentSignature, value: Place | RValue) -> _Reach | None:
    paths = _embedded(body, value)
    if paths:
        writable = any(one.mutable for one in struct_types.origins_of(body.elab, value.ty))
        is_text = isinstance(value.ty, StructTy) and value.ty.info.module.is_library and value.ty.info.name in _TEXTS
        return _Reach(sig.name, paths, writable and not is_text and not _is_read_only(sig.node.type))
    if isinstance(value, Place) and not value.owned and sig.passing != "direct":
        return _Reach(sig.name, of_place(value), False)
    return None


def _embedded(body: Body, value: Place | RValue) -> tuple[AccessPath, ...]:
    """Return the way to the only variable that a value points into; none if it may be another."""
    origins = struct_types.origins_of(body.elab, value.ty)
    if not origins or any(one.kind == "any" for one in origins):
        return ()
    paths = of_inside(body, value)
    is_closure = isinstance(value.ty, StructTy) and value.ty.info.closure is not None
    if len(paths) != 1 and not is_closure:
        return ()
    known = [
        root for root, _ in paths if isinstance(root, nodes.Argument) or (isinstance(root, nodes.Local) and root.name)
    ]
    return paths if len(known) == len(paths) else ()


def _is_read_only(node: ast.Expr | None) -> bool:
    """Say whether an argument's type is written with `mut=False`."""
    return isinstance(node, ast.Subscript) and any(
        word.name == "mut" and isinstance(word.value, ast.BoolLit) and not word.value.value for word in node.keywords
    )


def _leaves_origin_open(node: ast.Expr | None) -> bool:
    """Say whether an argument's type is written as a pointer without an origin: then its default stands in the type."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.base, ast.Name)
        and node.base.id == "UnsafePointer"
        and len(node.args) < 2
        and all(word.name in ("mut", "type") for word in node.keywords)
    )


def _may_alias(instance: Instance) -> bool:
    """Say whether a function of the library takes two pointers into one variable."""
    fn = instance.fn
    if not fn.module.is_library:
        return any(isinstance(one.value, ast.Name) and one.value.id == _ALIASES for one in fn.node.decorators)
    return fn.name in _COMPARES or fn.module.name.startswith(_IN_PLACE)
