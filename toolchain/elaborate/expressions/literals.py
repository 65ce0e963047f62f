"""Tuples, slices, f-strings, transfers and function types."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NoReturn

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, variables
from ktc.elaborate.calls import call_lowering, conversions
from ktc.elaborate.calls.writeback import fetched
from ktc.elaborate.closures import closure_values
from ktc.elaborate.expressions import members, operands
from ktc.elaborate.generics import function_types
from ktc.elaborate.generics.callable_traits import callable_trait
from ktc.elaborate.generics.conformance import not_in_tuple
from ktc.elaborate.generics.function_types import convention_of
from ktc.elaborate.model.declarations import OverloadSet, Scope, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    Opaque,
    ParameterArgument,
    ParameterPack,
    StructTy,
    TraitTy,
    UnboundParameter,
    is_symbolic,
)
from ktc.elaborate.model.values import Arg, Place, Result, RValue, Val, Var
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import struct_types, well_known
from ktc.syntax import ast

_POINTERS = frozenset(("thin", "capturing", "escaping", "async"))
"""Effects of a function type of edition 2026 whose values are functions, so that it is no trait."""
_NOT_IN_TYPE = ("thin", "abi")
"""Effects that say nothing that the type of a function pointer does not say."""

MAX_EXPONENT = 5000
"""Decimal exponents beyond this are out of the range of every float type, whatever the digits."""


def slice_of(body: Body, node: ast.Slice) -> Result:
    """Make the `Slice` of `lower:upper:step`."""
    args = slice_parts(body, node)
    return call_lowering.call(body, well_known.library_type(body.elab, "Slice"), args, [], body.at(node))


def stepped_or_not(body: Body, node: ast.Slice) -> Result:
    """Make the slice of `lower:upper:step` whose type says whether there is a step."""
    args = slice_parts(body, node)
    ty = well_known.library_type(body.elab, "StridedSlice" if node.step else "ContiguousSlice")
    return call_lowering.call(body, ty, args if node.step else args[:2], [], body.at(node))


def slice_parts(body: Body, node: ast.Slice) -> list[Arg]:
    """Elaborate the three parts of a slice, `None` for those that are left out."""
    nothing = ast.NoneLit(node.start, node.end)
    return [
        operands.arg(body, part) if part else Arg(body.api.expr(body, nothing), body.at(node))
        for part in (node.lower, node.upper, node.step)
    ]


def tuple_of(body: Body, node: ast.TupleLit, items: tuple[ast.Expr, ...], expected: Ty | None = None) -> Result:
    """Make a tuple; of types, the type of tuples."""
    item_types = _item_types(body, expected, len(items))
    values = [
        operands.operand(body, item, partial(body.api.expr, body))
        if item_type is None
        or not isinstance(item, (ast.ListLit, ast.SetLit, ast.DictLit, ast.TupleLit, ast.Comprehension))
        else body.api.expr(body, item, item_type)
        for item, item_type in zip(items, item_types, strict=True)
    ]
    values = [fetched(body, value) for value in values]
    if any(isinstance(v, (UnboundParameter, Opaque)) for v in values):
        raise Symbolic
    kinds = [v for v in values if isinstance(v, Ty)]
    if values and len(kinds) == len(values):
        return well_known.tuple_type(body.elab, tuple(kinds))
    made = [
        conversions.materialize(body, value if item_type is None else _coerced(body, value, item_type, body.at(item)))
        for value, item_type, item in zip(values, item_types, items, strict=True)
    ]
    return make_tuple(body, made, node)


def _coerced(body: Body, value: Result, expected: Ty, span: Span) -> Result:
    """Return an item of a tuple, converted to the type that is expected of it if possible."""
    if not isinstance(value, (RValue, Place, ConstValue)) or value.ty is expected:
        return value
    made = conversions.try_convert(body, value, expected, span)
    return value if made is None else made


def _item_types(body: Body, expected: Ty | None, count: int) -> Sequence[Ty | None]:
    """Return the types that are expected of the items of a tuple, for collection literals among them."""
    if isinstance(expected, StructTy) and expected.info is well_known.library_info(body.elab, "Tuple"):
        pack = expected.params[0]
        if isinstance(pack, ParameterPack) and len(pack.items) == count:
            return [kind if isinstance(kind, Ty) else None for kind in pack.items]
    return [None] * count


def make_tuple(body: Body, values: Sequence[Result], node: ast.TupleLit) -> Val:
    """Make a tuple of values."""
    kinds, items = [], node.items
    for value, item in zip(values, items, strict=True):
        if not isinstance(value, (RValue, Place, ConstValue)):
            body.fail(Code.TYPE_MISMATCH, "a value is expected here", body.at(item))
        kinds.append(value.ty)
        if not body.frame.module.is_library and (reason := not_in_tuple(body.elab, value.ty)) is not None:
            body.fail(reason.code, reason.message, body.at(item), reason.help())
    ty = well_known.tuple_type(body.elab, tuple(kinds))
    args = [Arg(v, body.at(i)) for v, i in zip(values, items, strict=True)]
    return call_lowering.call(body, ty, args, [], body.at(node))


def transfer(body: Body, node: ast.Node, value: ast.Expr) -> Result:
    """Elaborate `value^`."""
    found = body.api.expr(body, value)
    if isinstance(found, Place):
        if found.read_only_reason == "foreign":
            return found
        if not found.mutable and not _is_bitwise_movable(body, found.ty):
            body.fail(
                Code.CANNOT_MOVE, f"this cannot be moved: it is {found.read_only_reason or 'read only'}", body.at(node)
            )
        behind = found.local is None or (isinstance(value, ast.Name) and _is_reference(body, value.id))
        if behind and struct_types.is_trivial(
            body.elab, found.ty
        ):  # whose owner is passed by its address, and is no local
            owner = value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            behind = not isinstance(owner, ast.Name) or _is_reference(body, owner.id)
        if behind and not found.owned and not _is_bitwise_movable(body, found.ty):
            body.fail(Code.CANNOT_MOVE, "this cannot be moved out of a reference", body.at(node))
        if found.local is not None:
            found.local.is_shared = True
        if isinstance(found.ty, StructTy) and found.ty.info.register_trivial:  # it stays there
            return Place(
                found.ty,
                found.pointer,
                found.mutable,
                None,
                (),
                True,
                found.read_only_reason,
                locals.loans_of(body, found),
            )
        return Place(
            found.ty, found.pointer, found.mutable, found.local, found.path, True, found.read_only_reason, found.loans
        )
    if isinstance(found, RValue) and found.read_only and not _is_bitwise_movable(body, found.ty):
        reason = f": it is {found.read_only_reason}" if found.read_only_reason else ": it is read only"
        body.fail(Code.CANNOT_MOVE, f"this cannot be moved{reason}", body.at(node))
    plain = isinstance(value, (ast.Name, ast.IntLit, ast.FloatLit, ast.StrLit, ast.BoolLit))
    if plain and isinstance(found, ConstValue) and not body.frame.module.is_library:
        string_literal = "this is known at compile time and cannot be moved away"
        body.fail(Code.CANNOT_MOVE, string_literal, body.at(node), "leave the '^' out")
    return found


def _is_bitwise_movable(body: Body, ty: Ty) -> bool:
    """Whether moving a value of a type is copying its bits: a struct of the program must be declared so."""
    if isinstance(ty, StructTy) and not ty.info.module.is_library and not body.frame.module.is_library:
        return ty.info.register_trivial
    return struct_types.is_trivial(body.elab, ty)


def _is_reference(body: Body, name: str) -> bool:
    var = variables.find(body, name)
    is_item = isinstance(var, Var) and var.kind == "loop" and getattr(var.value, "local", None) is None
    return isinstance(var, Var) and (var.kind == "ref" or is_item)


def lambda_function(body: Body, node: ast.Lambda) -> Result:
    """Make a function without a name, or its closure."""
    assert isinstance(node.function, ast.FunctionDecl)
    fn = modules.function(body.elab, node.function, body.frame.module, None, Scope(body.frame.scope, "block"))
    fn.parent = body
    fn.closure_name = f"lambda {body.fresh()} of {body.frame.instance.symbol if body.frame.instance else ''}"
    made = closure_values.closure(body, fn, "")
    if not body.frame.module.is_library and not body.frame.comptime:
        body.elab.coverage.note_nested(fn)
    return FunctionValue(OverloadSet(fn.name, [fn])) if made is None else made


def function_type(body: Body, node: ast.FunctionType) -> FunctionTy | TraitTy:
    """Make a function type; one without `thin` is a trait in edition 2026, in the library one that is `unified`."""
    ty = _function_type(body, node)
    module, effects = body.frame.module, set(node.effects)
    is_trait = (
        "unified" in effects if module.is_library else module.edition is Edition.Y2026 and not _POINTERS & effects
    )
    return callable_trait(body.elab, ty, node, body.frame.scope, body.frame.module) if is_trait else ty


def _function_type(body: Body, node: ast.FunctionType) -> FunctionTy:
    raises = node.raises or node.is_def
    left_out = (*_NOT_IN_TYPE, "unified") if body.frame.module.is_library else _NOT_IN_TYPE
    effects = tuple(effect for effect in node.effects if effect not in left_out)
    args = [a for a in node.args if a.convention != "out"]
    if node.params or any(a.type is None or a.kind in ("star", "starstar") for a in args):
        return FunctionTy(tuple(("", None) for _ in args), None, raises, effects, syntax=node)
    kinds = tuple((convention_of(a), _open_part(body, a.type)) for a in args)
    written = node.result or next((a.type for a in node.args if a.convention == "out"), None)
    result = _open_part(body, written) if written is not None else well_known.library_type(body.elab, "NoneType")
    parts = [kind for _, kind in kinds] + [result]
    if None in parts and not any(map(is_symbolic, parts)):
        raise Symbolic
    ref = None
    if node.result_ref is not None:
        ref = True
    error = members.type_part(body, node.error) if node.error is not None else None
    error = None if error is well_known.error_type(body.elab) else error
    return function_types.function_type(body.elab, kinds, result, raises, effects, tuple(args), ref, error)


def _open_part(body: Body, node: ast.Expr | None) -> ParameterArgument:
    """Return a type in a function type, None for one that is known when other parameters are: `P.Item` of an open P."""
    try:
        return members.type_part(body, node)
    except Symbolic:
        return None


def integer(body: Body, node: ast.IntLit) -> ConstValue:
    """Return an integer as written."""
    return well_known.literal(body.elab, "IntLiteral", "!kgen.int_literal", node.value)


def float_literal(body: Body, node: ast.FloatLit) -> ConstValue:
    """Return a number with a fraction or an exponent, exactly as written."""
    return well_known.literal(body.elab, "FloatLiteral", "!kgen.float_literal", _exact_value(node.text))


def string_literal(body: Body, node: ast.StrLit) -> ConstValue:
    """Return a text."""
    return well_known.literal(body.elab, "StringLiteral", "!kgen.string", node.value)


def unsupported(body: Body, node: ast.Expr, expected: Ty | None = None) -> NoReturn:
    """Report an expression that has no meaning here."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    body.fail(Code.UNSUPPORTED, f"this construct ({words}) is not supported yet", body.at(node))


def _exact_value(string_literal: str) -> float | Fraction:
    """Return the number that a literal denotes; infinity or zero far outside of every range, not a huge fraction."""
    exponent = string_literal.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_EXPONENT + len(string_literal):
        return float(string_literal)
    return Fraction(string_literal)
