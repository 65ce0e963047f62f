"""Evaluation at compile time: parameter values, aliases, constants."""

import contextlib
from typing import NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.builder import variables
from ktc.elaborate.calls import conversions, parameter_inference
from ktc.elaborate.comptime import running
from ktc.elaborate.generics import archetypes, function_types, parameter_binding
from ktc.elaborate.instances import function_instances
from ktc.elaborate.model.declarations import AliasInfo, ModuleInfo, Scope, StructInfo, TraitInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    OPAQUE,
    BoundAlias,
    ConstValue,
    FunctionTy,
    FunctionValue,
    Named,
    Opaque,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    TraitTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import CollectionLiteral, DeferredOperand, Method, PackValue, Place, Result, RValue, Var
from ktc.elaborate.types import lookup, primitive_types, string_constants, struct_members, struct_types, well_known
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import nodes, types
from ktc.syntax import ast


def index_of(elab: Elaboration, value: ParameterArgument) -> int:
    """Return an integer or a boolean known at compile time."""
    if value is None or (isinstance(value, (Ty, FunctionValue)) and not isinstance(value, StructTy)):
        elab.fail(Code.NON_CONSTANT_VALUE, "a number known at compile time is expected", None)
    try:
        return primitive_types.comptime_int(elab, value)
    except ValueError:
        pass
    body = Body(elab, elab.modules.main, elab.modules.main.scope, elab.instances.current)
    made = param(body, truth_value(body, value), None)
    return primitive_types.comptime_int(elab, made)


def truth_of(elab: Elaboration, value: ParameterArgument) -> bool:
    """Return the truth of a value known at compile time, as its `__bool__` has it."""
    if (
        isinstance(value, ConstValue)
        and isinstance(value.ty, StructTy)
        and value.ty is not well_known.library_type(elab, "Bool")
    ):
        body = Body(elab, elab.modules.main, elab.modules.main.scope, elab.instances.current)
        value = param(body, truth_value(body, value), None)
    return bool(index_of(elab, value))


def text_of(elab: Elaboration, value: ParameterArgument) -> str:
    """Return a string known at compile time."""
    if isinstance(value, ConstValue):
        if isinstance(value.ty, StructTy) and value.ty.params and value.data == ():
            first = value.ty.params[0]
            if isinstance(first, ConstValue) and isinstance(first.data, str):
                return first.data
        if isinstance(value.data, (str, tuple)) and value.data:
            return string_constants.string_of(elab, value.data)
    return str(value)


def bind_parameters(
    elab: Elaboration, base: PartialTy, positional: tuple[ParameterArgument, ...], named: Named
) -> ParameterArgument:
    """Give more parameters to a struct that has some."""
    if base.alias is not None:
        source, given = base.alias
        names = [p.name for p in source.alias.node.params if p.kind in ("pos", "any") and p.name not in dict(given)]
        if len(positional) <= len(names):
            more = (*given, *zip(names, positional, strict=False), *named)
            return parameter_binding.apply_alias(elab, source.alias, (), more, source.self_ty)
    params = base.info.node.params
    slots = [p.name for p, v in zip(params, base.params, strict=True) if v is None and p.kind in ("pos", "any")]
    if len(positional) > len(slots):
        raise Mismatch(Code.WRONG_PARAMETER_COUNT, f"'{base.info.name}' takes at most {len(slots)} more parameters")
    have = [(p.name, v) for p, v in zip(params, base.params, strict=True) if v is not None]
    return parameter_binding.apply_struct(elab, base.info, (), (*have, *zip(slots, positional, strict=False), *named))


def truth_value(body: Body, value: Result) -> RValue:
    """Return a constant's truth as a value."""
    return RValue(well_known.library_type(body.elab, "Bool"), body.api.condition(body, value, ast.Pass(0, 0)))


def evaluate(
    elab: Elaboration, node: ast.Expr, scope: Scope, module: ModuleInfo, expected: Ty | None = None
) -> ParameterArgument:
    """Compute a parameter value of an expression."""
    if type(node) is ast.Name:  # most types are, and need no body
        found = lookup.find(elab, node.id, scope, module)
        if type(found) is AliasInfo:
            found = alias_value(elab, found, None)
        if type(found) is StructTy or type(found) is ConstValue or type(found) is ParameterPack:
            return found
        if type(found) is TraitInfo:
            return struct_members.trait_type(elab, (found,))
        if type(found) is StructInfo and not found.node.params and not found.deprecated:
            return struct_types.struct_type(elab, found, ())
    body = Body(elab, module, scope, elab.instances.current)
    found = param(body, body.api.expr(body, node, expected), Span(module.source, node.start, node.end))
    return _noted(body, node, found)


def evaluate_open(elab: Elaboration, node: ast.Expr, scope: Scope, module: ModuleInfo) -> ParameterArgument:
    """Compute a parameter value that may be a parameter without a value."""
    body = Body(elab, module, scope, elab.instances.current)
    value = body.api.expr(body, node, None)
    if isinstance(value, (UnboundParameter, Opaque)):
        return value
    return parameter_binding.open_alias(elab, param(body, value, Span(module.source, node.start, node.end)))


def alias_value(elab: Elaboration, alias: AliasInfo, self_ty: StructTy | None) -> ParameterArgument:
    """Return the value of an alias without parameters (an `AliasInfo` itself if it has parameters)."""
    if alias.node.params:
        return alias if self_ty is None else BoundAlias(alias, self_ty)
    cache = self_ty.aliases if self_ty is not None else alias.values
    key = alias.name if self_ty is not None else elab.instances.state.target.name
    if self_ty is not None:
        key = f"{alias.uid}@{elab.instances.state.target.name}"
    if key in cache:
        return cache[key]
    busy = (alias.uid, self_ty)
    if busy in elab.comptime.busy_aliases:
        _circular(elab, alias, busy)
    scope = self_ty.scope if self_ty is not None and self_ty.scope is not None else alias.scope
    if alias.node.value is None:
        cache[key] = archetypes.bound_alias(elab, alias, self_ty, scope)
        return cache[key]
    if busy in elab.comptime.circular:
        raise ErrorReported
    elab.comptime.busy_aliases[busy] = alias
    try:
        cache[key] = typed_constant(elab, alias.node.type, alias.node.value, scope, alias.module)
    finally:
        del elab.comptime.busy_aliases[busy]
    return cache[key]


def _circular(elab: Elaboration, alias: AliasInfo, busy: tuple[int, StructTy | None]) -> NoReturn:
    """Report aliases that are defined by each other, once for the whole cycle."""
    keys = list(elab.comptime.busy_aliases)
    ring = keys[keys.index(busy) :]
    elab.comptime.circular.update(ring)
    notes = tuple(Label(elab.comptime.busy_aliases[one].span(), "by this one, which needs it") for one in ring[1:])
    elab.report(Code.NON_CONSTANT_VALUE, f"'{alias.name}' is defined in terms of itself", alias.span(), extra=notes)
    raise ErrorReported


def typed_constant(
    elab: Elaboration, type_node: ast.Expr | None, value: ast.Expr, scope: Scope, module: ModuleInfo
) -> ParameterArgument:
    """Compute `value`, converted to the type if one is written."""
    expected = evaluate(elab, type_node, scope, module) if type_node is not None else None
    expected = expected if isinstance(expected, Ty) and not isinstance(expected, TraitTy) else None
    body = Body(elab, module, scope, elab.instances.current)
    span = Span(module.source, value.start, value.end)
    if not module.is_library:
        elab.reporter.enter_constant(span, elab.instances.current)
    try:
        result = body.api.expr(body, value, expected)
        if isinstance(expected, FunctionTy) and isinstance(result, FunctionValue):
            result = function_instances.function_as(elab, result, expected) or conversions.convert(
                body, result, expected, span
            )
        elif expected is not None:
            result = conversions.convert(body, result, expected, span)
        elif isinstance(result, FunctionValue) and (result.params or result.named) and not module.is_library:
            parameter_binding.check_bound(elab, result, span)
        return param(body, result, span)
    finally:
        if not module.is_library:
            elab.reporter.end_constant()


def convert_constant(
    elab: Elaboration, value: ConstValue | FunctionValue, expected: Ty | PartialTy
) -> ConstValue | None:
    """Convert a constant, or a function, to another type by an implicit conversion, or return None; remembered.

    Args:
        expected: may be open in part, for a constant: the conversion tells the rest.
    """
    memo, key = elab.instances.state.memo, ("constant", value, expected)
    if key not in memo:
        body = Body(elab, elab.modules.main, elab.modules.main.scope, elab.instances.current)
        to = _complete(body, value, expected)
        found = _from_literal(elab, value, to) if to is not None else None
        if found is None and to is not None:
            made = conversions.try_convert(body, value, to, None)
            found = param(body, made, None) if made else None
        memo[key] = found if isinstance(found, ConstValue) else None
    return memo[key]  # type: ignore[no-any-return]


def _complete(body: Body, value: ConstValue | FunctionValue, expected: Ty | PartialTy) -> Ty | None:
    """Return a type with its open parameters inferred from the value to be converted; None if they cannot be."""
    if not isinstance(expected, PartialTy) and not (isinstance(expected, StructTy) and expected.symbolic):
        return expected
    if not isinstance(value, ConstValue) or not isinstance(value.ty, StructTy):
        return None
    return parameter_inference.converted_type(body, value.ty, expected, value)


def _noted(body: Body, node: ast.Expr, value: ParameterArgument) -> ParameterArgument:
    """Remember where a constant collection was written: a parameter may be of another type that such literals make."""
    if isinstance(node, (ast.ListLit, ast.SetLit, ast.DictLit)) and isinstance(value, ConstValue):
        with contextlib.suppress(TypeError):  # a value without a hash
            body.elab.instances.state.memo["literal", value] = node, body.frame.scope, body.frame.module
    return value


def _from_literal(elab: Elaboration, value: ConstValue | FunctionValue, expected: Ty) -> ParameterArgument:
    """Build a collection literal again for the type that is expected; None where the value is no such literal."""
    written = elab.instances.state.memo.get(("literal", value))
    if written is None:
        return None
    node, scope, module = written
    body = Body(elab, module, scope, elab.instances.current)
    if body.api.collection_cost(body, node, expected) is None:
        return None
    found = param(body, body.api.expr(body, node, expected), body.at(node))
    elab.instances.state.memo["from literal", found] = True  # overloads of the literal's own type are preferred
    return found


def param(body: Body, value: Result | Var, span: Span | None) -> ParameterArgument:
    """Turn the value of an expression into a parameter value; runs the interpreter where folding did not suffice."""
    if type(value) is ConstValue or type(value) is StructTy:
        return value
    if isinstance(value, (UnboundParameter, Opaque)):
        raise Symbolic
    if isinstance(value, Method):
        if value.base is None:
            return value.fn
        body.fail(Code.NON_CONSTANT_VALUE, "a bound method cannot be a parameter value", span)
    if isinstance(value, PackValue):
        return ParameterPack(tuple(param(body, item, span) for item in value.items))
    if isinstance(value, Var):
        value = value.value
    if isinstance(value, RValue) and isinstance(value.ir, nodes.Const):
        return _function_or(body.elab, ConstValue(value.ty, value.ir.value))
    if isinstance(value, Place) and isinstance(value.ty, FunctionTy) and not body.frame.comptime:
        body.fail(Code.NON_CONSTANT_VALUE, "this function is known only at run time", span)
    if isinstance(value, (RValue, Place)):
        if not body.frame.comptime:
            body.fail(Code.NON_CONSTANT_VALUE, "this value is known only at run time, and a parameter is needed", span)
        if types.size_of(struct_types.ir_type(body.elab, value.ty)) == 0:
            return ConstValue(value.ty, zero_of(struct_types.ir_type(body.elab, value.ty)))
        where = span or body.frame.span or body.elab.main_span()
        return _function_or(body.elab, running.run(body.elab, body, value, where))
    assert not isinstance(value, (CollectionLiteral, DeferredOperand))  # which only arguments and operands are
    return value


def _function_or(elab: Elaboration, value: ConstValue) -> ConstValue | FunctionValue:
    """Return the function that a constant holds, if it holds one."""
    if not isinstance(value.ty, FunctionTy):
        return value
    found = function_types.constant_function(elab, value.data)
    if found is None and elab.coverage.speculation is not None:
        raise Symbolic  # a stand-in holds no function: `optional.value()` where an instance has one
    return value if found is None else found


def param_arg(body: Body, node: ast.Expr) -> ParameterArgument:
    """Elaborate one value in a parameter list."""
    if type(node) is ast.Name:
        if node.id == "_":
            return None
        found = variables.find(body, node.id)
        if (
            type(found) is ConstValue
            or type(found) is StructTy
            or type(found) is UnboundParameter
            or type(found) is ParameterPack
        ):
            return found
    if isinstance(node, ast.Star):
        return param_arg(body, node.value) if node.value is not None else None
    inner = Body(body.elab, body.frame.module, body.frame.scope, body.frame.instance)
    try:
        value = inner.api.expr(inner, node)
        if isinstance(value, (UnboundParameter, Opaque)):
            return value
        return _noted(inner, node, param(inner, value, body.at(node)))
    except Symbolic as reason:
        return OPAQUE if reason.ty is None else Opaque(reason.ty)


def param_list(body: Body, node: ast.Subscript) -> tuple[tuple[ParameterArgument, ...], Named]:
    """Elaborate a parameter list; packs written with `*` are spread."""
    positional: list[ParameterArgument] = []
    for item in node.args:
        value = param_arg(body, item)
        if isinstance(item, ast.Star) and isinstance(value, ParameterPack):
            positional += value.items
        else:
            positional.append(value)
    named = tuple((k.name, param_arg(body, k.value)) for k in node.keywords)  # '**_' has no name
    return tuple(positional), named
