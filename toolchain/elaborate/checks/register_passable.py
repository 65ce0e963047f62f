"""Structs marked as register-passable. Input: a struct of the program. Output: diagnostics at its name."""

import contextlib

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import OverloadSet, StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.types import struct_members, struct_types, type_printer

_MOVES = {"__moveinit__": "moved"}


_TRIVIAL = {**_MOVES, "__copyinit__": "copied", "__del__": "destroyed"}


def check_registers(elab: Elaboration, info: StructInfo, ty: StructTy) -> None:
    """Report methods that such a struct cannot have, and fields that registers cannot hold."""
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
