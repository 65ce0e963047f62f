"""Items of iterators: the next one in a loop, and all of a compile-time iterable, over which a loop is unrolled.

Input: an iterator. Output: an item, for which an iterator of edition 2026 may leave the loop by an error; or constants.
"""

from collections.abc import Callable

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import locals, partial_moves, place_operations
from ktc.elaborate.comptime import evaluation, running
from ktc.elaborate.expressions import conditions, operators
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.types import ConstValue, ParameterArgument, ParameterPack
from ktc.elaborate.model.values import Place, Result, Val
from ktc.elaborate.statements import exits
from ktc.elaborate.types import struct_members, struct_types, type_printer
from ktc.ir import nodes, types
from ktc.ir.interpreter.interpret import EvaluationError
from ktc.syntax import ast

MAX_ITERATIONS = 100_000
"""How often a loop may be unrolled."""


def iterate(elab: Elaboration, value: Result, span: Span, asking: Body) -> list[ParameterArgument]:
    """Return the values that a compile-time iterable gives."""
    if isinstance(value, ParameterPack):
        return list(value.items)
    body = Body(elab, asking.frame.module, asking.frame.scope, asking.frame.instance)
    node = ast.Pass(span.start, span.end)
    if not isinstance(value, ConstValue):
        elab.fail(Code.TYPE_MISMATCH, "this cannot be iterated over at compile time", span)
    iterator = operators.dunder(body, value, "__iter__", [], node)
    if iterator is None:
        elab.fail(
            Code.TYPE_MISMATCH,
            f"a value of type '{type_printer.type_name(elab, value.ty)}' cannot be iterated over",
            span,
        )
    state = evaluation.param(body, iterator, span)
    assert isinstance(state, ConstValue)
    known = elab.instances.state.evaluated
    key = ("iterations", state.ty, repr(state.data))
    if key not in known:
        known[key] = _iterations(elab, state, span, asking)
    return list(known[key])


def next_item(body: Body, iterator: Place, node: ast.Node, span: Span, by_trait: bool = False) -> Val:
    """Return the next item: a reference where the iterator has `__next_ref__`, else what `__next__` gives.

    Args:
        by_trait: only what the trait `Iterator` promises is known of the iterator.
    """
    name = "__next__" if by_trait else "__next_ref__"
    if struct_members.method_set(body.elab, iterator.ty, name) is None:
        name = "__next__"
    item = operators.dunder(body, iterator, name, [], node)
    if item is None:
        body.fail(Code.TYPE_MISMATCH, f"'{name}' of the iterator cannot be called", span)
    return item


def ends_by_error(body: Body, iterator: Val) -> bool:
    """Return whether an iterator says by an error that nothing is left."""
    following = struct_members.method_set(body.elab, iterator.ty, "__next__")
    raises = following is not None and any(fn.raises for fn in following.functions)
    return raises and struct_members.method_set(body.elab, iterator.ty, "__has_next__") is None


def next_or_leave(body: Body, iterator: Place, leave: Callable[[], None], node: ast.Expr, span: Span) -> Place:
    """Emit the call of `__next__`; an error leaves the loop. Returns the item's place."""
    item, end = locals.temporary(body, operators.type_of_call(body, iterator, "__next__", node)), body.fresh()

    def fetch() -> None:
        place_operations.init_moved(body, item.ty, item.pointer, next_item(body, iterator, node, span, True), span)
        partial_moves.mark(body, "init", item)

    body.open()
    if exits.guarded(body, fetch, end, ()) is not None:
        leave()
    inside = body.close()
    body.set_dead(False)
    body.emit(nodes.Block(end, inside))
    return Place(item.ty, item.pointer, True, item.local, (), True)


def _iterations(elab: Elaboration, state: ConstValue, span: Span, asking: Body) -> list[ConstValue]:
    """Run an iterator to its end: one function runs an iteration; it is elaborated and translated once."""
    node = ast.Pass(span.start, span.end)
    body = Body(elab, asking.frame.module, asking.frame.scope, asking.frame.instance)
    held, target = nodes.Argument(0, types.PTR), nodes.Argument(1, types.PTR)
    place = Place(state.ty, held, True)
    more = conditions.condition(body, operators.dunder(body, place, "__has_next__", [], node), node)
    done = (nodes.Return(nodes.Const(types.BOOL, 0)),)
    body.emit(nodes.If(more, (), done))
    item = next_item(body, place, node, span)
    kind = struct_types.ir_type(elab, item.ty)
    if types.size_of(kind):
        place_operations.store_bits(body, target, item)
    body.emit(nodes.Return(nodes.Const(types.BOOL, 1)))
    arguments = (("state", types.PTR), ("item", types.PTR))
    iteration = nodes.Function("comptime", "the iterator of a loop", arguments, types.BOOL, body.finish())
    found: list[ConstValue] = []
    interpreter = running.interpreter_for(elab)
    try:
        run = interpreter.prepare(iteration)
        own = interpreter.allocate(max(1, types.size_of(struct_types.ir_type(elab, state.ty))), 64)
        interpreter.write(struct_types.ir_type(elab, state.ty), own, state.data)
        to = interpreter.allocate(max(1, types.size_of(kind)), 64)
        while len(found) < MAX_ITERATIONS and run((own, to)):
            const, made = interpreter.freeze(kind, interpreter.read(kind, to))
            for one in made:
                elab.instances.add_global(one)
            found.append(ConstValue(item.ty, const.value))
    except EvaluationError as error:
        running.evaluation_failed(elab, error, span)
    if len(found) == MAX_ITERATIONS:
        elab.fail(Code.COMPILE_TIME_EVALUATION_LIMIT, f"this loop is unrolled more than {MAX_ITERATIONS} times", span)
    return found
