"""Values of arguments that a call does not give.

In: the declared default of an argument of an instance. Out: its value here. A constant that does not say where the
call stands is kept with the instance: calls of `print` alone have three of them each.
"""

from typing import Any

from ktc.diag.source import Span
from ktc.elaborate.instances import ArgSig, Instance
from ktc.elaborate.values import KV


def default_value(body: Any, instance: Instance, sig: ArgSig, span: Span) -> Any:
    """Return the default of an argument, converted to its type."""
    default, module = sig.node.default, instance.fn.module
    assert default is not None
    value = instance.defaults.get(sig.name)
    if value is None:
        placed, body.placed = body.placed, False
        value = body.evaluate_in(default, instance.scope, module, sig.ty)
        if isinstance(value, KV) and not body.placed:
            instance.defaults[sig.name] = value
        body.placed = placed or body.placed
    where = span if module.is_library else Span(module.source, default.start, default.end)
    return body.convert(value, sig.ty, where)
