"""Keys of compile-time computations, so that equal ones run once.

Input: the statements that a body has emitted, and their result. Output: a key that is equal for statements that do the
same, or None for those that the key does not describe. Only what has no state is described: constants, own temporaries
and locals, and globals that never change; names of constants follow from their content.
"""

from collections.abc import Callable, Sequence

from ktc.base.records import field_names
from ktc.diag.source import Span
from ktc.ir import nodes, types

_MAX_STATEMENTS = 12
"""Longer computations are seldom met twice, and their key costs more."""


_PLAIN = (str, int, bool, type(None), types.IntType, types.FloatType, types.StructType, types.ArrayType,
          types.VectorType, types.PointerType, types.VoidType)  # fmt: skip


class _Unknown(Exception):
    """This is not described."""


def computation(
    statements: Sequence[nodes.Statement], held: nodes.Value, kind: types.Type, is_constant: Callable[[str], bool]
) -> tuple[object, ...] | None:
    """Return the key of statements that compute `held`, or a `kind` at that address.

    `is_constant` says of a global's name whether it is a function or never changes.
    """
    if len(statements) > _MAX_STATEMENTS:
        return None
    own: dict[object, int] = {}

    def described(part: object) -> object:
        match part:
            case nodes.Const(kind, value):
                return kind, repr(value)  # a text: -0.0 equals 0.0, and True equals 1
            case nodes.Temp():
                return own[part]
            case nodes.LocalAddress(local):
                return "&", own[local]
            case nodes.Let(temp, action):
                found = described(action)
                if temp is not None:
                    own[temp] = len(own)
                return found
            case nodes.Declare(local):
                own[local] = len(own)
                return (
                    local.type,
                    local.drop,
                    local.field_drops,
                    tuple(own[one] for one in local.points_to),
                    local.align,
                )
            case nodes.Mark(kind, local, path):
                return kind, own[local], path
            case nodes.GlobalAddress(name):
                if not is_constant(name):
                    raise _Unknown
                return "@", name
            case tuple():
                return tuple(map(described, part))
            case nodes.Op() | nodes.Call() | nodes.Load() | nodes.Store() | nodes.MemCopy():
                return type(part), *(described(getattr(part, name)) for name in field_names(part))
            case Span():
                return None
            case _ if isinstance(part, _PLAIN):
                return part
            case _:
                raise _Unknown

    try:
        key = tuple(map(described, statements)), described(held), kind
        hash(key)
    except (_Unknown, KeyError, TypeError):
        return None
    return key
