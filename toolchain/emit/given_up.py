"""What is raised where LLVM's process ended over a job.

In: the job's name and LLVM's last words. Out: an error of the program, if its inline assembly was refused; else one of
ktc.
"""

import re

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, CompileError, Diagnostic

_ASSEMBLY = re.compile(r"<inline asm>:\d+:\d+: (.*?)( \(exit status \d+\))?$", re.MULTILINE)


def given_up(name: str, words: str) -> Bug | CompileError:
    """Return what to raise."""
    refused = _ASSEMBLY.search(words)
    if refused is None:
        return Bug(f"LLVM gave up on {name}: {words}", "emit")
    text = f"the target refuses the inline assembly of {name}: {refused[1]}"
    help = "put assembly of one target under an '@parameter if' that asks for this target"
    return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text, help)])
