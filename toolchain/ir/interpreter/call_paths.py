"""Who calls a C function: the way from a function of a unit to the call, for a message.

Input: a unit, where to start, and names. Output: the innermost place in a user's file on the way to the first such
call.
"""

from collections.abc import Sequence

from ktc.diag.source import Span
from ktc.ir import nodes, walk

HEAP_FUNCTIONS = ("malloc", "realloc", "aligned_alloc", "posix_memalign")


def external_call(unit: nodes.Unit, start: str, names: Sequence[str]) -> tuple[str, Span | None]:
    """Return the name that is called first, counting calls on the way, and the user's place; "" if none is."""
    work: list[tuple[str, Span | None]] = [(start, None)]
    seen = {start}
    for symbol, place in work:
        function = unit.functions.get(symbol)
        for statement in walk.statements(function.body) if function is not None else ():
            match statement:
                case nodes.Let(_, action, span):
                    at = span if span is not None and not span.source.is_library else place
                case _:
                    continue
            match action:
                case nodes.CallExternal(name) if name in names:
                    return name, at
                case nodes.Call(callee) if callee not in seen:
                    seen.add(callee)
                    work.append((callee, at))
    return "", None
