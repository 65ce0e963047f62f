"""Run a program as an executable of its own, where it cannot live beside ktc's Python or there is no `fork`.

Input: the objects that `link` would get. Output: the exit code that a shell would show.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ktc.emit.linking.commands import EXECUTABLE, LinkOptions
from ktc.emit.linking.link import LinkFailed, link
from ktc.emit.linking.tools import find_link_tools

_LOADS_PYTHON = b"ktc_python\0"
"""The variable of stdlib/python/_library.kpy with the library that was loaded, among the symbols of an object."""


def is_required(objects: Sequence[bytes]) -> bool:
    """Tell whether a program loads a Python, which can be only one in a process, or no process can be copied here."""
    return not hasattr(os, "fork") or any(_LOADS_PYTHON in data for data in objects)


def run(objects: Sequence[bytes], argv: Sequence[str], options: LinkOptions = EXECUTABLE) -> int:
    """Link the program into a folder that is removed afterwards, and run it; a linker that is missing is an error."""
    with tempfile.TemporaryDirectory(prefix="ktc-run-") as folder:
        program = Path(folder, "program")
        if not linked(objects, program, options):
            return 1
        with subprocess.Popen(argv, executable=program) as running:
            code: int | None = None
            while code is None:
                try:
                    code = running.wait()
                except KeyboardInterrupt:  # Ctrl-C is the program's: the terminal sends it to both
                    continue
    return code if code >= 0 else 128 - code


def linked(objects: Sequence[bytes], program: Path, options: LinkOptions) -> bool:
    """Link a program; return whether that worked, after an error on standard error."""
    try:
        link(objects, program, find_link_tools(), options)
    except LinkFailed as error:
        said = " ".join(str(error).split())
        reason = "a program that calls Python or another library is linked before it runs"
        sys.stderr.write(f"ktc: error[link-failed]: {reason}: {said}\n")
        return False
    return True
