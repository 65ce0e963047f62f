"""Errors for modules that LLVM refuses, and for jobs that end its process.

Input: the module's name, and LLVM's words. Output: an error of the program, if its inline assembly was refused
or its call of an intrinsic; else one of ktc.
"""

import re

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, CompileError, Diagnostic

_ASSEMBLY = re.compile(r"<inline asm>:\d+:\d+: (.*?)( \(exit status \d+\))?$", re.MULTILINE)
_UNKNOWN = re.compile(r"Cannot select: intrinsic %(llvm\.[\w.]*\w)")
_INTRINSIC = re.compile(r"(immarg operand has non-immediate parameter|invalid intrinsic signature).*?@(llvm\.[\w.]+)\(")


def rejected(title: str, words: str) -> Bug | CompileError:
    """Return the error for an invalid module.

    Args:
        title: its source: "the host", "kernel 'x'".
        words: LLVM's message, and the line that it is about.
    """
    refused = _INTRINSIC.search(words)
    if refused is None:
        return Bug(f"LLVM rejects the code of {title}: {words}", "codegen")
    if refused[1].startswith("immarg"):
        text, help = (
            "an argument has to be known at compile time",
            "pass a literal, or the value of an alias or parameter",
        )
    else:
        text, help = "it takes other arguments, or gives another result", ""
    text = f"LLVM refuses a call of '{refused[2]}' in {title}: {text}"
    return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text, help)])


def backend_error(name: str, words: str) -> Bug | CompileError:
    """Return the error for LLVM's last words about a module."""
    refused = _ASSEMBLY.search(words)
    if refused is None and "Inline asm not supported" in words:
        text = f"this build of LLVM has no assembler for the target of {name}"
        help = "use a function or an intrinsic instead of inline assembly, as 'gpu.sync.s_waitcnt'"
        return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text, help)])
    unknown = _UNKNOWN.search(words)
    if unknown is not None:
        text = f"the target of {name} has no instruction for the intrinsic '{unknown[1]}'"
        help = "put what is for one target under an '@parameter if' that asks for this target"
        return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text, help)])
    if refused is None:
        return Bug(f"LLVM gave up on {name}: {words}", "emit")
    text = f"the target refuses the inline assembly of {name}: {refused[1]}"
    help = "put assembly of one target under an '@parameter if' that asks for this target"
    return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text, help)])


def unchecked(kernel: str, reason: str) -> CompileError:
    """Return the error for a kernel whose threads cannot become loops, where bounds alone are to be checked."""
    text = f"the bounds of kernel '{kernel}' cannot be checked by themselves: {reason}"
    return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text, "look for everything, with '--check'")])
