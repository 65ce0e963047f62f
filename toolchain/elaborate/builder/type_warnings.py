"""Warnings that need types: unused results, unreached handlers, deprecated declarations."""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Severity
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import FunctionInfo, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.types import ConstValue, FunctionValue, StructTy
from ktc.elaborate.model.values import Place, Result, RValue
from ktc.elaborate.types import type_printer
from ktc.syntax import ast

_INTENTIONAL = (ast.Transfer, ast.Walrus, ast.NoneLit)
"""Expressions that are statements for their effects."""

_DISCARDABLE = ("NoneType", "PythonObject", "Never")
"""Types of the library whose values nobody needs to use: every call of a Python object returns one."""


def warn_unused(elab: Elaboration, body: Body, value: Result, node: ast.Expr) -> None:
    """Warn about the value of an expression that is a statement."""
    if body.frame.comptime or isinstance(node, _INTENTIONAL):
        return
    if isinstance(value, FunctionValue) and isinstance(node, ast.Name | ast.Attribute):
        text = "this names a function, and does not call it"
        _warn(elab, Code.UNUSED_VALUE, body.at(node), text, "write '()' after it")
    if not isinstance(value, RValue | Place | ConstValue):
        return
    if not isinstance(value.ty, StructTy) or (value.ty.info.name in _DISCARDABLE and value.ty.info.module.is_library):
        return
    text = f"the value of this expression, of type '{type_printer.type_name(elab, value.ty)}', is not used"
    _warn(elab, Code.UNUSED_VALUE, body.at(node), text, "write '_ = ' before it")


def warn_unreached(elab: Elaboration, body: Body, handler: ast.Handler) -> None:
    """Warn about an `except` of a `try` in which nothing raises."""
    instance = body.frame.instance
    if body.frame.comptime or instance is None or instance.is_parametric or instance.failed:
        return
    text = "this 'except' is never reached: nothing in the 'try' raises"
    span = Span(body.frame.module.source, handler.start, handler.start + len("except"))
    _warn(elab, Code.UNREACHABLE_CODE, span, text, "remove the 'try'")


def warn_deprecated(elab: Elaboration, info: FunctionInfo | StructInfo, span: Span) -> None:
    """Warn about the use of a declaration marked `@deprecated`."""
    reason = "" if info.deprecated == info.name else f": {info.deprecated}"
    notes = () if info.module.is_library else (Label(info.span(), "declared here"),)
    _warn(elab, Code.DEPRECATED, span, f"'{info.name}' is deprecated{reason}", "", notes)


def warn_conversion(elab: Elaboration, fn: FunctionInfo, have: Ty, expected: Ty, span: Span) -> None:
    """Warn about an implicit conversion whose constructor says `@implicit(deprecated=True)`."""
    given, expected_name = type_printer.type_name(elab, have), type_printer.type_name(elab, expected)
    notes = () if fn.module.is_library else (Label(fn.span(), "the constructor is declared here"),)
    text = f"the implicit conversion from '{given}' to '{expected_name}' is deprecated"
    _warn(elab, Code.DEPRECATED, span, text, f"write '{expected_name}(...)'", notes)


def _warn(elab: Elaboration, code: Code, span: Span, message: str, help: str, notes: tuple[Label, ...] = ()) -> None:
    elab.reporter.sink.report(Diagnostic(code, span, message, help, notes, Severity.WARNING))
