"""Constructors that `@fieldwise_init` gives already. Input: a struct and its type. Output: diagnostics."""

import contextlib

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.elaborate.generics import unification
from ktc.elaborate.generics.archetypes import NoArchetype
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ParameterArgument, StructTy
from ktc.elaborate.types import struct_types
from ktc.syntax import ast


def check_fieldwise(elab: Elaboration, info: StructInfo, ty: StructTy) -> None:
    """Report a constructor that takes a value of each field's type, in order."""
    own = info.members.get("__init__")
    candidates = [fn for fn in own.functions if _is_plain(fn)] if isinstance(own, OverloadSet) else []
    if not info.fieldwise or not candidates:
        return
    fields: list[ParameterArgument] = []
    with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
        fields = [kind for _, kind in struct_types.fields_of(elab, ty)]
    for fn in candidates if len(fields) == len(info.field_nodes) else ():
        if _argument_types(elab, fn, ty) == fields:
            text = f"'{info.name}' has this constructor by '@fieldwise_init' already"
            elab.reporter.sink.report(Diagnostic(Code.DUPLICATE_DEFINITION, fn.span(), text, "remove one of the two"))


def constructor_arguments(fn: FunctionInfo) -> list[ast.Param]:
    """Return the arguments of a constructor, without the value that it makes."""
    return [arg for arg in fn.node.args[1:] if arg.convention != "out"]


def _is_plain(fn: FunctionInfo) -> bool:
    """Return whether a constructor takes values, as many as are written, and has no parameters."""
    return not fn.node.params and all(
        arg.kind in ("pos", "any", "kw") and arg.convention not in ("mut", "inout", "ref") and arg.type is not None
        for arg in constructor_arguments(fn)
    )


def _argument_types(elab: Elaboration, fn: FunctionInfo, ty: StructTy) -> list[ParameterArgument]:
    scope = unification.fn_scope_parent(elab, fn, ty)
    outer = elab.reporter.redirect(Sink())  # errors in the types are reported where they stand
    try:
        return [
            unification.evaluate_pattern(elab, arg.type, scope, fn.module)
            for arg in constructor_arguments(fn)
            if arg.type is not None
        ]
    except (ErrorReported, Mismatch, Symbolic, NoArchetype):
        return []
    finally:
        elab.reporter.redirect(outer)
