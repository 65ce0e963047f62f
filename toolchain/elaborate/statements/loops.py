"""Loops: `while`, `for`, comprehensions, and the jumps out of them."""

import contextlib
from collections.abc import Callable

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import dead_code, materialization, place_operations, variables
from ktc.elaborate.calls import conversions
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.expressions import conditions, operators
from ktc.elaborate.model.declarations import Scope, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, ParameterPack, StructTy
from ktc.elaborate.model.values import Arg, Binding, Place, Result, RValue, Val, Var
from ktc.elaborate.ownership import interior_references
from ktc.elaborate.resolve.hints import iteration_hint
from ktc.elaborate.resolve.suggestions import A_LOOP_VARIABLE, iteration_help
from ktc.elaborate.statements import assignment_targets, item_assignments, variable_declarations
from ktc.elaborate.statements.unrolling import ends_by_error, iterate, next_item, next_or_leave
from ktc.elaborate.tree.argument_uses import jumps
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.ir import nodes, ops, types
from ktc.syntax import ast

NOT = nodes.Const(types.BOOL, 1)


def while_(body: Body, node: ast.While) -> None:
    """Elaborate `while … else`."""
    never = False

    def head(exit_: Callable[[], None]) -> None:
        nonlocal never
        value = conditions.truth_of(body, node.condition)
        if isinstance(value, nodes.Const) and value.value:
            return
        never = isinstance(value, nodes.Const)
        body.open()
        exit_()
        done = body.close()
        body.set_dead(False)
        body.emit(nodes.If(ops.build("xor", (value, NOT)), done))

    def iteration() -> None:
        with dead_code.unreached(body) if never else contextlib.nullcontext():
            body.api.block(body, node.body)
        body.set_dead(body.dead or never)

    loop(body, head, iteration, node.orelse, node)


def loop(
    body: Body,
    head: Callable[[Callable[[], None]], None],
    iteration: Callable[[], None],
    orelse: tuple[ast.Stmt, ...],
    node: ast.Node,
) -> None:
    """Emit a loop: `head` gets the action that leaves it normally."""
    label = body.fresh()
    outer = body.fresh() if orelse else label
    leaves: list[bool] = []

    def exit_() -> None:
        if orelse:  # its jumps are those of the loop around this one
            here = body.flow.loops.pop()
            body.api.block(body, orelse)
            body.flow.loops.append(here)
        if not body.dead:
            leaves.append(True)
            body.emit(nodes.Break(outer))

    body.flow.loops.append((outer, label, len(body.flow.cleanups), nodes.Continue))
    body.open()
    head(exit_)
    iteration()
    inside = body.close()
    body.set_dead(False)
    body.flow.loops.pop()
    statement: nodes.Statement = nodes.Loop(label, inside, body.at(node))
    if orelse:
        statement = nodes.Block(outer, (statement,))
    body.emit(statement)
    body.set_dead(not leaves and outer not in body.flow.used_labels)


def jump(body: Body, leave: bool, node: ast.Node) -> None:
    """Elaborate `break` and `continue`."""
    if not body.flow.loops:
        body.fail(Code.SYNTAX_ERROR, f"'{'break' if leave else 'continue'}' outside a loop", body.at(node))
    outer, label, depth, again = body.flow.loops[-1]
    body.api.run_cleanups(body, depth)
    if leave or again is nodes.Break:  # else control comes back to the loop's head, and not after the loop
        body.flow.used_labels.add(outer if leave else label)
    body.emit(nodes.Break(outer) if leave else again(label))


def for_(body: Body, node: ast.For) -> None:
    """Elaborate `for`."""
    if node.comptime:
        unrolled(body, node)
        return
    span = body.at(node.iter)
    iterable = body.api.expr(body, node.iter)
    if isinstance(iterable, ParameterPack) and body.frame.module.edition is Edition.Y2026:
        unrolled(body, node)
        return
    if not isinstance(iterable, (RValue, Place, ConstValue)):
        body.fail(Code.TYPE_MISMATCH, "this cannot be iterated over", span)
    iterable = conversions.materialize(body, iterable)
    taking = _owned_iterator(body, iterable, node.iter)
    if isinstance(iterable, Place) and iterable.owned and not body.frame.module.is_library:
        iterable = replace(iterable, mutable=False)  # a temporary is not mutated
    iterator = _iterator(body, iterable, node.iter) if taking is None else taking
    held = variable_declarations.declare_var(body, "", iterator, span)
    del body.frame.scope.names[""]
    place = held.value
    assert isinstance(place, Place)
    if isinstance(iterable, Place) and iterable.local is not None and held.local is not None:
        held.local.points_to = (*held.local.points_to, iterable.local)

    by_error = ends_by_error(body, place)
    items: list[Place] = []

    def head(exit_: Callable[[], None]) -> None:
        interior_references.require(body, held, span)
        if by_error:
            items.append(next_or_leave(body, place, exit_, node.iter, span))
            return
        more = conditions.condition(body, operators.dunder(body, place, "__has_next__", [], node.iter), node.iter)
        body.open()
        exit_()
        done = body.close()
        body.set_dead(False)
        body.emit(nodes.If(ops.build("xor", (more, NOT)), done))

    by_trait = _has_type_parameter(body, node.iter)

    in_memory = _gives_parameter(body, place.ty)

    def iteration() -> None:
        item = items.pop() if by_error else next_item(body, place, node.iter, span, by_trait)
        if in_memory and node.convention == "ref" and isinstance(item, RValue):
            item = materialization.as_place(body, item)
        loop_body(body, node, item)

    loop(body, head, iteration, node.orelse, node)


def _has_type_parameter(body: Body, node: ast.Expr) -> bool:
    """Return whether an expression names an argument whose type is a type parameter of a function of the program."""
    if not isinstance(node, ast.Name) or body.frame.instance is None or body.frame.module.is_library:
        return False
    fn = body.frame.instance.fn
    kind = next((arg.type for arg in fn.node.args if arg.name == node.id), None)
    around = fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()
    named = isinstance(kind, ast.Name) and kind.id in {param.name for param in (*fn.node.params, *around)}
    named |= isinstance(kind, ast.Subscript) and getattr(kind.base, "id", "") == "Some"
    found = variables.find(body, node.id)
    return named and isinstance(found, Var) and found.kind == "arg" and found.body is body


def _gives_parameter(body: Body, iterator: Ty) -> bool:
    """Return whether items have the type of a type parameter: they lie in memory, also where it is a number's."""
    found = struct_members.method_set(body.elab, iterator, "__next__")
    if found is None or not isinstance(iterator, StructTy):
        return False
    result = found.functions[0].node.result
    return isinstance(result, ast.Name) and result.id in {param.name for param in iterator.info.node.params}


def _iterator(body: Body, iterable: Val, node: ast.Expr) -> Val:
    """Return the iterator over a value."""
    iterator = None
    if struct_members.method_set(body.elab, iterable.ty, "__iter__") is not None:
        iterator = operators.dunder(body, iterable, "__iter__", [], node)
        if iterator is None:
            iterator = operators.dunder(body, materialization.as_place(body, iterable), "__iter__", [], node)
    name = type_printer.type_name(body.elab, iterable.ty)
    text = f"a value of type '{name}' cannot be iterated over"
    if iterator is None:
        place_operations.require_bound(body, iterable, "__iter__", node)
        own = isinstance(iterable.ty, StructTy) and not iterable.ty.info.module.is_library
        body.fail(
            Code.TYPE_MISMATCH,
            text,
            body.at(node),
            iteration_hint(name, body.at(node).source.text[node.start : node.end]) or iteration_help(name, own),
        )
    by_reference = struct_members.method_set(body.elab, iterator.ty, "__next_ref__") is not None
    methods = ("__next__",) if ends_by_error(body, iterator) else ("__has_next__", "__next__")[: 2 - by_reference]
    for method in methods:
        if struct_members.method_set(body.elab, iterator.ty, method) is None:
            place_operations.require_bound(body, iterator, method, node)
            given = type_printer.type_name(body.elab, iterator.ty)
            text += f": its '__iter__' returns '{given}', which has no '{method}'"
            body.fail(Code.TYPE_MISMATCH, text, body.at(node))
    return iterator


def _owned_iterator(body: Body, iterable: Val, node: ast.Expr) -> Val | None:
    """Return the iterator that moves the values out of a container, of one that nothing else uses, in edition 2026."""
    if body.frame.module.edition is Edition.Y2025 or not isinstance(iterable, Place) or not iterable.owned:
        return None
    if struct_members.method_set(body.elab, iterable.ty, "__owned_iter__") is None:
        return None
    assert isinstance(iterable.ty, StructTy)
    item = iterable.ty.params[0]
    if isinstance(item, StructTy) and struct_types.is_trivial(body.elab, item):  # nobody sees the difference
        return None
    return operators.dunder(body, iterable, "__owned_iter__", [], node)


def loop_body(body: Body, node: ast.For, item: Result) -> None:
    """Bind the loop's variable and elaborate its body."""
    outer, body.frame.scope = body.frame.scope, Scope(body.frame.scope, "block", {}, body=body)
    try:
        target = node.target
        if isinstance(target, ast.TupleLit):
            if isinstance(item, (RValue, ConstValue)):
                item = variable_declarations.declare_var(body, "", item, body.at(target)).value
                del body.frame.scope.names[""]
            assignment_targets.unpack_value(body, target, item, node, True)
        elif isinstance(target, ast.Name) and target.id != "_":
            if isinstance(item, Place) and node.convention != "var" and not item.owned:
                if node.convention != "ref":
                    item = replace(item, mutable=False, owned=False, read_only_reason=A_LOOP_VARIABLE)
                body.frame.scope.names[target.id] = Var(target.id, item.ty, item, body.at(target), "loop", body=body)
            else:
                if node.convention == "ref":
                    variable_declarations.check_place(body, item, node.iter, "for")
                variable_declarations.declare_var(body, target.id, item, body.at(target), "loop")
        body.api.block(body, node.body, dict(body.frame.scope.names))  # it cannot declare these names again
    finally:
        body.frame.scope = outer


def unrolled(body: Body, node: ast.For) -> None:
    """Elaborate `@parameter for`: the body once for each value; `continue` leaves one, `break` all of them."""
    span = body.at(node.iter)
    values = iterate(body.elab, evaluation.param_arg(body, node.iter), span, body)
    if not jumps(node.body):
        for value in values:
            if body.dead:
                return
            iteration(body, node, value)
        body.api.block(body, node.orelse)
        return
    outer = body.fresh()
    body.open()
    for value in values:
        if body.dead:
            break
        label = body.fresh()
        body.flow.loops.append((outer, label, len(body.flow.cleanups), nodes.Break))
        body.open()
        iteration(body, node, value)
        emit_joined(body, label)
        body.flow.loops.pop()
    if not body.dead:
        body.api.block(body, node.orelse)
    emit_joined(body, outer)


def emit_joined(body: Body, label: int) -> None:
    """End a nested list of statements, which `label` leaves."""
    inside, reaches = body.close(), not body.dead or label in body.flow.used_labels
    body.set_dead(False)
    body.emit(nodes.Block(label, inside))
    body.set_dead(not reaches)


def iteration(body: Body, node: ast.For, value: Result) -> None:
    """Elaborate the body of `@parameter for` for one value."""
    names: dict[str, Binding] = {}
    _name_parts(body, node.target, value, names, body.at(node.iter))
    body.flow.unrolled_depth += 1
    body.api.block(body, node.body, names)
    body.flow.unrolled_depth -= 1


def _name_parts(body: Body, target: ast.Expr, value: Result, names: dict[str, Binding], span: Span) -> None:
    """Name a value that is known at compile time, or its parts."""
    if isinstance(target, ast.Name):
        names[target.id] = value
    elif isinstance(target, ast.TupleLit):
        for i, part in enumerate(target.items):
            number = Arg(ConstValue(well_known.library_type(body.elab, "Int"), i), span)
            inner = Body(body.elab, body.frame.module, body.frame.scope, body.frame.instance)
            found = item_assignments.apply_index(inner, value, [number], target)
            _name_parts(body, part, evaluation.param(inner, found, span), names, span)
