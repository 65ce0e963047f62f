"""Assignments and declarations with a value."""

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.elaborate.builder import materialization, variables
from ktc.elaborate.calls import conversions
from ktc.elaborate.expressions import address_forms, collection_literals
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.types import FunctionTy, FunctionValue, ParameterArgument, StructTy
from ktc.elaborate.model.values import Binding, CollectionLiteral, Place, Result, RValue, Var
from ktc.elaborate.ownership import interior_references
from ktc.elaborate.statements import assignment_targets, item_assignments, overwrites, variable_declarations
from ktc.elaborate.types import struct_types
from ktc.syntax import ast
from ktc.syntax.tree import Tree


def assign(body: Body, node: ast.Assign) -> None:
    """Elaborate `t = v`."""
    expected: ParameterArgument = None
    if node.type is not None:
        expected = variable_declarations.variable_type(body, node.type)
        if not isinstance(node.targets[0], ast.Name):
            expected = None  # `self.x: Int = 1`: what is there has its type, this one need only be one
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.TupleLit):
        assignment_targets.unpack(body, node.targets[0], node.value, node, False)
        return
    last = node.targets[-1]
    if isinstance(last, ast.Subscript) and len(node.targets) == 1:
        item_assignments.store_item(body, last, node.value, node)
        return
    if isinstance(last, ast.Call) and len(node.targets) == 1:
        _store_result(body, last, node.value)
        return
    if (
        isinstance(last, ast.Attribute)
        and len(node.targets) == 1
        and item_assignments.is_computed_path(body, last.value)
    ):
        item_assignments.store_computed_path(body, last, node.value, node)
        return
    because: tuple[Label, ...] = ()
    if expected is None and isinstance(last, ast.Name):
        known = variables.find(body, last.id)
        if len(node.targets) == 1 and _assign_through_reference(body, known, last, node.value):
            return
        expected = known.ty if isinstance(known, Var) else None
        if isinstance(known, Var):
            because = (Label(known.span, f"'{known.name}' has its type from here"),)
    elif expected is None and isinstance(last, ast.Attribute):
        expected = item_assignments.attribute_type(body, last)
    value = body.api.expr(body, node.value, expected if isinstance(expected, Ty) else None)
    if isinstance(expected, (StructTy, FunctionTy)) and (node.type is not None or len(node.targets) == 1):
        value = conversions.convert(body, value, expected, body.at(node.value), because=because)
    if len(node.targets) == 1:
        overwrites.note_temporary_result(body, last, value, node.value)
    *others, last = node.targets
    for target in others:
        value, lent = _borrowed(body, value)
        assignment_targets.store(body, target, lent, node)
    assignment_targets.store(body, last, value, node)


def _store_result(body: Body, target: ast.Call, value: ast.Expr) -> None:
    """Elaborate `f(x) = v`: a trivial value is computed before the place, any other is made in the place."""
    made_there = address_forms.initialization(body, target, value)
    if made_there is not None:
        body.api.expr(body, made_there)
        return
    body.open()
    place = body.api.expr(body, target)
    of_place = body.close()
    made: Result = None
    if isinstance(place, Place) and struct_types.is_trivial(body.elab, place.ty) and _calls(value):
        made = conversions.convert(body, body.api.expr(body, value, place.ty), place.ty, body.at(value))
        made = variable_declarations.snapshot(body, made)
    for statement in of_place:
        body.emit(statement)
    if not isinstance(place, Place) or not place.mutable or place.owned:
        reason = f": it is {place.read_only_reason}" if isinstance(place, Place) and place.read_only_reason else ""
        body.fail(Code.CANNOT_MUTATE, f"this cannot be assigned to{reason}", body.at(target))
    if made is not None:
        overwrites.store_place(body, place, made, body.at(target), "")
    elif not overwrites.destroy_then_store(body, place, target, value):
        made = conversions.convert(body, body.api.expr(body, value, place.ty), place.ty, body.at(value))
        overwrites.store_place(body, place, made, body.at(target), "")


def _calls(value: ast.Expr) -> bool:
    """Return whether an expression calls something whose order can be seen."""
    return any(isinstance(node, (ast.Call, ast.Subscript)) for node in Tree().walk(value))


def _borrowed(body: Body, value: Result) -> tuple[Result, Result]:
    """Return a value that is expected once more, and as what it is copied from until then."""
    if isinstance(value, CollectionLiteral):
        value = collection_literals.build_collection(body, value, None)
    if not isinstance(value, (RValue, Place)) or struct_types.is_trivial(body.elab, value.ty):
        return value, value
    value = materialization.as_place(body, value)
    return value, replace(value, owned=False)


def _assign_through_reference(body: Body, var: Binding, target: ast.Expr, value: ast.Expr) -> bool:
    """Assign to the place behind a reference, if its old value can be destroyed first."""
    if not isinstance(var, Var) or var.kind not in ("ref", "loop") or var.body is not body:
        return False
    place = var.value
    interior_references.require(body, var, body.at(target))
    if not isinstance(place, Place) or not place.mutable or place.owned:
        return False
    return overwrites.destroy_then_store(body, place, target, value, is_behind=True)


def walrus(body: Body, node: ast.Walrus) -> Result:
    """Elaborate `name := value`."""
    target = ast.Name(node.start, node.end, node.name)
    try:
        value = conversions.materialize(body, body.api.expr(body, node.value))
    except ErrorReported:
        if not body.frame.module.is_library and variables.find(body, node.name) is None:
            body.frame.function_scope.names[node.name] = None  # a failed declaration
        raise
    assignment_targets.store(body, target, value, node)
    return body.api.expr(body, target)


def var_decl(body: Body, node: ast.VarDecl) -> None:
    """Elaborate `var x: T = v` and `ref x = v`."""
    made = variable_declarations.of_partial_type(body, node)
    if made is not None and isinstance(node.target, ast.Name) and node.value is not None:
        variable_declarations.check_new(body, node.target.id, node.target.start)
        at = body.at(node.target)
        variable_declarations.declare_var(body, node.target.id, made, at, value_span=body.at(node.value))
        return
    expected = variable_declarations.variable_type(body, node.type) if node.type is not None else None
    if isinstance(node.target, ast.TupleLit):
        assignment_targets.unpack(body, node.target, node.value, node, True)
        return
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    variable_declarations.check_new(body, name, node.target.start)
    if node.value is None:
        variable_declarations.declare_uninitialized(body, name, expected, node)
        return
    try:
        rebound = variable_declarations.rebound_place(body, node.value) if node.kind == "ref" else None
        value = rebound or body.api.expr(body, node.value, expected if isinstance(expected, Ty) else None)
        if node.kind == "ref":
            variable_declarations.check_place(body, value, node.value)
            if isinstance(expected, StructTy) and getattr(value, "ty", None) is not expected:
                value = conversions.convert(body, value, expected, body.at(node.value))
            variable_declarations.declare_reference(body, node.target, materialization.as_place(body, value))
            return
        if isinstance(expected, (StructTy, FunctionTy)):
            value = conversions.convert(body, value, expected, body.at(node.value))
        else:
            value = conversions.materialize(body, value)
    except ErrorReported:
        if isinstance(expected, StructTy) and not body.frame.module.is_library:
            variable_declarations.declare_uninitialized(
                body, name, expected, node
            )  # what follows is wrong only if it does not fit this type
        raise
    if isinstance(value, FunctionValue) and not body.frame.module.is_library:
        variable_declarations.check_function(body, value, body.at(node.value))
    variable_declarations.declare_var(body, name, value, body.at(node.target), value_span=body.at(node.value))
