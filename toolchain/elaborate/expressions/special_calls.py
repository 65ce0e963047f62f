"""Special calls, which the language itself defines: `type_of`, `conforms_to`, `comptime(…)`, `__mlir_op` and others."""

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values, variables
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import address_forms, members, operands
from ktc.elaborate.generics import archetypes, function_types
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.declarations import OverloadSet, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionValue,
    Metatype,
    Opaque,
    OriginValue,
    ParameterArgument,
    PartialTy,
    StructTy,
    TraitTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Place, Result, RValue, Var
from ktc.elaborate.primitives import table
from ktc.elaborate.types import struct_members, type_printer, well_known
from ktc.syntax import ast


def special_call(body: Body, node: ast.Call) -> Result:
    """Elaborate the calls that the language itself defines; None for all others."""
    func = node.func
    if isinstance(func, ast.Name):
        if func.id in ("__type_of", "type_of", "__origin_of", "origin_of"):
            return reflect(body, func.id, node)
        if func.id == "conforms_to" and variables.find(body, func.id) is None:
            return conforms_to(body, node)
        if func.id == "comptime" and body.frame.module.edition is Edition.Y2026 and len(node.args) == 1:
            value = evaluation.param_arg(body, node.args[0])
            if isinstance(value, (UnboundParameter, Opaque)):
                raise Symbolic
            return value
        place = address_forms.desugar(body, node)
        return None if place is None else body.api.expr(body, place)
    attrs: ast.Subscript | None = None
    if isinstance(func, ast.Subscript):
        attrs, func = func, func.base
        if isinstance(func, ast.Name) and func.id == "trait_downcast" and _is_built_in(body, func.id):
            return downcast(body, node, attrs)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "__mlir_op":
        values: dict[str, ParameterArgument] = {}
        if attrs is not None:
            for key in attrs.keywords:
                value = evaluation.param_arg(body, key.value)
                if isinstance(value, (UnboundParameter, Opaque)) or getattr(value, "symbolic", False):
                    raise Symbolic
                values[key.name] = value
        about = address_forms.ownership_operand(func.name, node)
        args = [members.place_or_value(body, about)] if about is not None else []
        args = args or [operands.arg(body, item).value for item in node.args]
        span = body.at(node)
        outer = body.frame.set_span(body.frame.span or span)
        try:
            return table.operation(body, func.name, values, args, span)
        finally:
            body.frame.set_span(outer)
    return None


def reflect(body: Body, name: str, node: ast.Call) -> Result:
    """Elaborate `type_of(x)` and `origin_of(x)`: nothing is evaluated."""
    inner = Body(body.elab, body.frame.module, body.frame.scope, body.frame.instance)
    inner.site.is_reflected = True
    with work_queue.unrequested(body.elab):
        value = inner.api.expr(inner, node.args[0]) if node.args else None
    if isinstance(value, (UnboundParameter, Opaque)):
        raise Symbolic
    if name.endswith("type_of"):
        if isinstance(value, FunctionValue):
            return function_types.fn_type_of(body.elab, value)
        if isinstance(value, (StructTy, PartialTy, TraitTy)):
            return Metatype(value)
        if not isinstance(value, (RValue, Place, ConstValue)):
            body.fail(Code.TYPE_MISMATCH, "a value is expected here", body.at(node))
        return value.ty
    if len(node.args) > 1:
        return _common_origin(body, inner, node)
    root = node.args[0] if node.args else None
    while isinstance(root, ast.Attribute) and isinstance(value, Place) and value.loans is None:
        root = root.value  # a field lies where the whole does
    own = variables.find(body, root.id) if isinstance(root, ast.Name) else None
    place = own.value if isinstance(own, Var) else value
    mutable = isinstance(place, Place) and place.mutable
    return well_known.origin_constant(body.elab, ir_values.origin_of(body, place, mutable))


def _common_origin(body: Body, inner: Body, node: ast.Call) -> ConstValue:
    """Return the origin of several places: writable if all of them are."""
    one_each = [reflect(inner, "origin_of", replace(node, args=(item,))) for item in node.args]
    origins = [one.data for one in one_each if isinstance(one, ConstValue) and isinstance(one.data, OriginValue)]
    mutable = all(origin.mutable for origin in origins)
    kinds = {(origin.kind, origin.local) for origin in origins}
    made = OriginValue("some", mutable) if len(kinds) > 1 else replace(origins[0], mutable=mutable)
    return well_known.origin_constant(body.elab, made)


def conforms_to(body: Body, node: ast.Call) -> ConstValue:
    """Elaborate `conforms_to(T, Trait)`."""
    if len(node.args) != 2 or node.keywords:
        body.fail(Code.MISSING_ARGUMENT, "'conforms_to' takes a type and a trait", body.at(node))
    ty = _type_or_fail(body, node.args[0])
    is_2026 = body.frame.module.edition is Edition.Y2026
    declares = struct_members.declares_in_2026 if is_2026 else struct_members.declares
    return well_known.bool_constant(body.elab, declares(body.elab, ty, _trait(body, node.args[1])))


def _is_built_in(body: Body, name: str) -> bool:
    """Return whether the program declares no function of that name; it may import the library's."""
    found = variables.find(body, name)
    if found is None:
        return True
    return isinstance(found, OverloadSet) and found.functions[0].module.name == "std.builtin.rebind"


def downcast(body: Body, node: ast.Call, attrs: ast.Subscript) -> Result:
    """Elaborate `trait_downcast[Trait](x)`: the same value, of which more is known."""
    if len(node.args) != 1 or node.keywords or len(attrs.args) != 1 or attrs.keywords:
        text = "'trait_downcast' takes a trait in brackets, and a value"
        body.fail(Code.MISSING_ARGUMENT, text, body.at(node))
    trait = _trait(body, attrs.args[0])
    value = operands.arg(body, node.args[0]).value
    if not isinstance(value, (RValue, Place, ConstValue)):
        ir_values.fail_no_value(body, value, body.at(node.args[0]))
    if isinstance(value.ty, StructTy) and value.ty.info.bound is not None:
        return replace(value, ty=archetypes.narrowed(body.elab, value.ty, trait))
    if not struct_members.conforms(body.elab, value.ty, trait):
        if body.elab.coverage.speculation is not None:
            raise ErrorReported  # in an arm that is not taken for this type
        text = f"'{type_printer.type_name(body.elab, value.ty)}' does not conform to '{trait}'"
        body.fail(Code.UNSATISFIED_TRAIT, text, body.at(node), f"check with 'conforms_to(…, {trait})' first")
    return value


def _type_or_fail(body: Body, node: ast.Expr) -> Ty:
    found = evaluation.param_arg(body, node)
    if isinstance(found, (UnboundParameter, Opaque)) or getattr(found, "symbolic", False):
        raise Symbolic
    if not isinstance(found, Ty) or isinstance(found, TraitTy):
        body.fail(Code.TYPE_MISMATCH, "a type is expected here", body.at(node))
    return found


def _trait(body: Body, node: ast.Expr) -> TraitTy:
    found = evaluation.param_arg(body, node)
    if not isinstance(found, TraitTy):
        body.fail(Code.TYPE_MISMATCH, "a trait is expected here", body.at(node))
    return found
