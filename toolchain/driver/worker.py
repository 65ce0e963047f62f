"""The thread on which a server compiles: a large stack, one job at a time, and no search for garbage meanwhile.

Python's search for cycles takes up to half of a compile's time in a process that holds many trees, so it waits until
it has been idle for a while.
"""

import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_STACK_BYTES = 256 << 20
_RECURSION = 20_000
_PAUSE = 1.0
"""Seconds without a job before the search."""
_MAX = 4
"""Jobs after which it waits no longer: a search takes as long as there are objects of these."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Worker(ThreadPoolExecutor):
    """One thread that compiles, for a process that goes on."""

    def __init__(self, name: str) -> None:
        super().__init__(1, name)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION))
        before = threading.stack_size(_STACK_BYTES)
        super().submit(int).result()  # the thread starts with the large stack
        threading.stack_size(before)
        gc.disable()
        self._jobs, self._is_first, self._timer = 0, True, threading.Timer(0, int)

    def submit(
        self, fn: Callable[_Arguments, _Result], /, *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> "Future[_Result]":
        """Do a job on the thread."""
        self._timer.cancel()
        self._jobs += 1
        future = super().submit(fn, *args, **kwargs)
        if self._jobs >= _MAX:
            super().submit(self._collect)  # when the answer is there
        self._timer = threading.Timer(_PAUSE, self._rest)
        self._timer.daemon = True
        self._timer.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the thread; Python looks for garbage again."""
        self._timer.cancel()
        super().shutdown(wait, cancel_futures=cancel_futures)
        gc.enable()

    def _rest(self) -> None:
        try:
            super().submit(self._collect)
        except RuntimeError:  # the process ends
            return

    def _collect(self) -> None:
        self._jobs = 0
        gc.collect()
        if self._is_first:  # what is loaded by now stays: later searches pass over it
            gc.freeze()
            self._is_first = False
