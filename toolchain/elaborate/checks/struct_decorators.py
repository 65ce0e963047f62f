"""Structs against their decorators: `@register_passable`, `@fieldwise_init`. Input: a struct. Output: diagnostics."""

import contextlib

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.generics import unification
from ktc.elaborate.generics.archetypes import NoArchetype
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ParameterArgument, StructTy
from ktc.elaborate.types import struct_members, struct_types, type_printer
from ktc.syntax import ast

_MOVES = {"__moveinit__": "moved"}


_TRIVIAL = {**_MOVES, "__copyinit__": "copied", "__del__": "destroyed"}


def check_registers(elab: Elaboration, info: StructInfo, ty: StructTy) -> None:
    """Report methods that a register-passable struct cannot have, and fields that registers cannot hold."""
    if not info.register_passable:
        return
    named = "@register_passable" + ('("trivial")' if info.register_trivial else "")
    for name, done in (_TRIVIAL if info.register_trivial else _MOVES).items():
        member = info.members.get(name)
        if isinstance(member, OverloadSet):
            text = f"a struct that is '{named}' has no '{name}': its values are {done} as they are"
            elab.reporter.sink.report(Diagnostic(Code.UNSATISFIED_TRAIT, member.functions[0].span(), text, "remove it"))
    with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
        for (name, kind), node in zip(struct_types.fields_of(elab, ty), info.field_nodes, strict=False):
            if not isinstance(kind, StructTy) or kind.info.bound is not None:
                continue
            if kind.info.register_trivial or (kind.info.register_passable and not info.register_trivial):
                continue
            if struct_members.says_trivial(elab, kind):  # Optional, which is OptionalReg too
                continue
            note = Label(Span(info.module.source, node.start, node.end), "this field")
            shown = type_printer.type_name(elab, kind)
            text = f"field '{name}' of type '{shown}' is not '{named}', so '{info.name}' cannot be"
            help = "take the decorator away"
            elab.reporter.sink.report(Diagnostic(Code.UNSATISFIED_TRAIT, info.span(), text, help, (note,)))
            return


def check_fieldwise(elab: Elaboration, info: StructInfo, ty: StructTy) -> None:
    """Report a constructor with the arguments of the one that `@fieldwise_init` gives."""
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
