"""Processes that run LLVM: jobs in, results out, several at once.

LLVM is loaded once, in a child that is forked early and loads it while the parent still reads and elaborates; that
child forks one process a job. So jobs run at the same time (llvmlite holds one lock in a process) and a job that LLVM
kills takes nothing with it: it becomes one `Bug` that names the job and LLVM's last words.
"""

import faulthandler
import os
import pickle
import select
import selectors
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

from ktc.diag.diagnostic import Bug
from ktc.emit.steps import Step
from ktc.records import record

_READ_BYTES = 1 << 16
_LENGTH_BYTES = 8
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""Unit of the system's `ru_maxrss`."""
_SERVER = -1
"""The ticket of what concerns the child itself."""


@record
class Job:
    """A call in a process of its own.

    Args:
        name: what it works for, for messages: "kernel 'saxpy'".
        function: "module:function"; a name, so that the parent need not load LLVM.
        arguments: plain values.
        timed: the function takes `steps`, a list to which it appends a `Step` for each of its own.
    """

    name: str
    function: str
    arguments: tuple[Any, ...]
    timed: bool = False


@record
class Usage:
    """What one job took.

    Args:
        peak_bytes: the most memory that its process used.
        cpu: seconds of user and system time of the whole process.
    """

    pid: int
    cpu: float
    peak_bytes: int
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class Workers:
    """The child with LLVM, and up to `jobs` processes below it. Use it in a `with`, or `close` it.

    Args:
        jobs: how many run at once, at least 1.
        preload: modules that the child imports at once.
    """

    jobs: int = 1
    preload: tuple[str, ...] = ("ktc.emit.kernel", "ktc.emit.host")
    _child: int = 0
    _to: int = -1
    _from: int = -1
    _names: list[str] = field(default_factory=list)
    _done: dict[int, tuple[str, Any]] = field(default_factory=dict)
    usage: dict[int, Usage] = field(default_factory=dict)
    """By ticket, of the jobs that have ended."""

    def start(self) -> Self:
        """Fork the child; it loads LLVM while the caller goes on."""
        if self._child:
            return self
        sys.stdout.flush()
        sys.stderr.flush()
        job_read, job_write = os.pipe()
        result_read, result_write = os.pipe()
        pid = os.fork()
        with suppress(OSError):  # whoever is first; then all of it can be ended at once
            os.setpgid(pid, pid)
        if pid == 0:
            status = 1
            try:
                os.close(job_write)
                os.close(result_read)
                _Server(job_read, result_write, self.jobs).serve(self.preload)
                status = 0
            except KeyboardInterrupt:
                pass
            finally:
                os._exit(status)
        os.close(job_read)
        os.close(result_write)
        os.set_blocking(job_write, False)
        self._child, self._to, self._from = pid, job_write, result_read
        return self

    def submit(self, job: Job) -> int:
        """Hand over a job; the ticket is for `result`."""
        self.start()
        ticket = len(self._names)
        self._names.append(job.name)
        with suppress(BrokenPipeError):  # the child is gone: `result` tells
            self._push(_frame((ticket, job)))
        return ticket

    def result(self, ticket: int) -> Any:
        """Wait for a job and return what its function returned, or raise what it raised."""
        while ticket not in self._done:
            if not self._take():
                self._done[ticket] = self._done.get(_SERVER, ("died", "its process is gone"))
        kind, value = self._done.pop(ticket)
        if kind == "value":
            return value
        if kind == "raised":
            raise value
        raise Bug(f"LLVM gave up on {self._names[ticket]}: {value}", "emit")

    def close(self) -> None:
        """End the child and whatever still runs below it."""
        if not self._child:
            return
        os.close(self._to)
        os.close(self._from)
        # Another copy of this process may hold the pipes open (`forks`): the child cannot be trusted to see their end.
        with suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        self._child = 0

    def _take(self) -> bool:
        """Read one result; False if there will be none any more."""
        message = _receive(self._from)
        if message is not None:
            ticket, kind, value, usage = message
            self._done[ticket] = (kind, value)
            if usage is not None:
                self.usage[ticket] = usage
        return message is not None

    def _push(self, data: bytes) -> None:
        """Write to the child without waiting for it while it waits for us to read a result."""
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self._from], [self._to], [])
            if readable and not self._take():
                raise BrokenPipeError
            if writable:
                with suppress(BlockingIOError):
                    view = view[os.write(self._to, view) :]

    def finished(self, ticket: int) -> bool:
        """Say whether a job's result has come, without waiting; takes what is there."""
        while ticket not in self._done and select.select([self._from], [], [], 0)[0]:
            if not self._take():
                return True
        return ticket in self._done

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(slots=True)
class _Running:
    """A process of the server: what it has sent so far, as its result and to stderr."""

    ticket: int
    name: str
    pid: int
    result: bytearray = field(default_factory=bytearray)
    words: bytearray = field(default_factory=bytearray)
    open_pipes: int = 2


class _Server:
    """The child's side. Ends when the parent closes the pipe of jobs; then it kills what still runs."""

    def __init__(self, jobs_in: int, results_out: int, limit: int) -> None:
        self.jobs_in, self.results_out, self.limit = jobs_in, results_out, max(1, limit)
        self.selector = selectors.DefaultSelector()
        self.running: set[int] = set()
        self.waiting: list[tuple[int, Job]] = []

    def serve(self, preload: tuple[str, ...]) -> None:
        try:
            for module in preload:
                import_module(module)
        except Exception as error:  # an LLVM that does not load; the parent reports it
            os.write(self.results_out, _frame((_SERVER, "died", f"{type(error).__name__}: {error}", None)))
            return
        self.selector.register(self.jobs_in, selectors.EVENT_READ, None)
        try:
            while self._turn():
                pass
        except BrokenPipeError:  # the parent is gone
            pass
        for pid in self.running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _turn(self) -> bool:
        for key, _ in self.selector.select():
            if key.data is None:
                message = _receive(self.jobs_in)
                if message is None:
                    return False
                self.waiting.append(message)
            else:
                self._collect(key.fd, *key.data)
        while self.waiting and len(self.running) < self.limit:
            self._launch(*self.waiting.pop(0))
        return True

    def _launch(self, ticket: int, job: Job) -> None:
        result_read, result_write = os.pipe()
        words_read, words_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(words_write, 2)
            _work(result_write, job)
        os.close(result_write)
        os.close(words_write)
        process = _Running(ticket, job.name, pid)
        self.running.add(pid)
        self.selector.register(result_read, selectors.EVENT_READ, (process, process.result))
        self.selector.register(words_read, selectors.EVENT_READ, (process, process.words))

    def _collect(self, pipe: int, process: _Running, into: bytearray) -> None:
        data = os.read(pipe, _READ_BYTES)
        into += data
        if data:
            return
        self.selector.unregister(pipe)
        os.close(pipe)
        process.open_pipes -= 1
        if process.open_pipes:
            return
        _, status, used = os.wait4(process.pid, 0)
        self.running.discard(process.pid)
        steps: tuple[Step, ...] = ()
        if status == 0:
            kind, value, steps = pickle.loads(bytes(process.result))
        else:
            kind, value = "died", _last_words(process.words, os.waitstatus_to_exitcode(status))
        usage = Usage(process.pid, used.ru_utime + used.ru_stime, used.ru_maxrss * MAXRSS_BYTES, steps)
        _write(self.results_out, _frame((process.ticket, kind, value, usage)))


def _work(pipe: int, job: Job) -> None:
    """Run one job in its own process; never returns."""
    faulthandler.disable()  # the last words are to be LLVM's
    status = 1
    steps: list[Step] = []
    try:
        try:
            module, _, name = job.function.partition(":")
            function = getattr(import_module(module), name)
            value = function(*job.arguments, steps=steps) if job.timed else function(*job.arguments)
            data = pickle.dumps(("value", value, tuple(steps)))
        except Exception as error:  # whatever the job did wrong, the parent reports it
            data = pickle.dumps(("raised", _portable(error), tuple(steps)))
        _write(pipe, data)
        status = 0
    finally:
        os._exit(status)


def _portable(error: Exception) -> Exception:
    """Return the exception if it survives the way to the parent, else a `Bug` with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever hinders pickling, the text is what matters
        return Bug(f"{type(error).__name__}: {error}", "emit")
    return error


def _last_words(words: bytearray, status: int) -> str:
    """Return the line of stderr that says why LLVM stopped."""
    how = f"exit status {status}" if status >= 0 else f"signal {-status}"
    lines = [line.strip() for line in words.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "Assertion" in line]
    line = (telling or [line for line in lines if not line.startswith("#")] or lines or [""])[-1]
    return f"{line} ({how})" if line else how


def _frame(message: object) -> bytes:
    data = pickle.dumps(message)
    return len(data).to_bytes(_LENGTH_BYTES, "little") + data


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _receive(pipe: int) -> Any:
    """Read one message; None at the end of the pipe."""
    head = _read_exactly(pipe, _LENGTH_BYTES)
    if head is None:
        return None
    data = _read_exactly(pipe, int.from_bytes(head, "little"))
    return None if data is None else pickle.loads(data)


def _read_exactly(pipe: int, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        part = os.read(pipe, min(_READ_BYTES, count - len(data)))
        if not part:
            return None
        data += part
    return bytes(data)
