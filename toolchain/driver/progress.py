"""One line on a terminal that says what a long build is doing; it is gone when the build ends.

Input: a session. Output: bytes on standard error, written directly: a process that is forked meanwhile must not find
the lock of a stream taken.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ktc.driver.session import Session

_PATIENCE_SECONDS = 1.0
"""A shorter build shows nothing."""
_LOG_PATIENCE_SECONDS = 8.0
"""A shorter build writes nothing into a log."""
_WORDS = {
    "load": "reading the program, and the grammar the first time",
}
"""The phases that are slow in the first command only."""
_LLVM = {"await LLVM": "compiling with LLVM"}
_TURN_SECONDS = 0.1
_CLEAR = b"\r\x1b[K"
_WIDTH = 78
_STDERR = 2


@contextmanager
def shown(session: Session, is_terminal: bool, is_enabled: bool = True) -> Iterator[None]:
    """Show the progress of the block inside, if enabled: on a terminal a line that changes, in a log one for a long
    first build."""
    if not is_enabled:
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show if is_terminal else _log, args=(session, done), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def line(session: Session, seconds: float) -> str:
    """Return the line."""
    made, of = session.done
    kernels = f", kernels {made} of {of}" if of else ""
    compiled, functions = session.library_done
    library = f", functions of the library {compiled} of {functions}" if functions else ""
    stage = (_WORDS | _LLVM).get(session.current, session.current) or "starting"
    return f"{session.config.root.name}: {stage}{kernels}{library}, {seconds:.0f} s"[:_WIDTH]


def _log(session: Session, done: threading.Event) -> None:
    if done.wait(_LOG_PATIENCE_SECONDS):
        return
    stage = _WORDS.get(session.current)
    if stage is not None:
        with suppress(OSError):
            os.write(_STDERR, f"ktc: {stage}; later builds find it in the cache\n".encode())


def _show(session: Session, done: threading.Event) -> None:
    start = time.perf_counter()
    if done.wait(_PATIENCE_SECONDS):
        return
    with suppress(OSError):
        last = ""
        while True:
            now = line(session, time.perf_counter() - start)
            if now != last:
                os.write(_STDERR, _CLEAR + now.encode())
            last = now
            if done.wait(_TURN_SECONDS):
                break
        os.write(_STDERR, _CLEAR)
