"""A program that runs beside ktc, and that ktc can end.

Input: its objects and words. Output: its exit code, once it has one. It has this process's standard streams, folder and
environment.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ktc.diag.diagnostic import Bug
from ktc.emit import jit, own_process
from ktc.emit.linking.commands import LinkOptions

_GRACE_SECONDS = 0.5
"""From the request to end until it is ended."""
_TURN_SECONDS = 0.002
LINK_FAILED = 1


class Program:
    """A program that was started.

    Raises:
        Bug: the objects do not load (from `ended`).
        jit.MissingSymbols: they need functions that nothing here has (from `ended`).
    """

    def __init__(self, objects: Sequence[bytes], argv: Sequence[str], options: LinkOptions | None) -> None:
        """Start it: in a copy of this process, or linked with `options`."""
        self._folder: str | None = None
        self._copy: jit.Running | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        if options is None:
            self._copy = jit.start(objects, argv)
            return
        self._folder = tempfile.mkdtemp(prefix="ktc-run-")
        path = Path(self._folder, "program")
        if own_process.linked(objects, path, options):
            self._process = subprocess.Popen(argv, executable=path)
        else:
            self._code = LINK_FAILED

    def ended(self) -> int | None:
        """Return the exit code, or 128 and the number of the signal that ended it; None while it runs."""
        if self._code is None and self._copy is not None:
            self._code = self._copy.ended(wait=False)
        elif self._code is None and self._process is not None:
            code = self._process.poll()
            self._code = 128 - code if code is not None and code < 0 else code
        if self._code is not None:
            self._remove()
        return self._code

    def end(self) -> None:
        """End it, if it still runs: it is asked first."""
        deadline = time.monotonic() + _GRACE_SECONDS
        self._send(signal.SIGTERM)
        while not self._is_over():
            if time.monotonic() > deadline:
                self._send(signal.SIGKILL)
            time.sleep(_TURN_SECONDS)
        self._remove()

    def _is_over(self) -> bool:
        try:
            return self.ended() is not None
        except (Bug, jit.MissingSymbols):  # ended before its objects were loaded
            return True

    def _send(self, number: signal.Signals) -> None:
        if self._code is not None:
            return
        with suppress(ProcessLookupError):
            if self._copy is not None:
                os.kill(self._copy.pid, number)
            elif self._process is not None:
                self._process.send_signal(number)

    def _remove(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
