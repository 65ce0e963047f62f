"""Name lookup in a scope: locals, struct members, the module, the prelude,
the packages around the module."""

from ktc.elaborate.model.declarations import AliasInfo, ImportRef, ModuleInfo, Scope
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.model.values import Binding
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import struct_members


def find(elab: Elaboration, name: str, scope: Scope, module: ModuleInfo) -> Binding:
    """Return the binding of a name in a scope of a module, or None."""
    at: Scope | None = scope
    while at is not None:
        found: Binding = at.names.get(name)
        if found is not None:
            if isinstance(found, ImportRef):
                if found.weak and (usual := modules.prelude_name(elab, name)) is not None:
                    return usual
                found = modules.follow(elab, found)
                if found is not None:  # `unknown` knows a failed import by what stays
                    at.names[name] = found
            return found
        if isinstance(at.struct, StructTy) and module.is_library:  # programs write `Self.name`
            member = struct_members.member(elab, at.struct, name)
            if isinstance(member, AliasInfo):
                return elab.api.alias_value(elab, member, at.struct)
        at = at.parent
    found = modules.module_name(elab, module, name)
    if found is None:
        found = modules.prelude_name(elab, name)
    return modules.enclosing_name(elab, module, name) if found is None else found
