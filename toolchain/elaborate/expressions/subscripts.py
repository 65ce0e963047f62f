"""Subscripts: `base[...]`, parameters of types and functions, and items of values."""

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.elaborate.builder import place_operations, variables
from ktc.elaborate.calls import call_lowering, conversions
from ktc.elaborate.calls.writeback import item_of, runs_after_operands
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import collection_literals
from ktc.elaborate.generics import function_types, parameter_binding
from ktc.elaborate.generics.callable_traits import CALL
from ktc.elaborate.model.declarations import AliasInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    BoundAlias,
    ConstValue,
    FunctionValue,
    Opaque,
    ParameterPack,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Arg, DeferredOperand, Method, Place, Result, RValue, Val
from ktc.elaborate.primitives import spellings
from ktc.elaborate.resolve.hints import index_hint
from ktc.elaborate.tree.parameter_spans import parameter_node
from ktc.elaborate.types import primitive_types, struct_members, type_printer, well_known
from ktc.syntax import ast


def subscript(body: Body, node: ast.Subscript, expected: Ty | None = None) -> Result:
    """Elaborate `base[…]`: parameters or an index."""
    if (
        isinstance(node.base, ast.Attribute)
        and isinstance(node.base.value, ast.Name)
        and node.base.value.id == "__mlir_type"
    ):
        return prim_type(body, node, node.base.name)
    if isinstance(node.base, ast.Name) and node.base.id == "__mlir_type":
        return spellings.composed_type(body, node)
    if isinstance(node.base, ast.Name) and node.base.id == "Some" and variables.find(body, "Some") is None:
        return body.api.expr(body, node.args[0])
    base = body.api.expr(body, node.base)
    try:
        return _number_type(body, apply(body, base, node))
    except Mismatch as reason:
        written = parameter_node(node, reason)
        body.fail(reason.code, reason.message, reason.span or body.at(written or node), reason.help())


def _number_type(body: Body, made: Result) -> Result:
    """Return `Int` for `Scalar[DType.int]`, which it is in edition 2026; anything else as it is."""
    is_number = body.frame.module.edition is Edition.Y2026 and isinstance(made, StructTy)
    return well_known.of_scalar(body.elab, made) if is_number and isinstance(made, StructTy) else made


def prim_type(body: Body, node: ast.Subscript, name: str) -> Result:
    """Make a primitive type with parameters."""
    positional, _ = evaluation.param_list(body, node)
    if any(isinstance(p, (UnboundParameter, Opaque)) or getattr(p, "symbolic", False) for p in positional):
        raise Symbolic
    if name in ("!kgen.pack", "!kgen.refs") and not (len(positional) == 1 and isinstance(positional[0], ParameterPack)):
        positional = (ParameterPack(positional),)
    try:
        return primitive_types.prim(body.elab, name, positional)
    except ValueError as error:
        body.fail(Code.TYPE_MISMATCH, str(error), body.at(node))


def _check_keywords(body: Body, node: ast.Subscript, params: tuple[ast.Param, ...]) -> None:
    """Report a name for a parameter that is passed by position only, and a value without a name after a named one.

    Only values that can be inferred may stand before those without a name.
    """
    if not node.keywords or body.frame.module.is_library:
        return
    kinds = {param.name: param.kind for param in params}
    for keyword in node.keywords:
        if kinds.get(keyword.name) in ("pos", "star"):
            text = f"parameter '{keyword.name}' is passed by position only"
            body.fail(Code.UNKNOWN_ARGUMENT, text, body.at(keyword), "leave its name out")
    values = [arg for arg in node.args if not isinstance(arg, ast.Star)]
    named = [keyword for keyword in node.keywords if kinds.get(keyword.name, "infer") != "infer"]
    if values and any(keyword.start < values[-1].start for keyword in named):
        body.fail(Code.SYNTAX_ERROR, "a positional parameter follows a keyword parameter", body.at(values[-1]))


def apply(body: Body, base: Result, node: ast.Subscript) -> Result:
    """Give parameters to a type or function, or index a value."""
    match base:
        case PartialTy(info, params):
            _check_keywords(body, node, info.node.params)
            positional, named = evaluation.param_list(body, node)
            if info.names_2026 and body.frame.module.edition is Edition.Y2026:
                named = tuple([(info.names_2026.get(name, name), value) for name, value in named])
            if node.args and isinstance(node.args[-1], ast.Star) and positional and positional[-1] is None:
                slots = zip(info.node.params, params, strict=True)  # '*_' leaves all open that stand behind it
                count = sum(p.kind in ("pos", "any", "star") and value is None for p, value in slots)
                positional = (*positional[:-1], *[None] * (count + 1 - len(positional)))
            if any(p is not None for p in params):
                return evaluation.bind_parameters(body.elab, base, positional, named)
            return parameter_binding.apply_struct(body.elab, info, positional, named)
        case StructTy():
            positional, named = evaluation.param_list(body, node)
            if not positional and not named:
                return base
            raise Mismatch(
                Code.WRONG_PARAMETER_COUNT, f"'{type_printer.type_name(body.elab, base)}' takes no more parameters"
            )
        case FunctionValue():
            if len(base.overloads.functions) == 1:
                _check_keywords(body, node, base.overloads.functions[0].node.params)
            return parameter_binding.bind_parameters(body.elab, base, *evaluation.param_list(body, node))
        case Method(value, fn):
            if len(fn.overloads.functions) == 1:
                _check_keywords(body, node, fn.overloads.functions[0].node.params)
            return Method(value, function_types.with_parameters(body.elab, fn, *evaluation.param_list(body, node)))
        case BoundAlias(alias, owner):
            return parameter_binding.apply_alias(body.elab, alias, *evaluation.param_list(body, node), owner)
        case AliasInfo():
            return parameter_binding.apply_alias(
                body.elab, base, *evaluation.param_list(body, node), _alias_owner(body, base)
            )
        case ParameterPack(items):
            given = evaluation.index_of(body.elab, evaluation.param_arg(body, node.args[0]))
            index = given + (len(items) if given < 0 else 0)
            if not 0 <= index < len(items):
                has = {0: "there are none", 1: "there is one"}.get(len(items), f"there are {len(items)}")
                text = f"there is no item {given}: {has}, counted from 0"
                body.fail(Code.UNSATISFIED_CONSTRAINT, text, body.at(node))
            return items[index]
        case UnboundParameter() | Opaque():
            raise Symbolic
        case RValue() | Place() | ConstValue():
            call = struct_members.method_set(body.elab, base.ty, CALL)
            if call is None or struct_members.method_set(body.elab, base.ty, "__getitem__") is not None:
                return indexed_value(body, base, node)
            assert isinstance(base.ty, StructTy)  # `f[4](x)` of a closure whose function has parameters
            fn = FunctionValue(call, (), (), base.ty)
            return Method(base, function_types.with_parameters(body.elab, fn, *evaluation.param_list(body, node)))
        case _:
            body.fail(
                Code.NOT_CALLABLE, "this cannot be subscripted: it takes no parameters and no index", body.at(node)
            )


def _alias_owner(body: Body, alias: AliasInfo) -> StructTy | None:
    for scope in body.frame.scope.chain():
        if isinstance(scope.struct, StructTy) and scope.struct.info.members.get(alias.name) is alias:
            return scope.struct
    return None


def indexed_value(body: Body, base: Val, node: ast.Subscript) -> Result:
    """Elaborate an index of a value."""
    if (
        body.frame.module.edition is Edition.Y2026
        and (scalar := well_known.as_scalar(body.elab, base.ty)) is not base.ty
    ):
        base = conversions.convert(body, base, scalar, body.at(node))
    if isinstance(base.ty, StructTy) and isinstance(
        of := struct_members.member(body.elab, base.ty, "__getitem__"), AliasInfo
    ):
        return parameter_binding.apply_alias(body.elab, of, *evaluation.param_list(body, node), base.ty)  # a type
    getter = struct_members.method_set(body.elab, base.ty, "__getitem__")
    span = body.at(node)
    if getter is None and isinstance(base, ConstValue):
        base = conversions.materialize(body, base)
        getter = struct_members.method_set(body.elab, base.ty, "__getitem__")
    if getter is None:
        place_operations.require_bound(body, base, "__getitem__", node)
        body.fail(
            Code.NO_MEMBER,
            f"'{type_printer.type_name(body.elab, base.ty)}' has no '__getitem__', so it cannot be indexed",
            span,
            index_hint(type_printer.type_name(body.elab, base.ty), span.source.text[node.base.start : node.base.end]),
        )
    static = all(
        fn.node.params and sum(arg.convention != "out" for arg in fn.node.args) == 1 for fn in getter.functions
    )
    assert isinstance(base.ty, StructTy)
    fn = FunctionValue(getter, (), (), base.ty)
    if static:
        fn = function_types.with_parameters(body.elab, fn, *evaluation.param_list(body, node))
        outer = body.frame.set_span(span)  # what the signature finds wrong with the parameter is wrong here
        made = call_lowering.call_fn(body, fn, [Arg(base, span)], [], span, True)
        body.frame.set_span(outer)
        return made
    args = [Arg(base, span), *(collection_literals.index_or_literal(body, base, item) for item in node.args)]
    if body.site.deferred_operand is not None and runs_after_operands(body, base, node):
        return DeferredOperand(fn, args, node)
    kw = [collection_literals.keyword(body, k, base) for k in node.keywords]
    outer = body.frame.set_span(body.frame.span if body.frame.module.is_library else span)
    made = call_lowering.call_fn(body, fn, args, kw, span, True)
    body.frame.set_span(outer)
    if body.target.checks and not body.frame.module.is_library and isinstance(made, Place):
        made.at = span
    return made if kw or body.frame.module.is_library else item_of(body, made, base, args[1:], node)
