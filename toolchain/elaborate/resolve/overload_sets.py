"""Overload sets, the functions of one name in a module or a struct; a second definition is an error."""

from ktc.base.records import field_names
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import FunctionInfo, ImportRef, Member, OverloadSet
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.values import Binding
from ktc.elaborate.tree import lifecycle
from ktc.syntax import ast


def duplicate(elab: Elaboration, name: str, span: Span, old: object = None) -> None:
    """Report a second definition of a name."""
    if isinstance(old, ImportRef):
        help = "choose another name, or import the other one with 'as'"
        found = Diagnostic(Code.DUPLICATE_DEFINITION, span, f"'{name}' is imported already", help)
    else:
        found = Diagnostic(Code.DUPLICATE_DEFINITION, span, f"'{name}' is already defined")
    elab.reporter.sink.report(found)


def add_function(elab: Elaboration, names: dict[str, Binding] | dict[str, Member], fn: FunctionInfo) -> None:
    """Add a function to the overloads of its name."""
    old = names.get(fn.name)
    if isinstance(old, OverloadSet):
        if not fn.module.is_library and lifecycle.check_other_form(old, fn, elab.reporter.sink):
            return
        for other in old.functions if elab.is_archive or not fn.module.is_library else ():
            if fn.edition is other.edition and _same_signature(fn.node, other.node):
                duplicate(elab, fn.node.name, fn.span())
                return
        old.functions.append(fn)
    elif old is None or (isinstance(old, ImportRef) and not is_named_import(old)):
        names[fn.name] = OverloadSet(fn.name, [fn])
    else:
        duplicate(elab, fn.name, fn.span(), old)


def _same_signature(a: ast.FunctionDecl, b: ast.FunctionDecl) -> bool:
    if a.params or b.params or len(a.args) != len(b.args) or a.where or b.where:
        return False
    for x, y in zip(a.args, b.args, strict=True):
        if x.kind != y.kind or (x.kind == "kw" and x.name != y.name) or _structure(x.type) != _structure(y.type):
            return False
        if (x.convention or "read") != (y.convention or "read"):
            return False
        if (x.default is None) != (y.default is None):
            return False
    return True


def _structure(node: object) -> object:
    """Return a type expression's structure without places."""
    if node is None:
        return None
    if isinstance(node, tuple):
        return tuple(map(_structure, node))
    if isinstance(node, ast.Node):
        names = [n for n in field_names(type(node)) if n not in ("start", "end", "name_start")]
        return (type(node).__name__, *(_structure(getattr(node, n)) for n in names))
    return node


def is_named_import(ref: ImportRef) -> bool:
    """Whether a program's import names what it brings; what `*` brings gives way to declarations."""
    source = ref.span.source
    return not (source.is_library or ref.implied or source.text[ref.span.start : ref.span.end].endswith("*"))
