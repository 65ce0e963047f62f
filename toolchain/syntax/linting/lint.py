"""Warnings from the tree alone: unused imports and variables, unreachable statements.

Input: the user's modules. Output: warnings in the sink. Nothing of the library is looked at, and nothing is fatal.
Whatever needs types (an unused value, a deprecated declaration) is the elaborator's.
"""

from collections.abc import Iterable, Iterator

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.source import Span
from ktc.syntax import ast
from ktc.syntax.import_places import name_place
from ktc.syntax.linting.flow import Finding, unreachable
from ktc.syntax.linting.names import FunctionNames
from ktc.syntax.linting.stores import dead_stores
from ktc.syntax.tree import Tree


def lint(main: ast.Module, modules: Iterable[ast.Module], sink: Sink) -> None:
    """Look at the user's modules.

    Args:
        main: the main file's; other files may import names to pass them on, so only its imports are looked at.

    Reports: UNUSED_IMPORT, UNUSED_VARIABLE, NEVER_ASSIGNED, SHADOWING, UNREACHABLE_CODE, CONSTANT_CONDITION,
        UNUSED_ASSIGNMENT.
    """
    tree = Tree()
    for module in modules:
        if module.source.is_library:
            continue
        if module is main:
            _imports(module, tree, sink)
        for function in _functions(module.body):
            FunctionNames(module, function, tree, sink).check()
            _report(module, unreachable(function.body or ()), sink)
            _report(module, dead_stores(function, tree), sink)


def _functions(body: tuple[ast.Stmt, ...]) -> Iterator[ast.FunctionDecl]:
    """Give the functions and methods of a module; nested ones belong to the function around them."""
    for statement in body:
        if isinstance(statement, ast.FunctionDecl):
            yield statement
        elif isinstance(statement, ast.StructDecl | ast.TraitDecl):
            yield from _functions(statement.body)


def _imports(module: ast.Module, tree: Tree, sink: Sink) -> None:
    found: dict[str, Span] = {}
    used: set[str] = set()
    for node in tree.walk(module):
        match node:
            case ast.Import(names=names):
                for dotted, alias in names:
                    found.setdefault(alias or dotted.partition(".")[0], _place(module, node, alias or dotted))
            case ast.FromImport(names=names):
                for name, alias in names:
                    if name != "*":
                        found.setdefault(alias or name, _place(module, node, alias or name))
            case ast.Decorator(value=ast.Call(keywords=words)):
                used.update(word.name for word in words)
            case ast.Name(id=name):
                used.add(name)
            case ast.FunctionDecl(captures=captures) if captures:
                used.update(one.name for one in captures)
    for name, span in found.items():
        if name not in used:
            _warn(sink, Code.UNUSED_IMPORT, span, f"'{name}' is imported and never used", "remove it")


def _place(module: ast.Module, node: ast.Node, name: str) -> Span:
    return name_place(Span(module.source, node.start, node.end), name)


def _report(module: ast.Module, found: Iterable[Finding], sink: Sink) -> None:
    for odd in found:
        _warn(sink, odd.code, Span(module.source, odd.start, odd.end), odd.message, odd.help)


def _warn(sink: Sink, code: Code, span: Span, message: str, help: str) -> None:
    sink.report(Diagnostic(code, span, message, help, severity=Severity.WARNING))
