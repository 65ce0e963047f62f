"""Assignment targets: names, items, attributes, and tuples of them."""

from collections.abc import Callable, Sequence
from functools import partial

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.elaborate.builder import locals, materialization, variables
from ktc.elaborate.builder.linear_types import check_dropped
from ktc.elaborate.calls import conversions
from ktc.elaborate.calls.writeback import fetched
from ktc.elaborate.expressions import literals, operands
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, ParameterPack, StructTy
from ktc.elaborate.model.values import Arg, Place, Result, RValue, Val, Var
from ktc.elaborate.resolve.suggestions import A_LOOP_VARIABLE, mutability_help
from ktc.elaborate.statements import item_assignments, overwrites, variable_declarations
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.ir import nodes
from ktc.syntax import ast
from ktc.syntax.editions import PROJECT_FILE

Prepared = Callable[[Result], None]
"""A function that stores a value in a target whose base and indices have been evaluated."""


def store(body: Body, target: ast.Expr, value: Result, node: ast.Node) -> None:
    """Store a value in a target."""
    span = body.at(target)
    if isinstance(target, ast.Name):
        if target.id == "_":
            locals.discard(body, value)
            if isinstance(value, Place) and value.local is not None:
                if value.owned and not value.path:
                    check_dropped(body, value.ty, span)
                body.emit(nodes.Mark("use", value.local, value.path if value.local.field_drops else ()))
            return
        found = variables.find(body, target.id)
        if not isinstance(found, Var) or (found.body is not body and found.kind != "out"):
            if isinstance(found, Var) and found.body is not None:
                place = variables.outer_variable(body, found, target)
                if isinstance(place, Place) and place.read_only_reason != "foreign":
                    if not place.mutable:
                        help = mutability_help(place.read_only_reason)
                        body.fail(Code.CANNOT_MUTATE, f"'{target.id}' is read only", span, help)
                    overwrites.store_place(body, place, value, span, "")
                    return
            if not body.frame.module.is_library and overwrites.is_not_declared_by(body, target):
                return
            _check_declares(body, target, node)
            variable_declarations.declare_var(
                body, target.id, conversions.materialize(body, value), span, function_scope=True
            )
            return
        overwrites.store_var(body, found, value, target)
    elif isinstance(target, ast.Attribute):
        item_assignments.store_attribute(body, target, value, node)
    elif isinstance(target, ast.Subscript):
        item_assignments.store_in_item(body, target, value)
    elif isinstance(target, ast.TupleLit):
        unpack_value(body, target, conversions.materialize(body, value), node, False)
    elif isinstance(target, ast.Bound):
        _bind_pattern(body, target, value, node)
    else:
        there = body.api.expr(body, target)
        if not isinstance(there, Place) or not there.mutable or there.owned:
            reason = f": it is {there.read_only_reason}" if isinstance(there, Place) and there.read_only_reason else ""
            body.fail(Code.CANNOT_MUTATE, f"this cannot be assigned to{reason}", span)
        overwrites.store_place(body, there, value, span, "")


def _check_declares(body: Body, target: ast.Name, node: ast.Node) -> None:
    """Report a first assignment that declares a variable, which edition 2026 does with 'var' only."""
    if body.frame.module.edition is Edition.Y2025:
        return
    if isinstance(node, ast.Walrus) and body.frame.module.source.text.startswith("var", node.start):
        return
    span = body.at(target)
    span = replace(span, end=span.start + len(target.id))
    if isinstance(node, ast.Walrus):
        body.frame.function_scope.names[target.id] = None  # one mistake, one message
    text = f"an assignment does not declare '{target.id}' in edition 2026"
    chosen = body.frame.module.source.edition
    is_fixed = chosen is not None and PROJECT_FILE in chosen.reason
    switch = "" if is_fixed else f"; a text of edition {Edition.Y2025.value} needs '--edition {Edition.Y2025.value}'"
    body.fail(Code.WRONG_EDITION, text, span, f"write 'var {target.id}'{switch}")


def unpack(body: Body, target: ast.TupleLit, value: ast.Expr | None, node: ast.Node, declare: bool) -> None:
    """Elaborate `a, b = v`."""
    if value is None:
        body.fail(Code.UNINITIALIZED, "these variables need a value", body.at(node))
    # as in `a[i] = v`, what a target indexes or has a field is evaluated before the values
    prepared = [None if declare else _prepared(body, part, node) for part in target.items]
    if isinstance(value, ast.TupleLit) and len(value.items) == len(target.items):
        given = [
            operands.operand(body, item, lambda one: conversions.materialize(body, body.api.expr(body, one)))
            for item in value.items
        ]
        values = [conversions.materialize(body, fetched(body, one)) for one in given]
        if any(map(partial(_is_made_whole, body), values)):
            held: Sequence[Result] = items_of(body, literals.make_tuple(body, values, value), len(values), node)
        else:
            held = [variable_declarations.snapshot(body, v) for v in values]
        for part, store_there, one in zip(target.items, prepared, held, strict=True):
            _store_part(body, part, store_there, one, node, declare)
        return
    unpack_value(body, target, conversions.materialize(body, body.api.expr(body, value)), node, declare, prepared)


def _prepared(body: Body, target: ast.Expr, node: ast.Node) -> Prepared | None:
    """Evaluate what a target of a tuple has before the values; return what stores a value there, if it is not just a
    name.
    """
    if isinstance(target, ast.Subscript):
        return item_assignments.prepared_item(body, target)
    if isinstance(target, ast.Attribute) and item_assignments.is_computed_path(body, target.value):
        return item_assignments.prepared_attribute(body, target, node)
    if isinstance(target, ast.TupleLit):
        parts = [_prepared(body, part, node) for part in target.items]
        return lambda value: unpack_value(body, target, conversions.materialize(body, value), node, False, parts)
    return None


def _store_part(
    body: Body, target: ast.Expr, prepared: Prepared | None, value: Result, node: ast.Node, declare: bool
) -> None:
    if prepared is not None:
        prepared(value)
    else:
        bind_target(body, target, value, node, declare)


def _items_help(body: Body, whole: Ty, node: ast.Node) -> str:
    """Return the help for a loop over a mapping that wants its keys and its values."""
    if isinstance(whole, StructTy) and {"key", "value"} <= {
        name for name, _ in struct_types.fields_of(body.elab, whole)
    }:
        return "give it one name, and take its '.key' and its '.value'"
    if not isinstance(node, ast.For):
        return ""
    ty = getattr(body.api.expr(body, node.iter), "ty", None)
    if not isinstance(ty, StructTy):
        return ""
    if struct_members.method_set(body.elab, ty, "items") is None:
        text = body.frame.module.source.text[node.iter.start : node.iter.end]
        return f"write 'enumerate({text})' for items with their index" if len(text) <= 30 else ""
    return f"write '{body.frame.module.source.text[node.iter.start : node.iter.end]}.items()'"


def unpack_value(
    body: Body,
    target: ast.TupleLit,
    whole: Result,
    node: ast.Node,
    declare: bool,
    prepared: Sequence[Prepared | None] = (),
) -> None:
    """Give the parts of a value to the targets."""
    whole = materialization.as_place(body, whole)
    is_tuple = isinstance(whole.ty, StructTy) and whole.ty.info is well_known.tuple_type(body.elab, ()).info
    pack = whole.ty.params[0] if isinstance(whole.ty, StructTy) and is_tuple else None
    if isinstance(pack, ParameterPack) and len(pack.items) != len(target.items):
        text = f"{len(pack.items)} values cannot be unpacked into {len(target.items)} names"
        body.fail(Code.TYPE_MISMATCH, text, body.at(target))
    if not is_tuple:
        text = f"a value of type '{type_printer.type_name(body.elab, whole.ty)}' cannot be unpacked: it is not a tuple"
        body.fail(Code.TYPE_MISMATCH, text, body.at(target), _items_help(body, whole.ty, node))
    for i, part in enumerate(target.items):
        _store_part(body, part, prepared[i] if prepared else None, item_of(body, whole, i, node), node, declare)


def item_of(body: Body, whole: Result, i: int, node: ast.Node) -> Val:
    """Return a part of a value by its number."""
    number = Arg(ConstValue(well_known.library_type(body.elab, "Int"), i), body.at(node))
    return item_assignments.apply_index(body, whole, [number], node)


def items_of(body: Body, whole: Result, count: int, node: ast.Node) -> list[Val]:
    """Return the parts of a tuple."""
    place = materialization.as_place(body, whole)
    return [item_of(body, place, i, node) for i in range(count)]


def _is_made_whole(body: Body, value: Result) -> bool:
    """Return whether `a, b = v, w` makes a tuple first: not if only the library's own copies could observe it."""
    if (
        body.frame.module.is_library
        or not isinstance(value, (RValue, Place, ConstValue))
        or not isinstance(value.ty, StructTy)
    ):
        return False
    ty = value.ty
    unseen = struct_types.is_trivial(body.elab, ty) or (
        ty.info.module.is_library and struct_types.moves_plainly(body.elab, ty)
    )
    return not (unseen and struct_members.is_copied_implicitly(body.elab, ty))


def bind_target(body: Body, target: ast.Expr, value: Result, node: ast.Node, declare: bool) -> None:
    """Give a value to one target of an assignment."""
    if isinstance(target, ast.TupleLit):
        unpack_value(body, target, conversions.materialize(body, value), node, declare)
    elif isinstance(target, ast.Bound):
        _bind_pattern(body, target, value, node)
    elif declare and isinstance(target, ast.Name) and target.id != "_":
        if isinstance(node, ast.For) and isinstance(value, Place) and node.convention != "var":
            # parts of a loop's value stay in it
            value = replace(value, mutable=False, owned=False, read_only_reason=A_LOOP_VARIABLE)
            body.frame.scope.names[target.id] = Var(target.id, value.ty, value, body.at(target), "loop", body=body)
            return
        variable_declarations.check_new(body, target.id, target.start)
        variable_declarations.declare_var(body, target.id, value, body.at(target))
    else:
        store(body, target, value, node)


def _bind_pattern(body: Body, pattern: ast.Bound, value: Result, node: ast.Node) -> None:
    """Declare what a part of a pattern names: a variable, or a reference to a part of the value."""
    target = pattern.target
    if pattern.convention != "ref" or not isinstance(target, ast.Name):
        bind_target(body, target, value, node, True)
        return
    variable_declarations.declare_reference(body, target, materialization.as_place(body, value))
