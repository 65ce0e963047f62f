"""Values of arguments that a call leaves out."""

from collections.abc import Mapping, Sequence

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.materialization import cloned_block, cloned_constant, points_to_heap
from ktc.elaborate.calls import conversions
from ktc.elaborate.comptime import evaluation, running
from ktc.elaborate.instances.signatures import with_arguments
from ktc.elaborate.model.declarations import AliasInfo, FunctionInfo, ModuleInfo, Scope, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import Place, Result, RValue, Val, Var
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.tree.free_variables import parts
from ktc.elaborate.types import lookup, struct_types
from ktc.syntax import ast

_SAME = (ast.IntLit, ast.FloatLit, ast.StrLit, ast.BoolLit, ast.NoneLit, ast.Name, ast.Attribute)


@record
class Block:
    """A value that was computed: its bytes are those of a constant."""

    ty: StructTy
    name: str


def default_value(body: Body, instance: Instance, sig: ArgumentSignature, span: Span) -> Result:
    """Return the value of an argument that a call leaves out, converted to its type."""
    node, module = sig.node.default, instance.fn.module
    assert node is not None
    where = span if module.is_library else Span(module.source, node.start, node.end)
    value: Result | Block = instance.defaults.get(sig.name)
    if value is None:
        value = _first(body, instance, sig, where)
    if isinstance(value, Block) or (isinstance(value, ConstValue) and not module.is_library and value.ty is sig.ty):
        return _given(body, value)
    return conversions.convert(body, value, sig.ty, where)


def _first(body: Body, instance: Instance, sig: ArgumentSignature, where: Span) -> Result | Block:
    """Return the value; a constant that does not say where the call stands is kept with the instance: calls of `print`
    alone have three of them each."""
    node, module = sig.node.default, instance.fn.module
    if not module.is_library:
        check_dynamic(body.elab, instance.fn, sig.node)
        if isinstance(sig.ty, StructTy) and not (_is_plain(node) and sig.ty.info.module.is_library):
            made = _computed(body.elab, instance, sig, where)
            if made is not None:
                instance.defaults[sig.name] = made
                return made
    placed = body.site.set_location_read(False)
    assert node is not None
    value = evaluate_in(body, node, _scope_of(instance, node), module, sig.ty)
    if isinstance(value, ConstValue) and not body.site.location_read:
        instance.defaults[sig.name] = value
    body.site.set_location_read(placed or body.site.location_read)
    return value


def constant_default(elab: Elaboration, instance: Instance, sig: ArgumentSignature, span: Span) -> ConstValue | None:
    """Return the default of an argument of a function of the program, if it is a constant."""
    check_dynamic(elab, instance.fn, sig.node)
    made = _computed(elab, instance, sig, span)
    return made if isinstance(made, ConstValue) else None


def check_dynamic(elab: Elaboration, fn: FunctionInfo, arg: ast.Param) -> None:
    """Report a default that names another argument of the function, or a variable around it, and abort."""
    others = {other.name: other for other in fn.node.args}
    known: set[ast.Node] = set()
    for part in parts(arg.default):
        known.update(_type_parts(elab, fn, part, others))
        if not isinstance(part, ast.Name) or part in known:
            continue
        found = lookup.find(elab, part.id, fn.scope, fn.module)
        is_variable = isinstance(found, Var) and not isinstance(found.value, ConstValue)
        if is_variable or (found is None and part.id in others):
            text = f"the default of '{arg.name}' names '{part.id}', and defaults are computed at compile time"
            help = f"let '{arg.name}' be an 'Optional' with the default 'None', and look at '{part.id}' in the body"
            elab.fail(Code.NON_CONSTANT_VALUE, text, Span(fn.module.source, part.start, part.end), help)


def _type_parts(
    elab: Elaboration, fn: FunctionInfo, node: ast.Node, others: Mapping[str, ast.Param]
) -> Sequence[ast.Node]:
    """Return the names of the arguments of which an expression uses only the types."""
    match node:
        case ast.Attribute(value=ast.Name(id=name) as owner, name=member) if name in others:
            info = _declared_struct(elab, fn, others[name].type)
            if info is not None and any(param.name == member for param in info.node.params):
                return (owner,)
        case ast.Call(func=ast.Name(id="type_of" | "__type_of"), args=args):
            return args
    return ()


def _declared_struct(elab: Elaboration, fn: FunctionInfo, node: ast.Expr | None) -> StructInfo | None:
    """Return the struct that a type expression names."""
    scope, module = fn.scope, fn.module
    while True:
        while isinstance(node, ast.Subscript):
            node = node.base
        found = lookup.find(elab, node.id, scope, module) if isinstance(node, ast.Name) else None
        if not isinstance(found, AliasInfo):
            return found if isinstance(found, StructInfo) else None
        node, scope, module = found.node.value, found.scope, found.module


def _scope_of(instance: Instance, node: ast.Expr) -> Scope:
    """Return the scope of a default value, in which the arguments stand for their types."""
    arguments = {arg.name for arg in instance.fn.node.args}
    if not names_in(node) & arguments:
        return instance.scope
    return with_arguments(instance.fn, instance.signature.args, instance.scope)


def elaborated(elab: Elaboration, instance: Instance, sig: ArgumentSignature, span: Span) -> tuple[Body, Result]:
    """Elaborate a default value at compile time, and return the body that computes it and its value."""
    assert sig.node.default is not None
    scope = _scope_of(instance, sig.node.default)
    body = Body(elab, instance.fn.module, scope, elab.instances.current)
    return body, conversions.convert(body, body.api.expr(body, sig.node.default, sig.ty), sig.ty, span)


def _computed(elab: Elaboration, instance: Instance, sig: ArgumentSignature, span: Span) -> ConstValue | Block | None:
    memo, key = elab.instances.state.memo, ("default", instance, sig.name)
    if key in memo:
        text = f"the default of '{sig.name}' calls {instance.fn.title} without it, and so needs itself"
        elab.fail(Code.NON_CONSTANT_VALUE, text, span)
    memo[key] = True
    elab.reporter.enter_constant(span, elab.instances.current)
    try:
        body, value = elaborated(elab, instance, sig, span)
        if (
            isinstance(value, RValue | Place)
            and isinstance(value.ty, StructTy)
            and not struct_types.is_trivial(elab, value.ty)
        ):
            return Block(value.ty, running.run_to_block(elab, body, value, span))
        made = evaluation.param(body, value, span)
    finally:
        memo.pop(key)
        elab.reporter.end_constant()
    return made if isinstance(made, ConstValue) else None


def _is_plain(node: ast.Node | None) -> bool:
    match node:
        case ast.Unary(op="-", value=value):
            return _is_plain(value)
        case ast.ListLit(items=items) | ast.TupleLit(items=items):
            return all(map(_is_plain, items))
        case ast.Attribute(value=value):
            return _is_plain(value)
    return isinstance(node, _SAME)


def _given(body: Body, made: ConstValue | Block) -> Val:
    """Return a constant as a value that the callee may own."""
    if isinstance(made, Block):
        return cloned_block(body, made.ty, made.name)
    if points_to_heap(made.data) or (
        struct_types.abi(body.elab, made.ty) == "memory" and not struct_types.is_trivial(body.elab, made.ty)
    ):
        return cloned_constant(body, made)
    return made


def evaluate_in(body: Body, node: ast.Expr, scope: Scope, module: ModuleInfo, expected: Ty | None) -> Result:
    """Elaborate an expression of another scope here."""
    outer = body.frame.enter(scope, module)
    try:
        return body.api.expr(body, node, expected)
    finally:
        body.frame.enter(*outer)
