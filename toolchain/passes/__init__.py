"""Passes over the IR: in, what the elaborator made; out, the same with ownership settled.

`PASSES` in order: `copies` makes moves of the copies of values that nobody uses any more, `initialised` reports uses of
values that are not there, `drops` makes destruction explicit and removes the marks. A pass is a function of one
function; units are never changed in place. Then, for the host, `captures` puts values into environments in place of
addresses, and last, `frames` inlines what hands out memory of its frame.
"""

from collections.abc import Callable, Sequence

from ktc.diag.diagnostic import Sink
from ktc.ir.nodes import Function, Unit
from ktc.passes import captures, copies, drops, frames, initialised
from ktc.passes.slots import has_marks
from ktc.records import replace

Pass = Callable[[Function, object, Sink], Function]

PASSES: tuple[Pass, ...] = (copies.run, initialised.run, drops.run)


def check(functions: Sequence[Function], config: object, sink: Sink) -> None:
    """Report what the passes find in functions that are not compiled.

    Reports: UNINITIALIZED, NOT_DESTROYED, UNSUPPORTED.
    """
    for function in functions:
        if has_marks(function.body):
            settled = initialised.run(copies.run(function, config, sink), config, sink)
            if function.must_end:
                drops.run(settled, config, sink)


def run(unit: Unit, config: object, sink: Sink) -> Unit:
    """Run every pass over every function of a unit; return the new unit, which holds no marks.

    Reports: UNINITIALIZED, NOT_DESTROYED, UNSUPPORTED, UNSUPPORTED_ON_TARGET.
    """
    functions = {}
    for symbol, function in unit.functions.items():
        if has_marks(function.body):
            for one in PASSES:
                function = one(function, config, sink)
        functions[symbol] = function
    unit = replace(unit, functions=functions)
    if not getattr(unit.target, "is_device", False):  # kernels have no other functions around them
        unit = captures.run(unit)
    return frames.run(unit, sink)
