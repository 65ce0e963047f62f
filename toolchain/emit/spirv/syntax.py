"""Lines of a function as instructions, and what has no form in SPIR-V."""

import re

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, CompileError, Diagnostic
from ktc.emit.llvm_text.instructions import Instruction


def instruction(line: str) -> Instruction | None:
    """Read a line of a function, or a switch of several; None for labels, comments and debug records."""
    one = Instruction(line) if line[:1] == " " else None
    return None if one is None or one.is_note else one


def called(one: Instruction) -> tuple[str, str, list[tuple[str, str]]]:
    """Return the type that a call gives, the function's name with its "@", and types and values of the arguments."""
    return one.call.type, one.call.callee, [(given.type, given.value) for given in one.arguments]


def unsupported(text: str) -> Bug | CompileError:
    """Return the `Bug` for a piece of LLVM text that has no form in SPIR-V."""
    if wide := re.fullmatch(r"i(\d+)", text.strip()):
        words = f"SPIR-V has no integers of {wide[1]} bits: the kernel copies or computes with some"
        return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, words)])
    return Bug(f"this has no form in SPIR-V: {' '.join(text.split())[:300]}", "emit")
