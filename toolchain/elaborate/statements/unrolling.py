"""The values over which a loop is unrolled. In: a compile-time iterable. Out: its values as constants."""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.values import KV, LV, PackPV
from ktc.ir import nodes, types
from ktc.ir.interpret import EvaluationError
from ktc.syntax import ast

MAX_TURNS = 100_000
"""How often a loop may be unrolled."""


def iterate(elab: Any, value: Any, span: Span, asking: Any) -> list[Any]:
    """Return the values that a compile-time iterable gives."""
    if isinstance(value, PackPV):
        return list(value.items)
    body = elab.new_body(asking.module, asking.scope, asking.instance)
    node = ast.Pass(span.start, span.end)
    if not isinstance(value, KV):
        elab.fail(Code.TYPE_MISMATCH, "this cannot be iterated over at compile time", span)
    iterator = body.dunder(value, "__iter__", [], node)
    if iterator is None:
        elab.fail(Code.TYPE_MISMATCH, f"a value of type '{elab.type_name(value.ty)}' cannot be iterated over", span)
    state = body.param(iterator, span)
    known = elab.state.computed
    key = ("turns", state.ty, repr(state.data))
    if key not in known:
        known[key] = _turns(elab, state, span, asking)
    return list(known[key])


def _turns(elab: Any, state: KV, span: Span, asking: Any) -> list[Any]:
    """Run an iterator to its end: one function makes a turn, and it is elaborated and translated once."""
    node = ast.Pass(span.start, span.end)
    body = elab.new_body(asking.module, asking.scope, asking.instance)
    held, target = nodes.Argument(0, types.PTR), nodes.Argument(1, types.PTR)
    place = LV(state.ty, held, True)
    more = body.condition(body.dunder(place, "__has_next__", [], node), node)
    done = (nodes.Return(nodes.Const(types.BOOL, 0)),)
    body.emit(nodes.If(more, (), done))
    item = body.dunder(place, "__next__", [], node)
    kind = elab.ir(item.ty)
    if types.size_of(kind):
        body.store_bits(target, item)
    body.emit(nodes.Return(nodes.Const(types.BOOL, 1)))
    arguments = (("state", types.PTR), ("item", types.PTR))
    turn = nodes.Function("comptime", "the iterator of a loop", arguments, types.BOOL, body.finish())
    found: list[Any] = []
    interpreter = elab.interpreter()
    try:
        run = interpreter.prepare(turn)
        own = interpreter.allocate(max(1, types.size_of(elab.ir(state.ty))), 64)
        interpreter.write(elab.ir(state.ty), own, state.data)
        to = interpreter.allocate(max(1, types.size_of(kind)), 64)
        while len(found) < MAX_TURNS and run((own, to)):
            const, made = interpreter.freeze(kind, interpreter.read(kind, to))
            for one in made:
                elab.globals[one.name] = one
            found.append(KV(item.ty, const.value))
    except EvaluationError as error:
        elab.evaluation_failed(error, span)
    if len(found) == MAX_TURNS:
        elab.fail(Code.COMPILE_TIME_LIMIT, f"this loop is unrolled more than {MAX_TURNS} times", span)
    return found
