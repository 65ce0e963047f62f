"""Code that control does not reach: it is elaborated for its mistakes and its types, and nothing of it is made."""

import contextlib
from collections.abc import Iterator

from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.elaboration import Body


@contextlib.contextmanager
def unreached(body: Body) -> Iterator[None]:
    """Elaborate code without a trace in the function's code; what it calls is not elaborated for its sake."""
    assigned, moved = set(body.assignments.assigned), set(body.facts.moved)
    refs, late_locals, used_labels = set(body.refs), set(body.late_locals), set(body.flow.used_labels)
    dead, depth = body.dead, len(body.blocks)
    body.open()
    body.set_dead(False)
    try:
        with work_queue.unrequested(body.elab):
            yield
    finally:
        while len(body.blocks) > depth:
            body.close()
        body.set_dead(dead)
        body.assignments.restore(assigned)
        body.facts.restore_moved(moved)
        body.restore_names(refs, late_locals)
        body.flow.restore_labels(used_labels)
