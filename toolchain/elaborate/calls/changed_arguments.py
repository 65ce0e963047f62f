"""Arguments for `mut`: each must be a place of exactly the declared type, and changeable.

Input: the chosen function and one of its arguments. Output: a `Mismatch` where something else would be changed than
what the caller gave.
"""

from ktc.diag.codes import Code
from ktc.elaborate.generics.parameter_assignment import origin_name
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import ConstValue, FunctionTy, OriginValue, ParameterValue, StructTy
from ktc.elaborate.model.values import Arg, CollectionLiteral, Place, Result, RValue
from ktc.elaborate.resolve.suggestions import mutability_help
from ktc.elaborate.types import type_printer, type_relations
from ktc.syntax import ast

_DECLARE_TYPE = "declare the variable with that type"


def check_changed(body: Body, instance: Instance, sig: ArgumentSignature, slot: Arg) -> None:
    """Check one argument that the function changes.

    Raises:
        Mismatch: it has no place, may not be changed, or has another type, so that a copy would be changed.
    """
    what = f"argument '{sig.name}' of {instance.fn.title} is changed"
    value = slot.value
    if not body.frame.module.is_library:
        if _is_temporary(value):
            text = f"{what}, but the argument is a temporary value"
            raise Mismatch(Code.CANNOT_MUTATE, text, slot.span, 2, hint="put it into a variable first")
        if isinstance(value, (RValue, Place)) and not _same_place_type(body, value, sig):
            have, expected = type_printer.type_name(body.elab, value.ty), type_printer.type_name(body.elab, sig.ty)
            text = f"{what}, so it must be a '{expected}' itself; this is a '{have}'"
            raise Mismatch(Code.TYPE_MISMATCH, text, slot.span, 2, hint=_DECLARE_TYPE)
    if isinstance(value, (RValue, Place)) and value.read_only:
        text = f"{what}, and what is passed cannot be"
        if value.read_only_reason:
            text += f": it is {value.read_only_reason}"
        raise Mismatch(Code.CANNOT_MUTATE, text, slot.span, 2, hint=mutability_help(value.read_only_reason))


def _is_temporary(value: Result) -> bool:
    if isinstance(value, (Place, RValue)) and value.computed_from is not None:
        return False
    if isinstance(value, Place):
        if isinstance(value.ty, StructTy) and value.ty.info.register_trivial and value.local is None:
            return False  # '^' has no effect on a value of a trivial type: it is still the variable
        return value.owned
    return isinstance(value, (ConstValue, CollectionLiteral)) or (
        isinstance(value, RValue) and not (value.read_only or isinstance(value.ty, FunctionTy))
    )


def _same_place_type(body: Body, value: RValue | Place, sig: ArgumentSignature) -> bool:
    """Return whether a place can be changed as one of the expected type: unconverted, with the same right to write."""
    have, expected = value.ty, sig.ty
    if have is expected or not isinstance(have, StructTy) or not isinstance(expected, StructTy):
        return True
    if have.info is not expected.info:
        return False
    return type_relations.fits(body.elab, have, expected) and all(map(_same_mutability, have.params, expected.params))


def _same_mutability(a: ParameterValue | None, b: ParameterValue | None) -> bool:
    if not isinstance(a, ConstValue) or not isinstance(b, ConstValue):
        return True
    if isinstance(a.data, OriginValue) and isinstance(b.data, OriginValue):
        return a.data.mutable == b.data.mutable
    return bool(a.data == b.data)


def check_reference_argument(body: Body, instance: Instance, sig: ArgumentSignature, slot: Arg) -> None:
    """Check one argument that the function takes by `ref`: a variable of another type is not converted for it.

    Raises:
        Mismatch: the function would refer to the converted value, and not to the caller's, or it would change what may
            only be read.
    """
    value = slot.value
    if body.frame.module.is_library or not isinstance(value, (RValue, Place)):
        return
    if value.read_only and _has_mutable_origin(body, instance, sig):
        text = (
            f"argument '{sig.name}' of {instance.fn.title} has a mutable origin, and what is passed cannot be changed"
        )
        raise Mismatch(Code.CANNOT_MUTATE, text, slot.span, 2, hint=mutability_help(value.read_only_reason))
    if instance.fn.module.is_library or not isinstance(value, Place):
        return
    if value.local is not None and value.local.name and _is_external(body, instance, sig):
        text = f"argument '{sig.name}' of {instance.fn.title} refers to memory from elsewhere, and this is a variable"
        raise Mismatch(Code.TYPE_MISMATCH, text, slot.span, 2)
    have, expected = value.ty, sig.ty
    if (
        value.owned
        or not isinstance(have, StructTy)
        or not isinstance(expected, StructTy)
        or have.info is expected.info
    ):
        return
    given, expected_name = type_printer.type_name(body.elab, have), type_printer.type_name(body.elab, expected)
    text = f"argument '{sig.name}' of {instance.fn.title} refers to a '{expected_name}', and this is a '{given}'"
    raise Mismatch(Code.TYPE_MISMATCH, text, slot.span, 2, hint=_DECLARE_TYPE)


def _is_external(body: Body, instance: Instance, sig: ArgumentSignature) -> bool:
    """Return whether a `ref` argument is declared to be in memory that no variable of the program is in."""
    if len(sig.node.origin) == 0 or not isinstance(sig.node.origin[0], ast.Attribute):
        return False
    origin = body.api.evaluate(body.elab, sig.node.origin[0], instance.scope, instance.fn.module)
    data = origin.data if isinstance(origin, ConstValue) else None
    return isinstance(data, OriginValue) and data.kind == "external"


def makes_mutable(body: Body, instance: Instance, value: Result) -> bool:
    """Return whether a conversion would let a value be changed that is read only."""
    if not isinstance(value, (RValue, Place)) or not value.read_only or body.frame.module.is_library:
        return False
    return any(sig.convention == "ref" and _has_mutable_origin(body, instance, sig) for sig in instance.signature.args)


def is_lent_to_change(have: StructTy, expected: StructTy) -> bool:
    """Return whether a type points where it may write, and another of the same struct only reads."""
    pairs = zip(have.params, expected.params, strict=True)
    data = [(a.data, b.data) for a, b in pairs if isinstance(a, ConstValue) and isinstance(b, ConstValue)]
    origins = [(a, b) for a, b in data if isinstance(a, OriginValue) and isinstance(b, OriginValue)]
    return any(b.mutable and not a.mutable for a, b in origins)


def _has_mutable_origin(body: Body, instance: Instance, sig: ArgumentSignature) -> bool:
    """Return whether a `ref` argument has an origin that was declared mutable, whatever is passed."""
    name = origin_name(sig.node)
    if not name or any(arg.name == name for arg in instance.fn.node.args):
        return False
    origin = body.api.evaluate(body.elab, sig.node.origin[0], instance.scope, instance.fn.module)
    if not isinstance(origin, ConstValue) or not isinstance(origin.data, OriginValue):
        return False
    mut = origin.ty.params[0] if isinstance(origin.ty, StructTy) and origin.ty.params else None
    is_named = origin.data.kind in ("any", "external", "some") and origin.data.mutable
    return is_named or (not origin.data.mutable and isinstance(mut, ConstValue) and mut.data == 1)
