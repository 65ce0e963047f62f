"""Run a program without a linker: objects into LLVM's JIT, `main` in a child.

Input: the objects that `link` would get. Output: the exit code that a shell would show. The program has this process's
standard streams, folder and environment; nothing of it runs in this process.
"""

import ctypes
import faulthandler
import os
import re
import signal
import sys
from collections.abc import Sequence

from ktc.base.records import entity
from ktc.diag.diagnostic import Bug

_MAIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))

NOT_LOADED = 70
"""Status of a child that could not load the objects (sysexits.h, EX_SOFTWARE)."""


class MissingSymbols(Exception):
    """The program calls functions that nothing in this process has; `names` are theirs."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


@entity
class Running:
    """A program that was started.

    Args:
        pid: of its process. report: the end of a pipe that says why the objects did not load.
    """

    pid: int
    report: int

    def ended(self, wait: bool) -> int | None:
        """Return the exit code, or 128 and the number of the signal that ended it; None while it runs.

        Args:
            wait: until it ends.

        Raises:
            MissingSymbols: a symbol is undefined.
            Bug: the objects do not load.
        """
        pid, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
        if pid == 0:
            return None
        with os.fdopen(self.report, "rb") as report:
            failure = report.read().decode("utf-8", "replace")
        missing = re.search(r"Symbols not found: \[ (.*?) \]", failure)
        if missing:
            raise MissingSymbols(tuple(sorted(missing[1].split(", "))))
        if failure:
            raise Bug(f"the program does not load: {failure}", "jit")
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code


def run(objects: Sequence[bytes], argv: Sequence[str]) -> int:
    """Run `main(argc, argv)`; return its exit code, or 128 and the number of the signal that ended it.

    Raises:
        MissingSymbols: a symbol is undefined.
        Bug: the objects do not load.
    """
    running = start(objects, argv)
    # Ctrl-C is the program's: the terminal sends it to both.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = running.ended(wait=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code is not None
    return code


def start(objects: Sequence[bytes], argv: Sequence[str]) -> Running:
    """Start `main(argc, argv)` in a process of its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    report_read, report_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(report_read)
        _child(objects, argv, report_write)
    os.close(report_write)
    return Running(pid, report_read)


def _child(objects: Sequence[bytes], argv: Sequence[str], report: int) -> None:
    """Load and run; never returns."""
    # The JIT writes to stderr which symbols it misses, and says in its error only that some are missing.
    stderr = os.dup(2)
    words_read, words_write = os.pipe()
    os.dup2(words_write, 2)
    os.close(words_write)
    try:
        address, _keep = _load(objects)
    except BaseException as error:
        os.dup2(stderr, 2)
        said = os.read(words_read, 2000).decode("utf-8", "replace") or str(error)
        os.write(report, " ".join(said.split()).encode() or b"unknown")
        os._exit(NOT_LOADED)
    os.dup2(stderr, 2)
    for pipe in (report, stderr, words_read):
        os.close(pipe)
    faulthandler.disable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python's own answers to these are not the program's
    arguments = (ctypes.c_char_p * (len(argv) + 1))(*(os.fsencode(word) for word in argv), None)
    code = _MAIN(address)(len(argv), arguments)
    # C's exit flushes stdio and runs what `atexit` was given, and Python's own end stays out of it.
    ctypes.CDLL(None).exit(code & 0xFF)


def _load(objects: Sequence[bytes]) -> tuple[int, object]:
    import llvmlite.binding as llvm  # type: ignore[import-untyped]  # late: only for some commands

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    compiler = llvm.create_lljit_compiler(use_jit_link=False)
    builder = llvm.JITLibraryBuilder().add_current_process().export_symbol("main")
    for data in objects:
        builder.add_object_img(data)
    tracker = builder.link(compiler, "program")
    return tracker["main"], (compiler, tracker)
