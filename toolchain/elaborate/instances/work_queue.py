"""The instances whose bodies are still to be elaborated, and bodies that the library's archive has."""

import contextlib
from collections.abc import Iterator

from ktc.elaborate.model.body_store import Bodies, KeptBody
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.instance import Instance, UnitState
from ktc.ir import nodes, walk


def recall(elab: Elaboration, state: UnitState, symbol: str) -> KeptBody | None:
    """Return the kept body of a library function, and the symbols it refers to; None if none is kept."""
    found = state.bodies.get(symbol) if state.bodies is not None else None
    if found is not None:
        assert state.bodies is not None
        for name in found[1]:
            if name not in elab.instances.globals and name not in state.shared:
                _recall_global(elab, state, state.bodies, name)
    return found


def _recall_global(elab: Elaboration, state: UnitState, bodies: Bodies, name: str) -> None:
    made = bodies.constant(name)
    if made is None:
        return
    if made.space and made.content is None:
        state.shared[name] = made
        return
    elab.instances.globals[name] = made
    if isinstance(made.content, nodes.Const):
        for inner in walk.addresses_of(made.content.value):
            if inner not in elab.instances.globals:
                _recall_global(elab, state, bodies, inner)


def request(elab: Elaboration, instance: Instance) -> None:
    """Put an instance on the work list; a kernel is only noted where kernels are elaborated one by one."""
    if instance.is_kernel and elab.instances.deferred_kernels is not None:
        elab.instances.deferred_kernels[instance.state.index, instance.symbol] = instance
        # Unreached functions are elaborated for their mistakes: this one is reached.
        elab.instances.elaborated.add(instance.fn.uid)
        return
    if instance.function is None and not instance.in_progress and instance.archived is None:
        instance.state.queue.append(instance)


@contextlib.contextmanager
def unrequested(elab: Elaboration) -> Iterator[None]:
    """Forget which instances are requested meanwhile: whoever reaches them requests them again."""
    before = {name: len(state.queue) for name, state in elab.instances.states.items()}
    try:
        yield
    finally:
        for name, state in elab.instances.states.items():
            del state.queue[before.get(name, 0) :]


def request_entry(elab: Elaboration, instance: Instance) -> None:
    """Put the program's entry on the work list."""
    request(elab, instance)
    elab.instances.entry = instance.symbol


def defer_kernels(elab: Elaboration) -> None:
    """Only note kernels from now on: they are elaborated one by one."""
    elab.instances.deferred_kernels = {}


def drain(elab: Elaboration, only: UnitState | None = None) -> None:
    """Elaborate all bodies on the work lists, or on that of one unit."""
    work = True
    while work:
        work = False
        for state in list(elab.instances.states.values()) if only is None else (only,):
            queue = state.queue
            queue.reverse()  # in the order of the calls: messages show the first way
            while queue:
                work = True
                instance, known = queue.pop(), len(queue)
                elab.api.elaborate_instance(elab, instance)
                queue[known:] = reversed(queue[known:])


def drain_closures(elab: Elaboration) -> None:
    """Make the bodies on the work lists that have to do with closures, and what they ask for.

    Not all that waits: this is called from within a body, and another body would begin inside of it, and so on.
    """
    work = True
    while work:
        work = False
        for state in list(elab.instances.states.values()):
            queue = state.queue
            first = next(
                (i for i, one in enumerate(queue) if one.environments or one.fn.parent is not None), len(queue)
            )
            while len(queue) > first:
                work = True
                elab.api.elaborate_instance(elab, queue.pop())
