"""Runs the pipeline so that nothing of it reaches the user raw: deep recursion, Ctrl-C, and mistakes of ours.

Input: work as a function. Output: an exit code. An internal error becomes one line, and a report in a file.
"""

import ctypes
import gc
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from ktc.base.records import entity, record
from ktc.diag.diagnostic import Bug

INTERRUPTED = 130
"""128 and the number of SIGINT, as shells show it."""

INTERNAL_ERROR = 70
"""sysexits.h, EX_SOFTWARE: not the user's mistake."""

_RECURSION_LIMIT = 40_000
_DIGITS_LIMIT = 20_000
"""Of numbers in text, which Python limits: more than literals and compile-time numbers can have (65536 bits)."""
_STACK_BYTES = (512 << 20, 64 << 20)
"""Address space, not memory: pages of it are used as the recursion reaches them. The second is for tight limits."""
_GRACE_SECONDS = 1.0
"""How long the work may take to clean up after Ctrl-C."""


again: Callable[[], None] | None = None
"""Starts the command once more, in another way, after an internal error; for a process that does only this."""


@entity
class _Outcome:
    """The outcome of the thread that does the work: its exit status, or its exception."""

    code: int = 0
    error: BaseException | None = None
    thread: threading.Thread | None = None


@record
class Crash:
    """The facts of a crash report beside the traceback.

    Args:
        folder: where reports go, None for nowhere.
        facts: name and value of whatever helps to find the mistake: version, command, stage.
    """

    folder: Path | None
    facts: dict[str, str] = field(default_factory=dict)


def run(work: Callable[[], int], crash: Callable[[], Crash]) -> int:
    """Run `work` on a large stack and return its code, or `INTERRUPTED`, or `INTERNAL_ERROR`.

    Args:
        crash: gives the facts of the report, after the error.
    """
    outcome = _Outcome()

    def body() -> None:
        try:
            outcome.thread = threading.current_thread()
            outcome.code = work()
        except BaseException as error:  # the thread must not print it
            outcome.error = error

    limit = sys.getrecursionlimit()
    digits = sys.get_int_max_str_digits()
    sys.setrecursionlimit(_RECURSION_LIMIT)
    sys.set_int_max_str_digits(_DIGITS_LIMIT)
    collecting = gc.isenabled()
    gc.disable()  # one build makes much and drops little: collecting costs a sixth of the elaborator's time
    try:
        _start(body).join()
    except KeyboardInterrupt:
        if outcome.thread is not None:
            _stop(outcome.thread)
        return INTERRUPTED
    finally:
        if collecting:  # the command has no more to do, and one search through all that a build made takes 50 ms
            gc.enable()
        sys.setrecursionlimit(limit)
        sys.set_int_max_str_digits(digits)
    return outcome.code if outcome.error is None else _failed(outcome.error, crash)


def run_here(work: Callable[[], int], crash: Callable[[], Crash]) -> int:
    """Do the same on this thread and its stack."""
    try:
        return work()
    except BaseException as error:  # sorted out below
        return _failed(error, crash)


def _failed(error: BaseException, crash: Callable[[], Crash]) -> int:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        raise error
    sys.stderr.write(_report(error, crash()))
    if again is not None:
        again()
    return INTERNAL_ERROR


def _start(body: Callable[[], None]) -> threading.Thread:
    before = threading.stack_size()
    for size in _STACK_BYTES:
        try:
            threading.stack_size(size)
            thread = threading.Thread(target=body, name="pipeline", daemon=True)
            thread.start()
            return thread
        except (RuntimeError, ValueError):  # no room for the stack
            continue
        finally:
            threading.stack_size(before)
    thread = threading.Thread(target=body, name="pipeline", daemon=True)
    thread.start()
    return thread


def _stop(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in the thread, and end the process if it does not clean up in time."""

    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
    with suppress(KeyboardInterrupt):  # a second Ctrl-C: at once
        thread.join(_GRACE_SECONDS)
    if thread.is_alive():
        os._exit(INTERRUPTED)


def _report(error: BaseException, crash: Crash) -> str:
    """Write the report; return the line for the user."""
    words = " ".join(str(error).split())[:200] or type(error).__name__
    what = words if isinstance(error, Bug) else f"{type(error).__name__}: {words}"
    line = f"ktc: internal error: {what}; this is a mistake of ktc, not of your program\n"
    facts = dict(crash.facts)
    if isinstance(error, Bug):
        facts["where"] = error.where
        if error.span is not None:
            line_number = error.span.source.position(error.span.start)[0]
            facts["source"] = f"{error.span.location()}: {error.span.source.line(line_number)}"
    facts["python"] = f"{platform.python_version()} on {platform.platform()}"
    head = "".join(f"{name}: {value}\n" for name, value in facts.items() if value)
    import traceback  # late: only for errors

    trace = "".join(traceback.format_exception(error, limit=-200))
    path = _store(head + "\n" + trace, crash.folder)
    if path is None:
        return line + "ktc: no report could be written; please run again with KTC_CACHE_DIR set to a writable folder\n"
    return line + f"ktc: the report is in {path}; please send it with the source file\n"


def _store(text: str, folder: Path | None) -> Path | None:
    if folder is None:
        return None
    path = folder / "reports" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", "replace")
    except OSError:
        return None
    return path
