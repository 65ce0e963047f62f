"""Modules, imports and the look-up of names.

In: the `Package`. Out: bindings of names (`scope.py`). Modules are entered when a name of theirs is asked for; a broken
import that nobody uses costs and says nothing, but in the main file all imports are checked.
"""

import itertools
from typing import Any

from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FnInfo,
    FnSet,
    ImportRef,
    ModuleInfo,
    Scope,
    StructInfo,
    TraitInfo,
)
from ktc.elaborate.model.values import ModuleVal
from ktc.elaborate.resolve.suggestions import missing_in_library, module_names, suggest
from ktc.elaborate.tree.decorators import check_form, check_parameters, decorate_function, decorate_struct
from ktc.records import field_names
from ktc.syntax import ast
from ktc.syntax.import_places import module_place, name_place
from ktc.syntax.loader import Package

PRELUDE = "prelude"


class Modules:
    """The part of the elaborator that knows modules."""

    is_archive: bool

    def typed_constant(self, type_node: ast.Expr | None, value: ast.Expr, scope: Scope, module: Any) -> Any:
        """Compute a value, converted to the type if one is written (in `Instances`)."""
        raise NotImplementedError

    def __init__(self, package: Package, config: Config, sink: Sink) -> None:
        self.package = package
        self.config = config
        self.sink = sink
        self.module_infos: dict[int, ModuleInfo] = {}
        self.ids = itertools.count(1)
        self.prelude_scope: Scope | None = None
        self.main = self.enter(package.root)
        prelude = package.find("std." + PRELUDE)
        if prelude is not None:
            self.prelude_scope = self.enter(prelude).scope

    def string_of(self, value: Any) -> str:
        """Return the text of a constant (in `Instances`)."""
        raise NotImplementedError

    # ---- entering a module ----

    def enter(self, node: ast.Module) -> ModuleInfo:
        """Return the module's info; its declarations are collected on the first call."""
        info = self.module_infos.get(id(node))
        if info is None:
            scope = Scope(None, "module")
            info = ModuleInfo(self.package.names[id(node)], node, node.source, scope, node.source.is_library)
            self.module_infos[id(node)] = info
            for statement in node.body:
                self._declare(statement, info)
        return info

    def functions_in(self, path: str) -> list[FnSet]:
        """Return the functions of the module in a file, in the order of their first declarations."""
        for info in self.module_infos.values():
            if info.source.path == path:
                return [value for value in info.scope.names.values() if isinstance(value, FnSet)]
        return []

    def _declare(self, node: ast.Stmt, module: ModuleInfo) -> None:
        names = module.scope.names
        match node:
            case ast.FunctionDecl():
                self.add_function(names, self.function(node, module, None, module.scope))
            case ast.StructDecl():
                self._add(names, node.name, self._struct(node, module), node, module)
            case ast.TraitDecl():
                self._add(names, node.name, self._trait(node, module), node, module)
            case ast.Alias():
                self._add(
                    names, node.name, AliasInfo(node.name, node, module, module.scope, next(self.ids)), node, module
                )
            case ast.Import() | ast.FromImport():
                self.add_imports(names, node, module)
            case _:
                pass

    def _add(self, names: dict[str, Any], name: str, value: Any, node: Any, module: ModuleInfo) -> None:
        old = names.get(name)
        if old is not None and (not isinstance(old, ImportRef) or _is_chosen(old)):
            self.duplicate(name, Span(module.source, node.name_start, node.name_start + len(name)), old)
            return
        names[name] = value

    def duplicate(self, name: str, span: Span, old: Any = None) -> None:
        """Report a second definition of a name."""
        if isinstance(old, ImportRef):
            help = "choose another name, or import the other one with 'as'"
            found = Diagnostic(Code.DUPLICATE_DEFINITION, span, f"'{name}' is imported already", help)
        else:
            found = Diagnostic(Code.DUPLICATE_DEFINITION, span, f"'{name}' is already defined")
        self.sink.report(found)

    def add_function(self, names: dict[str, Any], fn: FnInfo) -> None:
        """Add a function to the overloads of its name."""
        old = names.get(fn.name)
        if isinstance(old, FnSet):
            for other in old.functions if self.is_archive or not fn.module.is_library else ():
                if self._same_signature(fn.node, other.node):
                    self.duplicate(fn.name, fn.span())
                    return
            old.functions.append(fn)
        elif old is None or (isinstance(old, ImportRef) and not _is_chosen(old)):
            names[fn.name] = FnSet(fn.name, [fn])
        else:
            self.duplicate(fn.name, fn.span(), old)

    @staticmethod
    def _same_signature(a: ast.FunctionDecl, b: ast.FunctionDecl) -> bool:
        if a.params or b.params or len(a.args) != len(b.args) or a.where or b.where:
            return False
        for x, y in zip(a.args, b.args, strict=True):
            if x.kind != y.kind or (x.kind == "kw" and x.name != y.name) or _shape(x.type) != _shape(y.type):
                return False
            if (x.convention or "read") != (y.convention or "read"):
                return False
            if (x.default is None) != (y.default is None):
                return False
        return True

    def add_imports(self, names: dict[str, Any], node: ast.Import | ast.FromImport, module: ModuleInfo) -> None:
        """Enter the names that an import brings."""
        span = Span(module.source, node.start, node.end)
        if isinstance(node, ast.Import):
            for dotted, alias in node.names:
                if alias:
                    names[alias] = ImportRef(dotted, 0, "", module, span)
                else:
                    head = dotted.split(".", 1)[0]
                    names.setdefault(head, ImportRef(head, 0, "", module, span))
                    if module.name == "__main__" and "." in dotted:
                        names.setdefault("import " + dotted, ImportRef(dotted, 0, "", module, span))
            return
        for name, alias in node.names:
            if name == "*":
                self._star(names, ImportRef(node.module, node.level, "", module, span))
                continue
            old = names.get(alias or name)
            if old is None or isinstance(old, ImportRef):
                names[alias or name] = ImportRef(node.module, node.level, name, module, span)
            elif not module.is_library:
                self.duplicate(alias or name, span)

    def _star(self, names: dict[str, Any], ref: ImportRef) -> None:
        found = self._module_of(ref)
        if found is None:
            names["*"] = None  # any name that is missing may be one of its names
            return
        for name in found.scope.names:
            if not name.startswith("_"):
                weak = not ref.importer.is_library
                names.setdefault(name, ImportRef(ref.module, ref.level, name, ref.importer, ref.span, weak))

    # ---- declarations ----

    def function(
        self, node: ast.FunctionDecl, module: ModuleInfo, owner: StructInfo | TraitInfo | None, scope: Scope
    ) -> FnInfo:
        """Make the info of a function declaration; decorators are read here."""
        fn = FnInfo(node.name, node, module, owner, scope, next(self.ids))
        if not module.is_library and "async" in node.effects:
            text, help = "async functions are not supported yet", "leave out 'async'"
            self.sink.report(Diagnostic(Code.UNSUPPORTED, Span(module.source, node.start, node.end), text, help))
        for decorator in node.decorators:
            decorate_function(fn, decorator, self.sink)
        if not module.is_library:
            check_form(fn, self.sink)
        return fn

    def _struct(self, node: ast.StructDecl, module: ModuleInfo) -> StructInfo:
        info = StructInfo(node.name, node, module, next(self.ids), module.scope)
        for decorator in node.decorators:
            decorate_struct(info, decorator, self.sink)
        if not module.is_library:
            self._check_names(info)
        info.first_shown = sum(param.kind == "infer" for param in node.params)
        for statement in node.body:
            match statement:
                case ast.VarDecl(target=ast.Name(id=name)):
                    if name not in info.members:
                        info.field_nodes.append(statement)
                    self._add_member(info, name, statement)
                case ast.FunctionDecl():
                    self.add_function(info.members, self.function(statement, module, info, module.scope))
                case ast.Alias():
                    self._add_member(
                        info, statement.name, AliasInfo(statement.name, statement, module, module.scope, next(self.ids))
                    )
                case _:
                    pass
        return info

    def _check_names(self, info: StructInfo) -> None:
        """Report parameters of a struct of one name, and members that have the name of one."""
        params = check_parameters(info.node.params, info.module.source, self.sink)
        for node in info.node.body if params else ():
            match node:
                case ast.VarDecl(target=ast.Name(id=name)) | ast.Alias(name=name) | ast.FunctionDecl(name=name):
                    if name in params:
                        start = getattr(node, "name_start", node.start)
                        self.duplicate(name, Span(info.module.source, start, start + len(name)))
                case _:
                    pass

    def _add_member(self, info: StructInfo, name: str, value: Any) -> None:
        if name in info.members:
            node = value if isinstance(value, ast.VarDecl) else value.node
            self.duplicate(name, Span(info.module.source, node.start, node.end))
            return
        info.members[name] = value

    def _trait(self, node: ast.TraitDecl, module: ModuleInfo) -> TraitInfo:
        info = TraitInfo(node.name, node, module, next(self.ids), module.scope)
        for statement in node.body:
            match statement:
                case ast.FunctionDecl():
                    self.add_function(info.members, self.function(statement, module, info, module.scope))
                case ast.Alias():
                    info.members[statement.name] = AliasInfo(
                        statement.name, statement, module, module.scope, next(self.ids)
                    )
                case _:
                    pass
        return info

    # ---- names ----

    def module_name(self, module: ModuleInfo, name: str) -> Any:
        """Return the binding of a name in a module, imports followed; None if there is none."""
        value = module.scope.names.get(name)
        if isinstance(value, ImportRef):
            hidden = value.weak and self.prelude_scope is not None and name in self.prelude_scope.names
            value = self.follow(value)
            if value is not None and not hidden:
                module.scope.names[name] = value
        return value

    def follow(self, ref: ImportRef) -> Any:
        """Return what an import stands for; None after an error that was reported."""
        if not ref.name:
            module = self._module_of(ref)
            return ModuleVal(module) if module else None
        # `from . import x` and `from pkg import x` may mean a module inside the package
        module = self._module_of(ref)
        if module is None:
            return None
        value = self.module_name(module, ref.name) if module.scope.names.get(ref.name) is not ref else None
        if value is None:
            sub = self.package.find(f"{self._plain(module)}.{ref.name}", ref.importer.node)
            if sub is not None:
                return ModuleVal(self.enter(sub))
            if ref.name not in module.scope.names:
                text = f"module '{ref.module}' has no '{ref.name}'"
                help = suggest(ref.name, [n for n in module.scope.names if not n.startswith("_")])
                if module.is_library and missing_in_library(self.config.stdlib, ref.module, ref.name):
                    text, help = f"'{ref.name}' of module '{ref.module}' is not in this library yet", ""
                self.sink.report(Diagnostic(Code.NAME_NOT_IN_MODULE, name_place(ref.span, ref.name), text, help))
        return value

    @staticmethod
    def _plain(module: ModuleInfo) -> str:
        return module.name

    def submodule(self, module: ModuleInfo, name: str) -> ModuleVal | None:
        """Return `module.name` where it is a module."""
        sub = self.package.find(f"{self._plain(module)}.{name}", module.node)
        return ModuleVal(self.enter(sub)) if sub is not None else None

    def _module_of(self, ref: ImportRef) -> ModuleInfo | None:
        dotted = self.package.absolute(ref.importer.node, ref.level, ref.module)
        if dotted is None:
            self.sink.report(
                Diagnostic(Code.MODULE_NOT_FOUND, ref.span, "the main file is in no package to import relative to")
            )
            return None
        node = self.package.find(dotted, ref.importer.node)
        if node is None:
            if dotted not in self.package.failed:
                head = dotted.split(".")[0]
                text = f"there is no module '{dotted}'"
                if head in ("max", "compiler", "tensor", "python"):
                    text = f"module '{dotted}' is not part of the language: it belongs to another product"
                if missing_in_library(self.config.stdlib, dotted):
                    text = f"module '{dotted}' is not in this library yet"
                help = suggest(dotted, module_names(self.package.search, self.config.stdlib))
                self.sink.report(Diagnostic(Code.MODULE_NOT_FOUND, module_place(ref.span, ref.module), text, help))
            return None
        return self.enter(node)


def _shape(node: Any) -> Any:
    """Return a type expression's structure without places."""
    if node is None:
        return None
    if isinstance(node, tuple):
        return tuple(map(_shape, node))
    if isinstance(node, ast.Node):
        names = [n for n in field_names(type(node)) if n not in ("start", "end", "name_start")]
        return (type(node).__name__, *(_shape(getattr(node, n)) for n in names))
    return node


def _is_chosen(ref: ImportRef) -> bool:
    """Whether a program's import names what it brings; what `*` brings gives way to declarations."""
    source = ref.span.source
    return not source.is_library and not source.text[ref.span.start : ref.span.end].endswith("*")
