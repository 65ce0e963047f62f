"""Declarations of variables."""

from typing import overload

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, locals, partial_moves, place_operations
from ktc.elaborate.calls import argument_passing, call_lowering
from ktc.elaborate.closures import function_pointers
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import collection_literals
from ktc.elaborate.generics import parameter_binding
from ktc.elaborate.model.declarations import AliasInfo, OverloadSet, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.types import ConstValue, FunctionValue, ParameterArgument, ParameterPack, PartialTy, StructTy
from ktc.elaborate.model.values import Arg, Method, Place, Result, RValue, Val, Var
from ktc.elaborate.ownership import interior_references
from ktc.elaborate.ownership.access_paths import of_inside
from ktc.elaborate.tree.argument_uses import moved
from ktc.elaborate.types import primitive_types, struct_types, type_printer, well_known
from ktc.elaborate.types.type_printer import operand_text
from ktc.ir import nodes
from ktc.syntax import ast


def declare_var(
    body: Body, name: str, value: Result, span: Span, kind: str = "var", function_scope: bool = False,
    value_span: Span | None = None,
) -> Var:  # fmt: skip
    """Declare a variable with a value; `span` is the name's."""
    if not isinstance(value, (RValue, Place, ConstValue)):
        if isinstance(value, Ty) and not body.frame.module.is_library:
            text = f"'{name}' cannot hold a type"
            body.fail(Code.TYPE_MISMATCH, text, span, f"write 'alias {name} = …' for another name of the type")
        if isinstance(value, (FunctionValue, Ty, ParameterPack)):
            (body.frame.function_scope if function_scope else body.frame.scope).names[name] = value
            return Var(
                name,
                primitive_types.prim(body.elab, "!kgen.none"),
                ConstValue(primitive_types.prim(body.elab, "!kgen.none"), ()),
                span,
            )
        if isinstance(value, Method):
            ir_values.fail_no_value(body, value, value_span or span)
        body.fail(Code.TYPE_MISMATCH, f"'{name}' cannot hold {operand_text(value)}", span)
    ty = value.ty
    local = nodes.Local(body.fresh(), struct_types.ir_type(body.elab, ty), name, span=span)
    local.drop = locals.drop_symbol(body, ty)
    local.is_of_function = function_scope
    locals.note_points_to(body, local, ty, locals.loans_of(body, value))
    if not body.frame.module.is_library and (paths := of_inside(body, value)):
        body.facts.note_paths(local, paths)
    if function_scope and body.blocks:
        body.hoist(nodes.Declare(local))
        if not body.frame.module.is_library:
            body.note_late(local)  # it is a variable of the whole function, and may get no value there
    else:
        body.emit(nodes.Declare(local))
    place = Place(ty, nodes.LocalAddress(local), True, local)
    if (
        not local.drop
        and not body.frame.module.is_library
        and body.frame.instance
        and (not struct_types.is_trivial(body.elab, ty) or name in moved(body.frame.instance.fn))
    ):
        body.note_late(local)  # whether there is still a value matters here, too
    place_operations.mark_copied(body, place, value)
    body.assignments.assigned_once.add(local)
    if function_scope and body.blocks and local.drop:
        partial_moves.mark(body, "overwrite", place, span)  # in a loop, the value of the round before is dead here
    place_operations.init_place(body, ty, place.pointer, value, value_span or span)
    partial_moves.mark(body, "init", place)
    var = Var(name, ty, place, span, kind, local, body)
    interior_references.declare(body, var, value)
    (body.frame.function_scope if function_scope else body.frame.scope).names[name] = var
    return var


def declare_reference(body: Body, target: ast.Name, place: Place) -> None:
    """Declare a name that stands for a place: `ref r = s`."""
    place = replace(place, by_reference=True)
    var = body.frame.scope.names[target.id] = Var(target.id, place.ty, place, body.at(target), "ref", body=body)
    interior_references.declare(body, var, place)


def _is_generic(body: Body) -> bool:
    """Return whether a function is compiled with types for its parameters: in its own words they may be in memory."""
    instance = body.frame.instance
    if instance is None:
        return False
    given = (*instance.param_values, *(instance.self_ty.params if instance.self_ty is not None else ()))
    return any(isinstance(value, (Ty, ParameterPack)) for value in given)


def rebound_place(body: Body, node: ast.Expr) -> Place | None:
    """Return the place that `rebind[T](x)` gives another type, if it is the same type here: in generic code it is a
    place, also where the type turns out to be that of a number.
    """
    match node:
        case ast.Call(
            func=ast.Subscript(base=ast.Name(id="rebind"), args=(kind,)), args=(ast.Name() | ast.Attribute() as of,)
        ) if _is_generic(body):
            place = body.api.expr(body, of)
            ty = evaluation.param_arg(body, kind)
            return place if isinstance(place, Place) and place.ty is ty else None
    return None


def value_or_place(body: Body, node: ast.Expr) -> Result:
    """Elaborate an expression; a place that is only taken for another type is that place."""
    return rebound_place(body, node) or body.api.expr(body, node)


def check_place(body: Body, value: Result, node: ast.Expr, what: str = "") -> None:
    """Report a reference to a number and the like that lies nowhere in memory."""
    if body.frame.module.is_library or not isinstance(value, (RValue, ConstValue)) or _is_generic(body):
        return
    if not what and not isinstance(
        node, (ast.Call, ast.IntLit, ast.FloatLit, ast.BoolLit, ast.Binary, ast.Unary, ast.Compare)
    ):
        return
    ty = well_known.materialized(body.elab, value.ty)
    if isinstance(ty, StructTy) and ty.info.register_passable:
        text = f"a value of type '{type_printer.type_name(body.elab, ty)}' has no place that a reference could point to"
        body.fail(Code.TYPE_MISMATCH, text, body.at(node), "leave 'ref' out" if what else "write 'var'")


def check_new(body: Body, name: str, start: int) -> None:
    """Report a declaration whose name the block has already, as that of a variable or an alias.

    The outermost block of a function has the names of its arguments and parameters, and those of the struct's.
    """
    frame = body.frame
    known = frame.scope.names.get(name)
    if known is None and frame.scope.parent is frame.function_scope and not frame.module.is_library:
        known = frame.function_scope.names.get(name)  # a variable that was assigned without 'var'
    is_variable = isinstance(known, Var) and known.body is body
    is_other = (
        isinstance(known, (ConstValue, AliasInfo, FunctionValue, OverloadSet, Ty)) and not frame.module.is_library
    )
    if _is_of_function(body, name):
        text = f"'{name}' is already declared by this function"
    elif is_variable or is_other:
        text = f"'{name}' is already declared in this block"
    else:
        return
    body.fail(Code.DUPLICATE_DEFINITION, text, Span(body.frame.module.source, start, start + len(name)))


def _is_of_function(body: Body, name: str) -> bool:
    frame = body.frame
    if frame.module.is_library or frame.instance is None or frame.scope.parent is not frame.function_scope:
        return False
    fn = frame.instance.fn
    outer = fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()
    return name != "_" and any(param.name == name for param in (*fn.node.args, *fn.node.params, *outer))


def check_function(body: Body, value: FunctionValue, span: Span) -> None:
    """Report a function that a variable cannot hold: it is known at compile time only, or is not one alone."""
    info = value.overloads.functions[0]
    if len(value.overloads.functions) > 1:
        reason, help = "has several overloads", "declare the variable with the function's type"
    elif info.parameter and info.parent is not None:
        reason, help = "captures by reference and is known only at compile time", "leave '@parameter' out"
    elif info.node.params and len(value.params) + len(value.named) < len(info.node.params):
        reason, help = "has parameters that are not given", f"write '{value.overloads.name}[…]'"
    elif function_pointers.takes_open_types(body.elab, value):
        reason, help = "leaves types of its arguments open", "write the parameters of those types"
    else:
        return
    body.fail(Code.TYPE_MISMATCH, f"a variable cannot hold '{value.overloads.name}', which {reason}", span, help)


def variable_type(body: Body, node: ast.Expr) -> ParameterArgument:
    """Return the type that is written for a variable; its value says nothing of parameters that are left out."""
    expected = declared_type(body, node)
    if not isinstance(expected, PartialTy) or body.frame.module.is_library:
        return expected
    try:
        return parameter_binding.with_default_parameters(body.elab, expected)
    except Mismatch as reason:
        text = f"'{expected.info.name}' is not complete here: {reason.message}"
        body.fail(Code.CANNOT_INFER_PARAMETER, text, body.at(node), "write its parameters, or leave the type out")


def of_partial_type(body: Body, node: ast.VarDecl) -> Val | None:
    """Return the value of `var x: List = v`, whose type's parameters the value decides in edition 2026; else None."""
    if body.frame.module.edition is Edition.Y2025 or node.type is None or node.value is None or node.kind == "ref":
        return None
    expected = declared_type(body, node.type)
    if not isinstance(expected, PartialTy) or _is_complete(body, expected):
        return None
    if isinstance(node.value, (ast.ListLit, ast.SetLit, ast.DictLit)) and expected.info.module.is_library:
        value: Result = collection_literals.literal_of(body, node.value, expected.info.name)
    else:
        value = body.api.expr(body, node.value)
    if isinstance(value, (RValue, Place)) and isinstance(value.ty, StructTy) and value.ty.info is expected.info:
        return value
    if not isinstance(value, (RValue, Place, ConstValue)):
        return None
    return call_lowering.call(body, expected, [Arg(value, body.at(node.value))], [], body.at(node.value))


def _is_complete(body: Body, expected: PartialTy) -> bool:
    try:
        parameter_binding.with_default_parameters(body.elab, expected)
    except Mismatch:
        return False
    return True


def declared_type(body: Body, node: ast.Expr) -> ParameterArgument:
    """Return the type that an annotation names; it may be a partial one."""
    value = evaluation.param_arg(body, node)
    if value is not None and not isinstance(value, Ty) and not hasattr(value, "info"):
        if isinstance(value, ConstValue) and isinstance(node, ast.TupleLit):
            return value.ty
        body.fail(Code.TYPE_MISMATCH, "a type is expected here", body.at(node))
    return value


def declare_uninitialized(body: Body, name: str, expected: ParameterArgument, node: ast.VarDecl) -> None:
    """Declare a variable without a value."""
    if not isinstance(expected, Ty):
        body.fail(Code.CANNOT_INFER_PARAMETER, f"'{name}' needs a type or a value", body.at(node))
    local = locals.new_local(body, struct_types.ir_type(body.elab, expected), name, expected)
    place = Place(expected, nodes.LocalAddress(local), True, local)
    body.note_late(local)
    body.frame.scope.names[name] = Var(name, expected, place, body.at(node.target), "late", local, body)


@overload
def snapshot(body: Body, value: Val) -> Val: ...
@overload
def snapshot(body: Body, value: Result) -> Result: ...
def snapshot(body: Body, value: Result) -> Result:
    """Return a value that a later store cannot change."""
    span = body.frame.span or body.elab.main_span()
    if isinstance(value, Place) and not value.owned:
        if struct_types.abi(body.elab, value.ty) == "direct":
            return RValue(value.ty, ir_values.rvalue(body, value), loans=locals.loans_of(body, value))
        return argument_passing.owned_place(body, value, span)
    if isinstance(value, Place) and value.local is not None:  # moved out of a variable, which may be a target
        local = locals.new_local(body, struct_types.ir_type(body.elab, value.ty), "moved", value.ty)
        place = Place(value.ty, nodes.LocalAddress(local), True, local, owned=True, loans=value.loans)
        place_operations.init_place(body, value.ty, place.pointer, value, span)
        partial_moves.mark(body, "init", place)
        return place
    return value
