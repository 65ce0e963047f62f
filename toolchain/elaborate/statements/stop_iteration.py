"""Iterators that end by an error: `__next__` that raises, without `__has_next__`, as edition 2026 has them.

Input: an iterator. Output: in each iteration a call of `__next__` whose error leaves the loop, and the item in a place.
"""

from collections.abc import Callable

from ktc.diag.source import Span
from ktc.elaborate.builder import locals, partial_moves, place_operations
from ktc.elaborate.expressions import operators
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Place, Val
from ktc.elaborate.statements import exits
from ktc.elaborate.types import struct_members
from ktc.ir import nodes
from ktc.syntax import ast


def ends_by_error(body: Body, iterator: Val) -> bool:
    """Return whether an iterator says by an error that nothing is left."""
    following = struct_members.method_set(body.elab, iterator.ty, "__next__")
    raises = following is not None and any(fn.raises for fn in following.functions)
    return raises and struct_members.method_set(body.elab, iterator.ty, "__has_next__") is None


def next_or_leave(body: Body, iterator: Place, leave: Callable[[], None], node: ast.Expr, span: Span) -> Place:
    """Emit the call of `__next__`; an error leaves the loop. Returns the item's place."""
    inner = Body(body.elab, body.frame.module, body.frame.scope, body.frame.instance)
    inner.site.is_reflected = True
    with work_queue.unrequested(body.elab):
        kind = _next(inner, iterator, node)
    assert isinstance(kind.ty, StructTy)
    item, end = locals.temporary(body, kind.ty), body.fresh()

    def fetch() -> None:
        place_operations.init_moved(body, item.ty, item.pointer, _next(body, iterator, node), span)
        partial_moves.mark(body, "init", item)

    body.open()
    if exits.guarded(body, fetch, end, ()) is not None:
        leave()
    inside = body.close()
    body.set_dead(False)
    body.emit(nodes.Block(end, inside))
    return Place(item.ty, item.pointer, True, item.local, (), True)


def _next(body: Body, iterator: Place, node: ast.Expr) -> Val:
    item = operators.dunder(body, iterator, "__next__", [], node)
    assert item is not None  # it has such a method, which takes no arguments
    return item
