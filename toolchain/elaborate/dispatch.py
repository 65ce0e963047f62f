"""The tables of handlers by kind of syntax, and the interface of the recursion implemented: all rooms meet here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from ktc.diag.source import Span
from ktc.elaborate.calls import call_lowering, construction, conversions, overload_resolution
from ktc.elaborate.closures import captures, function_pointers
from ktc.elaborate.comptime import default_arguments, evaluation
from ktc.elaborate.expressions import (
    call_expressions,
    collection_literals,
    comparisons,
    conditions,
    literals,
    members,
    names,
    operators,
    subscripts,
    templates,
)
from ktc.elaborate.functions import destructors, function_bodies
from ktc.elaborate.generics import archetypes, parameter_binding
from ktc.elaborate.instances import callable_types, function_instances
from ktc.elaborate.model.declarations import AliasInfo, ModuleInfo, OverloadSet, Scope, TraitInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration, ElaborationApi
from ktc.elaborate.model.instance import ArgumentSignature, Candidate, Instance, UnresolvedCall
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    ParameterArgument,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Arg, Binding, CollectionLiteral, ComputedAccess, Place, Result, RValue, Val
from ktc.elaborate.statements import (
    assignments,
    augmented_assignments,
    blocks,
    comprehensions,
    context_managers,
    exits,
    item_assignments,
    loops,
    matches,
)
from ktc.elaborate.types import well_known
from ktc.ir import nodes
from ktc.ir.nodes import Value
from ktc.syntax import ast

T = TypeVar("T")

EXPRESSIONS: Mapping[type[ast.Expr], Callable[[Body, Any, Ty | None], Result]] = MappingProxyType(
    {
        ast.Name: lambda body, node, _: names.name(body, node),
        ast.IntLit: lambda body, node, _: literals.integer(body, node),
        ast.FloatLit: lambda body, node, _: literals.float_literal(body, node),
        ast.StrLit: lambda body, node, _: literals.string_literal(body, node),
        ast.BoolLit: lambda body, node, _: well_known.bool_constant(body.elab, node.value),
        ast.NoneLit: lambda body, _, __: ConstValue(well_known.library_type(body.elab, "NoneType"), ()),
        ast.Attribute: lambda body, node, _: members.attribute(body, node),
        ast.Subscript: subscripts.subscript,
        ast.Call: call_expressions.call_node,
        ast.Binary: lambda body, node, _: operators.binary(body, node),
        ast.Unary: lambda body, node, _: conditions.unary(body, node),
        ast.Compare: lambda body, node, _: comparisons.compare(body, node),
        ast.BoolOp: lambda body, node, _: conditions.bool_op(body, node),
        ast.Ternary: conditions.ternary,
        ast.TupleLit: lambda body, node, expected: literals.tuple_of(body, node, node.items, expected),
        ast.ListLit: lambda body, node, expected: collection_literals.collection_literal(
            body, node, node.items, "List", expected
        ),
        ast.SetLit: lambda body, node, expected: collection_literals.collection_literal(
            body, node, node.items, "Set", expected
        ),
        ast.DictLit: lambda body, node, expected: collection_literals.dict_of(body, node, node.items, expected),
        ast.Transfer: lambda body, node, _: literals.transfer(body, node, node.value),
        ast.Walrus: lambda body, node, _: assignments.walrus(body, node),
        ast.FString: lambda body, node, _: templates.formatted_string(body, node),
        ast.Comprehension: comprehensions.comprehension,
        ast.Star: lambda body, node, _: body.api.expr(body, node.value),
        ast.Lambda: lambda body, node, _: literals.lambda_function(body, node),
        ast.FunctionType: lambda body, node, _: literals.function_type(body, node),
        ast.Slice: lambda body, node, _: literals.slice_of(body, node),
    }
)
"""How each kind of expression is elaborated: (body, node, expected type) to a result."""

STATEMENTS: Mapping[type[ast.Stmt], Callable[[Body, Any], None]] = MappingProxyType(
    {
        ast.ExprStmt: blocks.expression_statement,
        ast.VarDecl: assignments.var_decl,
        ast.Assign: assignments.assign,
        ast.AugAssign: augmented_assignments.aug_assign,
        ast.Return: exits.return_,
        ast.If: blocks.if_,
        ast.While: loops.while_,
        ast.For: loops.for_,
        ast.Break: lambda body, node: loops.jump(body, True, node),
        ast.Continue: lambda body, node: loops.jump(body, False, node),
        ast.Pass: lambda body, node: None,
        ast.Alias: blocks.alias,
        ast.FunctionDecl: blocks.nested,
        ast.Raise: exits.raise_,
        ast.Try: exits.try_,
        ast.Match: matches.match,
        ast.With: lambda body, node: context_managers.with_(body, node.items, node.body, node),
        ast.StaticAssert: blocks.static_assert,
        ast.Import: blocks.imports,
        ast.FromImport: blocks.imports,
        ast.CollectItem: lambda body, node: node.action(),
    }
)
"""How each kind of statement is elaborated."""


def _observed(body: Body, node: ast.Expr | ast.Stmt, result: T) -> T:
    if body.elab.observe is not None:
        body.elab.observe(body, node, result)
    return result


class Dispatch(ElaborationApi):
    """The functions that lower rooms call in higher ones."""

    def expr(self, body: Body, node: ast.Expr, expected: Ty | None = None) -> Result:
        return _observed(body, node, EXPRESSIONS.get(type(node), literals.unsupported)(body, node, expected))

    def statement(self, body: Body, node: ast.Stmt) -> None:
        _observed(body, node, STATEMENTS.get(type(node), blocks.unsupported)(body, node))

    def alias_value(self, elab: Elaboration, alias: AliasInfo, self_ty: StructTy | None) -> ParameterArgument:
        return evaluation.alias_value(elab, alias, self_ty)

    def block(self, body: Body, statements: tuple[ast.Stmt, ...], names: dict[str, Binding] | None = None) -> None:
        return blocks.block(body, statements, names)

    def build_collection(self, body: Body, late: CollectionLiteral, expected: Ty | None) -> Val:
        return collection_literals.build_collection(body, late, expected)

    def call_fn(
        self, body: Body, fn: FunctionValue, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False
    ) -> Val:
        return call_lowering.call_fn(body, fn, pos, kw, span, receiver)

    def call_init(self, body: Body, ty: Ty, init: OverloadSet, pointer: Value, val: Place) -> None:
        return conversions.call_init(body, ty, init, pointer, val)

    def call_value(
        self, body: Body, callee: RValue | Place | ConstValue, pos: list[Arg], kw: list[Arg], span: Span
    ) -> Val:
        return function_pointers.call_value(body, callee, pos, kw, span)

    def choose(
        self, body: Body, call: UnresolvedCall, implicit_only: bool = False, quiet: bool = False
    ) -> Candidate | None:
        return overload_resolution.choose(body, call, implicit_only, quiet)

    def condition(self, body: Body, value: Result, node: ast.Node) -> nodes.Value:
        return conditions.condition(body, value, node)

    def construct(self, body: Body, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Val:
        return construction.construct(body, ty, pos, kw, span)

    def convert_constant(
        self, elab: Elaboration, value: ConstValue | FunctionValue, expected: Ty | PartialTy
    ) -> ConstValue | None:
        return evaluation.convert_constant(elab, value, expected)

    def declared_function(
        self, elab: Elaboration, param: ast.Param, value: ParameterArgument, expected: FunctionTy, what: str
    ) -> ParameterArgument:
        return function_instances.declared_function(elab, param, value, expected, what)

    def default_value(self, body: Body, instance: Instance, sig: ArgumentSignature, span: Span) -> Result:
        return default_arguments.default_value(body, instance, sig, span)

    def destructor(self, elab: Elaboration, ty: StructTy) -> str:
        return destructors.destructor(elab, ty)

    def collection_cost(self, body: Body, late: CollectionLiteral | ast.Expr, expected: Ty) -> int | None:
        return collection_literals.collection_cost(body, late, expected)

    def synthesize_destructor(self, elab: Elaboration, ty: StructTy, symbol: str) -> None:
        return destructors.synthesize_destructor(elab, ty, symbol)

    def elaborate_instance(self, elab: Elaboration, instance: Instance) -> None:
        return function_bodies.elaborate_instance(elab, instance)

    def emit_call(self, body: Body, found: Candidate, span: Span) -> Val:
        return call_lowering.emit_call(body, found, span)

    def environment(self, body: Body, env: FunctionValue, span: Span | None) -> Value:
        return captures.environment(body, env, span)

    def evaluate(
        self, elab: Elaboration, node: ast.Expr, scope: Scope, module: ModuleInfo, expected: Ty | None = None
    ) -> ParameterArgument:
        return evaluation.evaluate(elab, node, scope, module, expected)

    def evaluate_open(self, elab: Elaboration, node: ast.Expr, scope: Scope, module: ModuleInfo) -> ParameterArgument:
        return evaluation.evaluate_open(elab, node, scope, module)

    def fits_function(self, elab: Elaboration, have: FunctionTy, expected: FunctionTy) -> bool:
        return function_instances.fits_function(elab, have, expected)

    def conforms_to_call(self, elab: Elaboration, ty: Ty, trait: TraitInfo) -> bool:
        return callable_types.conforms_to_call(elab, ty, trait)

    def function_as(self, elab: Elaboration, fn: FunctionValue, expected: FunctionTy) -> FunctionValue | None:
        return function_instances.function_as(elab, fn, expected)

    def function_value(
        self, body: Body, fn: FunctionValue, expected: FunctionTy, span: Span | None
    ) -> RValue | Place | None:
        return function_pointers.function_value(body, fn, expected, span)

    def instance_of(
        self, elab: Elaboration, fn: FunctionValue, span: Span | None, asking: Body | None, kernel: bool = False
    ) -> Instance:
        return function_instances.instance_of(elab, fn, span, asking, kernel)

    def make_template(self, elab: Elaboration, instance: Instance) -> None:
        return function_bodies.make_template(elab, instance)

    def bound_alias(self, elab: Elaboration, alias: AliasInfo, ty: StructTy | None, scope: Scope) -> ParameterArgument:
        return archetypes.bound_alias(elab, alias, ty, scope)

    def write_back(self, body: Body, after: list[tuple[ComputedAccess, Place]]) -> None:
        return item_assignments.write_back(body, after)

    def run_cleanups(self, body: Body, depth: int) -> None:
        return exits.run_cleanups(body, depth)

    def thin_type(self, elab: Elaboration, fn: FunctionValue) -> FunctionTy | None:
        return function_pointers.thin_type(elab, fn)

    def typed_constant(
        self, elab: Elaboration, type_node: ast.Expr | None, value: ast.Expr, scope: Scope, module: ModuleInfo
    ) -> ParameterArgument:
        return evaluation.typed_constant(elab, type_node, value, scope, module)

    def type_with_defaults(self, elab: Elaboration, value: ParameterArgument) -> ParameterArgument:
        return parameter_binding.type_with_defaults(elab, value)

    def unify_function(
        self,
        elab: Elaboration,
        pattern: FunctionTy,
        actual: ParameterArgument,
        bound: dict[UnboundParameter, ParameterArgument],
    ) -> bool:
        return function_instances.unify_function(elab, pattern, actual, bound)
