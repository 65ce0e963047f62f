"""Functions of a unit that suspend a thread on a target without an instruction for it (`Target.blocking_intrinsics`).

Input: a unit. Output: their names; an error for a function that cannot be inlined into its kernel.
"""

from collections.abc import Set

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.ir import nodes as ir
from ktc.ir import walk


def blocking_functions(unit: ir.Unit) -> set[str]:
    """Return the functions that wait, themselves or in their callees."""
    names: Set[str] = getattr(unit.target, "blocking_intrinsics", frozenset())
    found: set[str] = set()
    callers: dict[str, set[str]] = {}
    for symbol, function in unit.functions.items() if names else ():
        for action in walk.actions(function):
            if isinstance(action, ir.Call):
                callers.setdefault(action.function, set()).add(symbol)
            elif isinstance(action, ir.CallIntrinsic) and action.name in names:
                found.add(symbol)
    work = list(found)
    while work:
        new = callers.get(work.pop(), set()) - found
        found |= new
        work += new
    return found


def report_not_inlined(unit: ir.Unit, found: set[str], sink: Sink) -> None:
    """Report functions that wait and are still referred to: those that call themselves, and those that are values."""
    for function in unit.functions.values() if found else ():
        for name in sorted(walk.names(function) & found):
            other, target = unit.functions[name], unit.target.name  # type: ignore[attr-defined]
            how = "calls itself" if name in _reached(unit, name) else "is used as a value"
            text = f"'{other.title}' waits for other threads and {how}; on {target} it must become a part of its kernel"
            sink.report(Diagnostic(Code.UNSUPPORTED_ON_TARGET, other.span, text))


def _reached(unit: ir.Unit, symbol: str) -> set[str]:
    """Return the functions that a function calls, directly or not."""
    found: set[str] = set()
    work = [symbol]
    while work:
        function = unit.functions.get(work.pop())
        for action in walk.actions(function) if function is not None else ():
            if isinstance(action, ir.Call) and action.function not in found:
                found.add(action.function)
                work.append(action.function)
    return found
