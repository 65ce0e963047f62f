"""Modules, imports and the look-up of names.

Input: the `Package`. Output: bindings of names (`scope.py`). Modules are entered when a name of theirs is asked for; an
unused import that is broken costs and reports nothing, but in the main file all imports are checked.
"""

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FunctionInfo,
    ImportRef,
    ModuleInfo,
    OverloadSet,
    Scope,
    StructInfo,
    TraitInfo,
)
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.spelling import suggest
from ktc.elaborate.model.types import ModuleValue
from ktc.elaborate.model.values import Binding
from ktc.elaborate.resolve import edition_imports
from ktc.elaborate.resolve.hints import import_hint, module_hint
from ktc.elaborate.resolve.overload_sets import add_function, duplicate, is_named_import
from ktc.elaborate.resolve.reexports import declaring_import, reexported_names
from ktc.elaborate.resolve.suggestions import (
    missing_in_library,
    module_names,
    name_moved,
    suggest_import,
)
from ktc.elaborate.tree import async_functions, lifecycle
from ktc.elaborate.tree.decorators import (
    check_form,
    check_parameters,
    decorate_function,
    decorate_struct,
    read_traits,
)
from ktc.elaborate.tree.self_parameters import check_qualified
from ktc.syntax import ast
from ktc.syntax.import_places import module_place, name_place

PRELUDE = "prelude"

_CALLS_UP = "inline_count="
"""Text that marks a module with functions that ask for their caller's location."""


def enter(elab: Elaboration, node: ast.Module) -> ModuleInfo:
    """Return the module's info; its declarations are collected on the first call."""
    info = elab.modules.infos.get(id(node))
    if info is None:
        scope = Scope(None, "module")
        source = node.source
        asks = not source.is_library and _CALLS_UP in source.text
        name = elab.modules.package.names[id(node)]
        symbol_name = name if source.is_library else elab.modules.symbol_prefix + name
        info = ModuleInfo(name, symbol_name, node, source, scope, source.is_library, asks, node.edition)
        elab.modules.infos[id(node)] = info
        for statement in node.body:
            _declare(elab, statement, info)
    return info


def functions_in(elab: Elaboration, path: str) -> list[OverloadSet]:
    """Return the functions of the module in a file, in the order of their first declarations."""
    for info in elab.modules.infos.values():
        if info.source.path == path:
            return [value for value in info.scope.names.values() if isinstance(value, OverloadSet)]
    return []


def _declare(elab: Elaboration, node: ast.Stmt, module: ModuleInfo) -> None:
    names = module.scope.names
    match node:
        case ast.FunctionDecl():
            add_function(elab, names, function(elab, node, module, None, module.scope))
        case ast.StructDecl():
            _add(elab, names, node.name, _struct(elab, node, module), node, module)
        case ast.TraitDecl():
            _add(elab, names, node.name, _trait(elab, node, module), node, module)
        case ast.Alias():
            _add(elab, names, node.name, _alias(elab, node, module), node, module)
        case ast.Import() | ast.FromImport():
            add_imports(elab, names, node, module)
        case _:
            pass


def _add(
    elab: Elaboration,
    names: dict[str, Binding],
    name: str,
    value: Binding,
    node: ast.StructDecl | ast.TraitDecl | ast.Alias,
    module: ModuleInfo,
) -> None:
    old = names.get(name)
    if old is not None and (not isinstance(old, ImportRef) or is_named_import(old)):
        duplicate(elab, name, Span(module.source, node.name_start, node.name_start + len(name)), old)
        return
    names[name] = value


def add_imports(
    elab: Elaboration, names: dict[str, Binding], node: ast.Import | ast.FromImport, module: ModuleInfo
) -> None:
    """Enter the names that an import brings."""
    span = Span(module.source, node.start, node.end)
    if isinstance(node, ast.Import):
        for written, alias in node.names:
            dotted = written.lstrip(".")
            module.imported_roots.add(dotted.partition(".")[0])
            _add_module(names, ImportRef(dotted, len(written) - len(dotted), "", module, span), alias)
        return
    module.imported_roots.add("" if node.level else node.module.partition(".")[0])
    for name, alias in node.names:
        if name == "*":
            _star(elab, names, ImportRef(node.module, node.level, "", module, span))
            continue
        old = names.get(alias or name)
        if old is None or isinstance(old, ImportRef):
            names[alias or name] = ImportRef(node.module, node.level, name, module, span)
        elif not module.is_library:
            duplicate(elab, alias or name, span)


def _add_module(names: dict[str, Binding], ref: ImportRef, alias: str) -> None:
    """Enter what `import a.b` brings: `a`, and `b` where nothing else is called so; with `as` only that name."""
    if alias:
        names[alias] = ref
        return
    head, _, rest = ref.module.partition(".")
    names.setdefault(head, ImportRef(head, ref.level, "", ref.importer, ref.span))
    if rest:
        last = rest.rpartition(".")[2]
        names.setdefault(last, ImportRef(ref.module, ref.level, "", ref.importer, ref.span, implied=True))
        if ref.importer.name == "__main__":  # so that the import is checked, used or not
            names.setdefault("import " + ref.module, ref)


def _star(elab: Elaboration, names: dict[str, Binding], ref: ImportRef) -> None:
    more, hidden = edition_imports.starred(elab, ref)
    named = edition_imports.meant(elab, ref)
    found = _module_of(elab, named) if named is not None else None
    if found is None:
        names["*"] = None  # any name that is missing may be one of its names
        return
    if not ref.importer.is_library and elab.modules.package.is_package(found.node):
        ref.importer.star_imports.append(found)
    weak = not ref.importer.is_library
    more += reexported_names(elab.config.stdlib, ref.module) if weak and found.is_library else []
    for name in (*found.scope.names, *more):
        if not name.startswith("_") and name not in hidden:
            names.setdefault(name, ImportRef(ref.module, ref.level, name, ref.importer, ref.span, weak))


def function(
    elab: Elaboration, node: ast.FunctionDecl, module: ModuleInfo, owner: StructInfo | TraitInfo | None, scope: Scope
) -> FunctionInfo:
    """Make the info of a function declaration; decorators are read here, the library's heads stay packed."""
    if not module.is_library and "async" in node.effects and not async_functions.is_body(node):
        is_entry = owner is None and node.name == "main"
        node = async_functions.awaited(node) if is_entry else async_functions.lowered(node)
    name = node.name
    if owner is not None and not module.is_library:
        name, node = lifecycle.with_role(node, owner)
    fn = FunctionInfo(name, node, module, owner, scope, next(elab.modules.ids))
    for decorator in node.decorators:
        decorate_function(fn, decorator, elab.reporter.sink)
    if not module.is_library:
        check_form(fn, elab.reporter.sink)
        if node.captures is not None and module.edition is Edition.Y2026 and scope is module.scope:
            text = f"'{name}' has a list of captures, and is no function inside of another one"
            elab.reporter.sink.report(Diagnostic(Code.SYNTAX_ERROR, fn.span(), text, "leave the list out"))
    return fn


def _alias(elab: Elaboration, node: ast.Alias, module: ModuleInfo) -> AliasInfo:
    if not module.is_library:
        check_parameters(node.params, module.source, elab.reporter.sink)
    return AliasInfo(node.name, node, module, module.scope, next(elab.modules.ids))


def _struct(elab: Elaboration, node: ast.StructDecl, module: ModuleInfo) -> StructInfo:
    info = StructInfo(node.name, node, module, next(elab.modules.ids), module.scope)
    for decorator in node.decorators:
        decorate_struct(info, decorator, elab.reporter.sink)
    if module.edition is Edition.Y2026:
        read_traits(info)
        check_qualified(info, elab.reporter.sink)
    if not module.is_library:
        _check_names(elab, info)
    info.first_printed_param = sum(param.kind == "infer" for param in node.params)
    for statement in node.body:
        match statement:
            case ast.VarDecl(target=ast.Name(id=name)):
                if name not in info.members:
                    info.field_nodes.append(statement)
                _add_member(elab, info, name, statement)
            case ast.FunctionDecl():
                add_function(elab, info.members, function(elab, statement, module, info, module.scope))
            case ast.Alias():
                _add_member(elab, info, statement.name, _alias(elab, statement, module))
            case _:
                pass
    return info


def _check_names(elab: Elaboration, info: StructInfo) -> None:
    """Report parameters of a struct of one name, and members that have the name of one."""
    params = check_parameters(info.node.params, info.module.source, elab.reporter.sink)
    for node in info.node.body if params else ():
        match node:
            case ast.VarDecl(target=ast.Name(id=name)) | ast.Alias(name=name) | ast.FunctionDecl(name=name):
                if name in params:
                    start = getattr(node, "name_start", node.start)
                    duplicate(elab, name, Span(info.module.source, start, start + len(name)))
            case _:
                pass


def _add_member(elab: Elaboration, info: StructInfo, name: str, value: ast.VarDecl | AliasInfo) -> None:
    if name in info.members:
        node = value if isinstance(value, ast.VarDecl) else value.node
        duplicate(elab, name, Span(info.module.source, node.start, node.end))
        return
    info.members[name] = value


def _trait(elab: Elaboration, node: ast.TraitDecl, module: ModuleInfo) -> TraitInfo:
    info = TraitInfo(node.name, node, module, next(elab.modules.ids), module.scope)
    for statement in node.body:
        match statement:
            case ast.FunctionDecl():
                add_function(elab, info.members, function(elab, statement, module, info, module.scope))
            case ast.Alias():
                info.members[statement.name] = _alias(elab, statement, module)
            case _:
                pass
    return info


def module_name(elab: Elaboration, module: ModuleInfo, name: str) -> Binding:
    """Return the binding of a name in a module, imports followed; None if there is none."""
    value: Binding = module.scope.names.get(name)
    if isinstance(value, ImportRef):
        basic = prelude_of(elab, module.edition) if value.weak else None
        hidden = basic is not None and name in basic.names
        value = follow(elab, value)
        if value is not None and not hidden:
            module.scope.names[name] = value
    return value


def follow(elab: Elaboration, ref: ImportRef) -> Binding:
    """Return the declaration that an import refers to; None after an error."""
    written, renamed = ref, edition_imports.meant(elab, ref)
    if renamed is None:
        return None
    ref = renamed
    # `from . import x` and `from pkg import x` may mean a module inside the package
    module = _module_of(elab, ref)
    if module is None or not ref.name:
        return None if module is None else ModuleValue(module)
    if ref in elab.modules.followed:
        text = f"the import of '{ref.name}' is circular: no module of the cycle declares it"
        elab.reporter.sink.report(Diagnostic(Code.UNRESOLVED_IMPORT, name_place(ref.span, ref.name), text))
        return None
    elab.modules.followed.add(ref)
    try:
        value = member(elab, module, ref.name, ref)
    finally:
        elab.modules.followed.discard(ref)
    if value is None and module.is_library and not ref.importer.is_library and "." in module.name:
        # what the files of the library see, or import in the reference's, is imported from there too
        to = declaring_import(elab.config.stdlib, ref)
        if to is not None:
            to.importer = module  # whose names are the library's own
        value = follow(elab, to) if to is not None else prelude_name(elab, ref.name)
    if value is None:
        sub = elab.modules.package.find(f"{module.name}.{ref.name}", ref.importer.node)
        if sub is not None:
            return ModuleValue(enter(elab, sub))
        if not module.is_library:  # what every file sees is imported from there too
            value = prelude_name(elab, ref.name, module.edition)
    # A module may import from itself. Any other binding of the name reports its own error.
    if value is None and module.scope.names.get(ref.name, ref) is ref:
        text = f"module '{written.module}' has no '{written.name}'"
        names = [n for n in module.scope.names if not n.startswith("_")]
        help = import_hint(ref.module, ref.name) or suggest_import(ref.name, names, elab.config.stdlib)
        if module.is_library and missing_in_library(elab.config.stdlib, ref.module, ref.name):
            text, help = f"'{written.name}' of module '{written.module}' is not in this library yet", ""
        place, help = name_place(ref.span, written.name), edition_imports.help_for(ref.importer, help)
        elab.reporter.sink.report(Diagnostic(Code.UNRESOLVED_IMPORT, place, text, help))
    return value


def member(elab: Elaboration, module: ModuleInfo, name: str, asking: ImportRef | None = None) -> Binding:
    """Return the member of a module with a name, as other modules see it; None if there is none.

    A submodule hides what the package itself calls so.

    Args:
        asking: the import that is followed: it does not stand for itself.
    """
    package = elab.modules.package
    if not module.is_library and package.is_package(module.node) and package.has(f"{module.name}.{name}"):
        return submodule(elab, module, name)
    found: Binding = module.scope.names.get(name)
    return module_name(elab, module, name) if found is not asking or asking is None else None


def submodule(elab: Elaboration, module: ModuleInfo, name: str) -> ModuleValue | None:
    """Return `module.name` where it is a module."""
    sub = elab.modules.package.find(f"{module.name}.{name}", module.node)
    return ModuleValue(enter(elab, sub)) if sub is not None else None


def _module_of(elab: Elaboration, ref: ImportRef) -> ModuleInfo | None:
    """Return the module of an import, whose names are the library's own."""
    dotted = elab.modules.package.absolute(ref.importer.node, ref.level, ref.module)
    if dotted is None:
        elab.reporter.sink.report(
            Diagnostic(Code.MODULE_NOT_FOUND, ref.span, "the main file is in no package to import relative to")
        )
        return None
    node = elab.modules.package.find(dotted, ref.importer.node)
    if node is None:
        if dotted not in elab.modules.package.failed:
            several = elab.modules.package.named(dotted.split(".")[0])
            if len(several) > 1:
                names, place = " and ".join(map(str, several)), module_place(ref.span, ref.module)
                text = f"{len(several)} installed packages are called '{several[0].name}': {names}"
                elab.reporter.sink.report(Diagnostic(Code.FILE_ERROR, place, text, "uninstall all but one"))
                return None
            text = f"there is no module '{dotted}'"
            if dotted.split(".")[0] == "max":
                text = f"module '{dotted}' is not part of the language: it belongs to another product"
            known = module_names(elab.modules.package.search, elab.config.stdlib)
            basic = elab.modules.prelude_scope.names if elab.modules.prelude_scope is not None else ()
            help = name_moved(ref.name, dotted, known, basic, elab.config.stdlib)
            help = help or module_hint(dotted, known) or suggest(dotted, known)
            if missing_in_library(elab.config.stdlib, dotted):
                text = f"module '{dotted}' is not in this library yet"
            else:
                folders = ", ".join(f"'{folder}'" for folder in elab.modules.package.search)
                help = help or f"looked for in {folders} and the library; '-I FOLDER' adds a folder"
            elab.reporter.sink.report(Diagnostic(Code.MODULE_NOT_FOUND, module_place(ref.span, ref.module), text, help))
        return None
    return enter(elab, node)


def prelude_of(elab: Elaboration, edition: Edition) -> Scope | None:
    """Return the names that texts of an edition see without an import."""
    if edition is Edition.Y2025 or elab.modules.prelude_scope is None:
        return elab.modules.prelude_scope
    if edition not in elab.modules.preludes:
        node = elab.modules.package.find(f"std.{PRELUDE}_{edition.value}")
        elab.modules.preludes[edition] = enter(elab, node).scope if node is not None else None
    return elab.modules.preludes[edition]


def prelude_name(elab: Elaboration, name: str, edition: Edition = Edition.Y2025) -> Binding:
    """Return the member of an edition's prelude called `name`, or None."""
    scope = prelude_of(elab, edition)
    if scope is None:
        return None
    found: Binding = scope.names.get(name)
    if found is None:
        return None
    if isinstance(found, ImportRef):
        value = follow(elab, found)
        if value is not None:
            scope.names[name] = value
        return value
    return found
