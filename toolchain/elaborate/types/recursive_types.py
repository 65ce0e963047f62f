"""Recursive structs: those that contain themselves, and those whose fields have infinitely many types.

Input: a struct's type. Output: the error; the second kind ends the build.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.types import ParameterPack, StructTy

MANY, DEEP = 1000, 400
"""Types of the fields of one struct, and types within one another, that no program needs."""


def check_finite(ty: StructTy, fields: Callable[[StructTy], Sequence[tuple[str, Ty]]], sink: Sink) -> None:
    """Report a struct that contains a value of its own type.

    Args:
        fields: gives the fields of a struct by name.
    """
    seen: set[int] = set()
    stack = [field for _, field in fields(ty)]
    while stack:
        field = stack.pop()
        if not isinstance(field, StructTy) or field.ir_type is not None or id(field) in seen:
            continue
        if field is ty or len(seen) > MANY:
            report_recursive(ty, field is ty, sink)
        if _is_reported(field, sink):
            raise ErrorReported
        seen.add(id(field))
        stack += [inner for _, inner in fields(field)]


def report_recursive(ty: StructTy, holds_itself: bool, sink: Sink) -> NoReturn:
    """Report a struct.

    Raises:
        ErrorReported: it holds itself.
        CompileError: otherwise, because its types are infinite; with what has been reported so far.
    """
    ty = _of_the_program(ty) or ty
    text, help = "has fields of ever more types", ""
    if holds_itself:
        text, help = "holds a value of its own type", "store it in a List, or through an UnsafePointer"
    sink.report(Diagnostic(Code.RECURSIVE_STRUCT, _span(ty), f"struct '{ty.info.name}' {text}", help))
    if holds_itself:
        raise ErrorReported
    raise CompileError(sink.diagnostics)


def _span(ty: StructTy) -> Span:
    at = ty.info.node.name_start
    return Span(ty.info.module.source, at, at + len(ty.info.name))


def _is_reported(ty: StructTy, sink: Sink) -> bool:
    """Return whether a struct was reported."""
    return sink.mistake_count > 0 and any(
        one.code is Code.RECURSIVE_STRUCT and one.span == _span(ty) for one in sink.diagnostics
    )


def _of_the_program(ty: object) -> StructTy | None:
    """Return the struct of the program that a library type is about: `Optional[Node]` holds nodes."""
    match ty:
        case StructTy(info=info) if not info.module.is_library:
            return ty
        case StructTy(params=inside) | ParameterPack(items=inside):
            return next((found for found in map(_of_the_program, inside) if found is not None), None)
    return None
