"""Name lookup in a scope: locals, struct members, the module, the prelude,
the packages around the module."""

from ktc.elaborate.model.declarations import AliasInfo, ImportRef, ModuleInfo, Scope
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import ModuleValue, StructTy
from ktc.elaborate.model.values import Binding
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import struct_members
from ktc.syntax import ast
from ktc.syntax.tree import Tree


def find(elab: Elaboration, name: str, scope: Scope, module: ModuleInfo) -> Binding:
    """Return the binding of a name in a scope of a module, or None."""
    at: Scope | None = scope
    while at is not None:
        found: Binding = at.names.get(name)
        if found is not None:
            if isinstance(found, ImportRef):
                if found.weak and (usual := modules.prelude_name(elab, name, module.edition)) is not None:
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
        found = modules.prelude_name(elab, name, module.edition)
    return _enclosing_name(elab, module, name) if found is None else found


def _enclosing_name(elab: Elaboration, module: ModuleInfo, name: str) -> Binding:
    """Return the meaning of a name in the packages around a module, the innermost first; None if there is none.

    These are the names of each package, its submodules, and its own name; then the submodules of the packages that it
    imports with `*`; in the main file the program's modules from which it imports anything.
    """
    package = elab.modules.package
    if module.is_library:
        return None
    if (
        module.name == "__main__"
        and package.has(name)
        and (name in module.imported_roots or name in _roots_inside(module))
    ):
        node = package.find(name, module.node)
        if node is not None and not node.source.is_library:
            return ModuleValue(modules.enter(elab, node))
    parts = module.name.split(".")
    parts = parts if package.is_package(module.node) else parts[:-1]
    while parts:
        node = package.find(".".join(parts), module.node)
        around = modules.enter(elab, node) if node is not None else None
        if around is not None:
            found = modules.member(elab, around, name)
            if found is not None:
                return found
            if parts[-1] == name:
                return ModuleValue(around)
        parts = parts[:-1]
    starred = () if name.startswith("_") else module.star_imports
    for one in starred:
        found = modules.submodule(elab, one, name)
        if found is not None:  # in `from os import *`, `os` is the package, also where it has a module of that name
            return ModuleValue(one) if one.name.rpartition(".")[2] == name else found
    return None


def _roots_inside(module: ModuleInfo) -> set[str]:
    """Return the first names of the modules from which functions and structs of a module import."""
    if module.roots_inside is None:
        module.roots_inside = set()
        tree = Tree()
        for function in module.node.body:
            for node in tree.walk(function) if isinstance(function, (ast.FunctionDecl, ast.StructDecl)) else ():
                match node:
                    case ast.Import(names=names):
                        module.roots_inside |= {written.partition(".")[0] for written, _ in names}
                    case ast.FromImport(module=written, level=0):
                        module.roots_inside.add(written.partition(".")[0])
                    case _:
                        pass
    return module.roots_inside
