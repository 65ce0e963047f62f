"""Passes over the IR that settle ownership: they take what the elaborator made and remove its marks.

`PASSES` run in order on each function: `copy_elision` turns copies of values that are not used again into moves,
`definite_initialization` reports uses of values that are not there, `drop_insertion` adds the destructor calls and
removes the marks. A pass returns a new function; units are never changed in place. From -O1 on `constant_choices`
rewrites conditions that choose between constants. Three passes then run on the whole unit: `fused_products`
(processors only) decides which products and sums are one operation, `capture_by_value` (host only) replaces addresses
in closure environments by values, and `frame_inlining` inlines functions that return memory of their own frame.
"""

from collections.abc import Callable, Sequence

from ktc.base.records import replace
from ktc.diag.diagnostic import Sink
from ktc.ir.nodes import Function, Unit
from ktc.passes import (
    capture_by_value,
    constant_choices,
    copy_elision,
    definite_initialization,
    drop_insertion,
    frame_inlining,
)
from ktc.passes.fusing import fused_products
from ktc.passes.slots import has_marks

Pass = Callable[[Function, object, Sink], Function]

PASSES: tuple[Pass, ...] = (copy_elision.run, definite_initialization.run, drop_insertion.run)


def settled(function: Function) -> Function:
    """Return a function as it runs at compile time: with its moves and destructor calls. Mistakes are not reported."""
    if not has_marks(function.body):
        return function
    sink = Sink()
    return drop_insertion.run(copy_elision.run(function, None, sink), None, sink)


def check(functions: Sequence[Function], config: object, sink: Sink) -> None:
    """Report what the passes find in functions that are not compiled.

    Reports: UNINITIALIZED, NOT_DESTROYED, UNSUPPORTED.
    """
    for function in functions:
        if has_marks(function.body):
            settled = definite_initialization.run(copy_elision.run(function, config, sink), config, sink)
            if function.forbidden_destructors:
                drop_insertion.run(settled, config, sink)


def run(unit: Unit, config: object, sink: Sink) -> Unit:
    """Run every pass over every function of a unit; return the new unit, which holds no marks.

    Reports: UNINITIALIZED, NOT_DESTROYED, UNSUPPORTED, UNSUPPORTED_ON_TARGET.
    """
    chooses = getattr(config, "level", 0) > 0
    functions = {}
    for symbol, function in unit.functions.items():
        if has_marks(function.body):
            for one in PASSES:
                function = one(function, config, sink)
        functions[symbol] = constant_choices.run(function) if chooses else function
    if getattr(unit.target, "fuses_products", False):
        functions = fused_products.run(functions)
    unit = replace(unit, functions=functions)
    if not getattr(unit.target, "is_device", False):  # kernels have no other functions around them
        unit = capture_by_value.run(unit)
    return frame_inlining.run(unit, sink)
