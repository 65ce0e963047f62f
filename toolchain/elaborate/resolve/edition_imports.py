"""Imports of edition 2026: the module and the name of this library that an import means.

Input: an import as it is written. Output: the import that says the same in the library's own names. Imports of edition
2025 and of the user's modules come back as they are.
"""

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.elaborate.model.declarations import ImportRef, ModuleInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.syntax.edition_names import EditionNames, in_edition_2026, prefixed, read
from ktc.syntax.import_places import module_place, name_place


def names_of(elab: Elaboration) -> EditionNames:
    """Return the table of names; it is read once."""
    found = elab.modules.edition_names
    if found is None:
        found = elab.modules.edition_names = read(elab.config.stdlib)
    return found


def meant(elab: Elaboration, ref: ImportRef) -> ImportRef | None:
    """Return the import in the library's own names; None after an error."""
    if ref.importer.edition is Edition.Y2025 or ref.level:
        return ref
    table = names_of(elab)
    if ref.name and (renamed := table.name(ref.module, ref.name)) is not None:
        return replace(ref, module=renamed[0], name=renamed[1])
    help = table.hidden(ref.module, ref.name) if ref.name else None
    if help is not None:
        text = f"module '{ref.module}' has no '{ref.name}' in edition 2026"
        elab.reporter.sink.report(Diagnostic(Code.WRONG_EDITION, name_place(ref.span, ref.name), text, help))
        return None
    if ref.name and table.module(f"{ref.module}.{ref.name}") == f"std.{ref.name}":  # `from std import memory`
        return replace(ref, module=f"std.{ref.name}", name="")
    module = table.module(ref.module)
    if module is not None:
        return replace(ref, module=module)
    return _unprefixed(elab, ref)


def _unprefixed(elab: Elaboration, ref: ImportRef) -> ImportRef:
    """Return the import of a user's module; report a library module without its root, and go on with it."""
    package, right = elab.modules.package, prefixed(ref.module)
    if not right or package.find(ref.module, ref.importer.node) is not None or ref.module in package.failed:
        return ref
    place = module_place(ref.span, ref.module)
    if place not in elab.modules.unprefixed:
        elab.modules.unprefixed.add(place)
        text = f"the module '{ref.module}' is '{right}' in edition 2026"
        elab.reporter.sink.report(Diagnostic(Code.WRONG_EDITION, place, text, f"write '{right}'"))
    return meant(elab, replace(ref, module=right)) or replace(ref, module=f"std.{ref.module}")


def member_import(elab: Elaboration, asking: ModuleInfo, module: ModuleInfo, name: str) -> ImportRef | None:
    """Return the import that `module.name` means in a text of edition 2026; None where the names are the library's."""
    if asking.edition is Edition.Y2025 or not module.is_library:
        return None
    table = names_of(elab)
    for public in table.public(module.name):
        if (found := table.name(public, name)) is not None:
            return ImportRef(found[0], 0, found[1], module, module.node_span())
        if (inner := table.modules.get(f"{public}.{name}")) is not None:
            return ImportRef(f"std.{inner}", 0, "", module, module.node_span())
    return None


def starred(elab: Elaboration, ref: ImportRef) -> tuple[list[str], set[str]]:
    """Return the names that `from m import *` brings beside those of the library's module, and those that it lacks."""
    if ref.importer.edition is Edition.Y2025:
        return [], set()
    table = names_of(elab)
    return list(table.names.get(ref.module, ())), set(table.removed.get(ref.module, ()))


def help_for_name(elab: Elaboration, module: ModuleInfo, name: str) -> str:
    """Return the help for a name that only edition 2025 has; "" for another name, and in its own texts."""
    return "" if module.edition is Edition.Y2025 else names_of(elab).help_for(name)


def help_for(module: ModuleInfo, help: str) -> str:
    """Return a help text with imports as the module's edition writes them."""
    return help if module.edition is Edition.Y2025 else in_edition_2026(help)
