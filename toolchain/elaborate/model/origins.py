"""What the origins of places are. In: a parameter value, or an argument of a call. Out: an answer."""

from typing import Any

from ktc.elaborate.model.values import KV, OriginValue
from ktc.syntax import ast


def is_static(value: Any) -> bool:
    """Is it the origin of the program's constants."""
    return isinstance(value, KV) and isinstance(value.data, OriginValue) and value.data.kind == "static"


def wants_constant(body: Any, instance: Any, sig: Any) -> bool:
    """Must an argument be one of the program's constants; what is known while compiling is."""
    origin = sig.node.origin[0] if sig.node.origin else None
    if body.comptime or not isinstance(origin, ast.Name):
        return False
    return is_static(body.elab.lookup_quiet(instance.scope, origin.id, instance.fn))
