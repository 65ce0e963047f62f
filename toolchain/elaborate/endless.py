"""Structs without end: those that hold themselves, and those whose fields are of ever more types.

In: a struct's type. Out: the error, which ends the build.
"""

from typing import NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.values import StructTy

MANY, DEEP = 1000, 400
"""Types of the fields of one struct, and types within one another, that no program needs."""


def endless(ty: StructTy, holds_itself: bool, sink: Sink) -> NoReturn:
    """Report a struct.

    Raises:
        CompileError: always.
    """
    at = ty.info.node.name_start
    span = Span(ty.info.module.source, at, at + len(ty.info.name))
    text, help = "has fields of ever more types", ""
    if holds_itself:
        text, help = "holds a value of its own type", "hold it behind an UnsafePointer, or in a List"
    sink.report(Diagnostic(Code.RECURSIVE_STRUCT, span, f"struct '{ty.info.name}' {text}", help))
    raise CompileError(sink.diagnostics)
