"""Processes that run LLVM: jobs in, results out, several at once.

LLVM is loaded once, in a child that is forked early and loads it while the parent still reads and elaborates; that
child forks as many processes as may run at once, and each does one job after the other. So jobs run at the same time
(llvmlite holds one lock in a process) and a job that LLVM kills takes only its process with it: its fallback is done
or it becomes one `Bug` that names the job and LLVM's last words.

Where the system has no `fork`, jobs are done in this process, one after the other.
"""

import faulthandler
import os
import pickle
import select
import selectors
import signal
import sys
from collections import deque
from contextlib import suppress
from dataclasses import field
from importlib import import_module
from typing import Any, Self

from ktc.base import pipes
from ktc.base import usage as measured
from ktc.base.records import entity, record, replace
from ktc.diag.diagnostic import Bug
from ktc.emit.backend_errors import backend_error
from ktc.emit.job_steps import Step, Usage, used_by

_SERVER = -1
"""The ticket of messages about the child itself."""


@record
class Job:
    """A call in another process, which does nothing else meanwhile.

    Args:
        name: its subject, for messages: "kernel 'saxpy'".
        function: "module:function"; a name, so that the parent need not load LLVM.
        arguments: plain values.
        timed: the function takes `steps`, a list to which it appends a `Step` for each of its own.
        last: the process ends with it, for it leaves LLVM changed.
        fallback: the job that is done instead if LLVM dies of this one.
    """

    name: str
    function: str
    arguments: tuple[Any, ...]
    timed: bool = False
    last: bool = False
    fallback: "Job | None" = None


@entity
class Workers:
    """The child with LLVM, and up to `jobs` processes below it. Use it in a `with`, or `close` it.

    Args:
        jobs: how many run at once, at least 1.
        preload: modules that the child imports at once.
        for_kernels: modules that it imports before the first kernel; `device.workers_for` chooses them by target.
        stays: after a `with` that ended without an exception the processes wait for the next one.
    """

    jobs: int = 1
    preload: tuple[str, ...] = ("ktc.emit.host",)
    for_kernels: tuple[str, ...] = ("ktc.emit.kernel",)
    stays: bool = False
    _child: int = 0
    _to: int = -1
    _from: int = -1
    _names: list[str] = field(default_factory=list)
    _fallbacks: dict[int, Job | None] = field(default_factory=dict)
    _done: dict[int, tuple[str, Any]] = field(default_factory=dict)
    usage: dict[int, Usage] = field(default_factory=dict)
    """By ticket, of the jobs that have ended."""

    def start(self) -> Self:
        """Fork the child; it loads LLVM while the caller goes on."""
        if self._child or not hasattr(os, "fork"):
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
        self._fallbacks[ticket] = job.fallback
        if not self._child:
            self._do_here(ticket, job)
            return ticket
        with suppress(BrokenPipeError):  # the child is gone: `result` reports it
            self._push(pipes.frame((ticket, replace(job, fallback=None))))
        return ticket

    def expect_kernels(self) -> None:
        """Have the child import what kernels need, before its next job; programs without kernels do without."""
        modules, self.for_kernels = self.for_kernels, ()
        if modules and self.start()._child:
            with suppress(BrokenPipeError):  # the child is gone: `result` reports it
                self._push(pipes.frame((_SERVER, modules)))

    def _do_here(self, ticket: int, job: Job) -> None:
        """Do a job in this process, where the system has no copies of processes; what ends LLVM ends it all."""
        steps: list[Step] = []
        before = measured.own().cpu + measured.below().cpu
        self._done[ticket] = _done(job, steps)
        self.usage[ticket] = used_by(steps, before)[0]

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
        if (fallback := self._fallbacks[ticket]) is not None:
            again = self.submit(fallback)
            return self.result(again)
        raise backend_error(self._names[ticket], value)

    def close(self) -> None:
        """End the child and whatever still runs below it."""
        if not self._child:
            return
        # Another copy of this process may hold the pipes open (`forks`): the child cannot be trusted to see their end.
        if self._names and len(self.usage) == len(self._names):
            with suppress(BrokenPipeError):
                self._push(pipes.frame(None))  # it waits for its processes, so that the system counts what they took
        else:
            with suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)
        with suppress(ChildProcessError):  # Ctrl-C in here: this is the second time
            os.waitpid(self._child, 0)
        self._child = 0
        os.close(self._to)
        os.close(self._from)

    def _take(self) -> bool:
        """Read one result; False if there will be none any more."""
        message = pipes.receive(self._from, tuple)
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
        """Return whether a job's result has come, without waiting; takes what is there."""
        while self._child and ticket not in self._done and select.select([self._from], [], [], 0)[0]:
            if not self._take():
                return True
        return ticket in self._done

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None or not self.stays:
            self.close()


@entity
class _Process:
    """A process of the server, which does one job after the other.

    Args:
        to, result, words: pipes: jobs go in, results come out, and what it says on stderr.
        job: the ticket of its present job; None while it waits. is_last: that job is its last.
        output: the text that it has printed since that job began.
        cpu: seconds that it has reported so far.
    """

    pid: int
    to: int
    result: int
    words: int
    job: int | None = None
    is_last: bool = False
    output: bytearray = field(default_factory=bytearray)
    cpu: float = 0.0


class _Server:
    """The child's side. Ends when the parent sends None or closes the pipe of jobs; then it kills what still runs.

    A process below it lives for as many jobs as there are: LLVM's first kernel takes it twice as long as the second.
    Only one that LLVM has ended, or that a `last` job has, is replaced.
    """

    def __init__(self, jobs_in: int, results_out: int, limit: int) -> None:
        self.jobs_in, self.results_out, self.limit = jobs_in, results_out, max(1, limit)
        self.selector = selectors.DefaultSelector()
        self.processes: list[_Process] = []
        self.waiting: deque[tuple[int, Job]] = deque()

    def serve(self, preload: tuple[str, ...]) -> None:
        if not self._load(preload):
            return
        self.selector.register(self.jobs_in, selectors.EVENT_READ, None)
        try:
            while self._turn():
                pass
        except BrokenPipeError:  # the parent is gone
            pass
        for process in self.processes:
            os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)

    def _load(self, modules: tuple[str, ...]) -> bool:
        try:
            for module in modules:
                import_module(module)
        except Exception as error:  # an LLVM that does not load; the parent reports it
            os.write(self.results_out, pipes.frame((_SERVER, "died", f"{type(error).__name__}: {error}", None)))
            return False
        return True

    def _turn(self) -> bool:
        for key, _ in self.selector.select():
            if key.data is None:
                message = pipes.receive(self.jobs_in, tuple)
                if message is None:
                    return False
                if message[0] != _SERVER:
                    self.waiting.append(message)
                elif not self._load(message[1]):
                    return False
            elif key.data in self.processes:  # else it was buried in this turn
                (self._listen if key.fd == key.data.words else self._collect)(key.data)
        while self.waiting and (process := self._idle()) is not None:
            process.job, job = self.waiting.popleft()
            process.is_last = job.last
            process.output.clear()
            with suppress(BrokenPipeError):  # it died while idle: `_collect` reports it
                pipes.write(process.to, pipes.frame(job))
        return True

    def _idle(self) -> _Process | None:
        """Return a process that has nothing to do, a new one if there may be more."""
        found = next((process for process in self.processes if process.job is None), None)
        return self._fork() if found is None and len(self.processes) < self.limit else found

    def _fork(self) -> _Process:
        job_read, job_write = os.pipe()
        result_read, result_write = os.pipe()
        words_read, words_write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(words_write, 2)
            # Whoever holds the server's end of a pipe open hides from the other end that the server is gone.
            for pipe in (self.jobs_in, self.results_out, job_write, result_read, words_read, words_write):
                os.close(pipe)
            for process in self.processes:
                os.close(process.to)
            _work(job_read, result_write)
        for pipe in (job_read, result_write, words_write):
            os.close(pipe)
        process = _Process(pid, job_write, result_read, words_read)
        self.processes.append(process)
        self.selector.register(result_read, selectors.EVENT_READ, process)
        self.selector.register(words_read, selectors.EVENT_READ, process)
        return process

    def _listen(self, process: _Process) -> bool:
        """Take the next messages of a process; False after its end."""
        data = os.read(process.words, pipes.READ_BYTES)
        process.output += data
        return bool(data)

    def _collect(self, process: _Process) -> None:
        """Pass on the result of a job, or that LLVM has ended its process."""
        message = pipes.receive(process.result, tuple)
        if message is None:
            while self._listen(process):
                pass
            message = self._reap(process)
        kind, value, usage = message
        process.cpu += usage.cpu
        if process.job is not None:
            pipes.write(self.results_out, pipes.frame((process.job, kind, value, usage)))
        process.job = None
        if process.is_last and process in self.processes:
            self._reap(process)

    def _reap(self, process: _Process) -> tuple[str, str, Usage]:
        self.processes.remove(process)
        self.selector.unregister(process.result)
        self.selector.unregister(process.words)
        for pipe in (process.to, process.result, process.words):
            os.close(pipe)
        _, status, used = os.wait4(process.pid, 0)
        cpu = used.ru_utime + used.ru_stime - process.cpu
        usage = Usage(process.pid, cpu, used.ru_maxrss * measured.MAXRSS_BYTES)
        return "died", _reason_of_death(process.output, os.waitstatus_to_exitcode(status)), usage


def _work(jobs: int, results: int) -> None:
    """Do jobs in a process of their own until there are none; never returns."""
    faulthandler.disable()  # the last words are to be LLVM's
    status = 1
    try:
        before = 0.0
        while (job := pipes.receive(jobs, Job)) is not None:
            steps: list[Step] = []
            kind, value = _done(job, steps)
            usage, before = used_by(steps, before)
            pipes.write(results, _portable(kind, value, usage))
            if job.last:
                break
        status = 0
    finally:
        os._exit(status)


def _done(job: Job, steps: list[Step]) -> tuple[str, Any]:
    module, _, name = job.function.partition(":")
    try:
        function = getattr(import_module(module), name)
        return "value", function(*job.arguments, steps=steps) if job.timed else function(*job.arguments)
    except Exception as error:  # whatever the job did wrong, the parent reports it
        return "raised", error


def _portable(kind: str, value: Any, usage: Usage) -> bytes:
    """Return the message for the parent; what cannot be sent becomes a `Bug` with its text."""
    try:
        data = pipes.frame((kind, value, usage))
        if kind == "raised":
            pickle.loads(pickle.dumps(value))  # an exception may pickle and yet not come back
    except Exception as error:  # whatever hinders pickling, the text is what matters
        cause = value if kind == "raised" else error
        return pipes.frame(("raised", Bug(f"{type(cause).__name__}: {cause}", "emit"), usage))
    return data


def _reason_of_death(words: bytearray, status: int) -> str:
    """Return the line of stderr that says why LLVM stopped."""
    how = f"exit status {status}" if status >= 0 else f"signal {-status}"
    lines = [line.strip() for line in words.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or "Assertion" in line]
    line = (telling or [line for line in lines if not line.startswith("#")] or lines or [""])[-1]
    return f"{line} ({how})" if line else how
