"""Members by the names of edition 2026.

Input: a struct and the name of a member or a parameter as a text of that edition writes it. Output: its name in the
library, which says them with `@edition("2026", name="…")` above a method, `@edition("2026", size="length")` above a
struct.
"""

from ktc.elaborate.model.declarations import StructInfo, TraitInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.types import struct_members

_CONVERSIONS = {"__str__": "String(…)", "__repr__": "repr(…)"}
"""Methods that the library's types have in edition 2025 only: the functions that call them there."""


def own_name(elab: Elaboration, info: StructInfo, name: str) -> tuple[str, str]:
    """Return the name of a member in the library; the second one: what to write where edition 2026 lacks the member."""
    if name in _CONVERSIONS and info.module.is_library:
        return name, _CONVERSIONS[name]
    found = _of(info, name)
    is_own = name in info.members and not info.module.is_library  # the library's own members are named as in 2025
    if found is None and not is_own and not any(param.name == name for param in info.node.params):
        found = next((one for trait in struct_members.traits_of(elab, info) if (one := _of(trait, name))), None)
    return found or (name, "")


def _of(info: StructInfo | TraitInfo, name: str) -> tuple[str, str] | None:
    if name in info.names_2026:
        return info.names_2026[name], ""
    return (name, info.hidden_2026[name]) if name in info.hidden_2026 else None
