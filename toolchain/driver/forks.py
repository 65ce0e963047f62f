"""Calls in processes of their own that begin with all that this one knows.

Input: calls. Output: their results, in their order. Unlike `emit.workers`, which start almost empty, a child here
is a copy of the caller: its changes of memory end with it, and only its result remains.
"""

import os
import pickle
import selectors
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ktc.diag.diagnostic import Bug

_Result = TypeVar("_Result")
_READ_BYTES = 1 << 16


def run(calls: Sequence[Callable[[], _Result]], jobs: int) -> list[_Result]:
    """Run each call in a copy of this process, at most `jobs` at once; a call's exception is raised here.

    Raises:
        Bug: a child ended without a result.
    """
    if not hasattr(os, "fork"):
        return [_unpack(pickle.dumps(_outcome(call))) for call in calls]
    sys.stdout.flush()
    sys.stderr.flush()
    results: dict[int, bytes] = {}
    waiting = list(enumerate(calls))[::-1]
    with selectors.DefaultSelector() as selector:
        running: dict[int, tuple[int, bytearray]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < max(1, jobs):
                    number, call = waiting.pop()
                    pid, pipe = _start(call)
                    running[pid] = (number, bytearray())
                    selector.register(pipe, selectors.EVENT_READ, pid)
                for key, _ in selector.select():
                    number, data = running[key.data]
                    part = os.read(key.fd, _READ_BYTES)
                    data += part
                    if not part:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        os.waitpid(key.data, 0)
                        del running[key.data]
                        results[number] = bytes(data)
        finally:
            for pid in running:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
    return [_unpack(results[number]) for number in range(len(calls))]


def begin(call: Callable[[], _Result]) -> Callable[[], _Result]:
    """Run a call in a copy of this process, beside it; what is returned waits for the result, as `run`."""
    if not hasattr(os, "fork"):
        held = _unpack(pickle.dumps(_outcome(call)))
        return lambda: held
    sys.stdout.flush()
    sys.stderr.flush()
    pid, pipe = _start(call)

    def finish() -> _Result:
        with os.fdopen(pipe, "rb") as file:
            data = file.read()
        os.waitpid(pid, 0)
        result: _Result = _unpack(data)
        return result

    return finish


def _start(call: Callable[[], object]) -> tuple[int, int]:
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    status = 1
    try:
        os.close(read)
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(_outcome(call), pipe)
        status = 0
    finally:
        os._exit(status)


def _outcome(call: Callable[[], object]) -> tuple[bool, object]:
    try:
        return True, call()
    except BaseException as error:  # whatever it was, the parent raises it
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # it does not travel: its text does
            return False, Bug(f"{type(error).__name__}: {error}", "elaborate")
        return False, error


def _unpack(data: bytes) -> Any:
    if not data:
        raise Bug("a process ended without a result", "elaborate")
    good, value = pickle.loads(data)
    if good:
        return value
    raise value
