"""Builds the test program of one file and runs it.

Input: a file and its cases. Output: one `Result` a case. A test that ends its program, or that takes too long, fails
alone: the tests after it run in a new process.
"""

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ktc import config as configs
from ktc.base.cache import digest
from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.config import Config
from ktc.diag.diagnostic import CompileError, Sink, in_order
from ktc.diag.render import render_text
from ktc.driver import build_cache
from ktc.driver.pipeline import Session, assemble, build
from ktc.emit.linking.link import install
from ktc.syntax.editions import assign
from ktc.syntax.loader import read_source
from ktc.syntax.parsing.parser import parse
from ktc.tools.testing.discovery import Case, doctests, functions
from ktc.tools.testing.harness import MARK, Harness, harness, module_of, operands
from ktc.tools.testing.results import ERROR, FAILED, PASSED, FileResults, Plan, Result


def discover(path: Path, sink: Sink, is_test: bool, edition: Edition | None = None) -> list[Case]:
    """Return the tests of a file: functions, if it is a file of tests, and programs in docstrings."""
    source = read_source(path, sink, False, {})
    if source is None or not (is_test or "```" in source.text):
        return []
    assign(source, edition, sink)
    module = parse(source, sink, configs.open_cache())
    if module is None:
        return []
    module.source = source
    found = functions(module) if is_test else []
    _, dotted = module_of(path)
    return [*found, *doctests(source.text, f"from {dotted} import *", module.edition)]


def run_file(plan: Plan, path: Path, cases: Sequence[Case]) -> FileResults:
    """Build and run the tests of a file."""
    reads: dict[str, str | None] = {}
    return FileResults(path, _results(plan, path, cases, reads), reads)


def _results(plan: Plan, path: Path, cases: Sequence[Case], reads: dict[str, str | None]) -> list[Result]:
    name = str(path)
    unfit = [Result(name, case, ERROR, message=case.problem) for case in cases if case.problem]
    cases = [case for case in cases if not case.problem]
    if not cases:
        return unfit
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "tests")
        problem = _build(plan, path, cases, program, reads)
        if problem:
            return [*unfit, *(Result(name, case, ERROR, message=problem) for case in cases)]
        return [*unfit, *_run(plan, name, cases, program)]


def _build(
    plan: Plan, path: Path, cases: Sequence[Case], program: Path, reads: dict[str, str | None]
) -> str:  # fmt: skip
    """Build the program; return the errors as text. Operands are shown where their types can be written."""
    sink = Sink()
    source = read_source(path, sink, False, reads)
    if source is not None:
        assign(source, plan.options.edition, sink)
    module = parse(source, sink, configs.open_cache()) if source is not None else None
    if source is None or module is None:
        return render_text(in_order(sink.diagnostics), plan.color)
    module.source = source
    shows = operands(module)
    if shows and not _compiled(plan, harness(path, source, cases, shows), program, reads):
        return ""
    return _compiled(plan, harness(path, source, cases), program, reads)


def _compiled(plan: Plan, made: Harness, program: Path, reads: dict[str, str | None]) -> str:
    sink, cache = Sink(), configs.open_cache()
    options = replace(plan.options, root=made.root, output=program)
    config = configs.resolve(options, sink, cache)
    if config is None:
        return render_text(sink.diagnostics, plan.color)
    texts = "".join(f"{path}\0{source.as_read()}\0" for path, source in sorted(made.overlays.items()))
    form = f"test {digest('test', texts.encode())}"
    kept = build_cache.find(config, form, cache)
    try:
        if kept is not None:
            reads.update(kept.reads)
            install(kept.data, program)
            return ""
        session = Session(config, cache, sink, overlays=made.overlays)
        try:
            build(session)
        finally:
            reads.update(session.reads)
        _assemble(config, made, session.sink)
    except CompileError as error:
        return render_text(in_order(error.diagnostics), plan.color)
    build_cache.keep(config, form, cache, reads=session.reads, data=program.read_bytes())
    return ""


def _assemble(config: Config, made: Harness, sink: Sink) -> None:
    """Assemble the kernels for the GPUs that are named."""
    if any(target.vendor != "cpu" for target in config.accelerators):
        assemble(Session(config, configs.open_cache(), sink, overlays=made.overlays))


def _run(plan: Plan, name: str, cases: Sequence[Case], program: Path) -> list[Result]:
    """Run the program, again after each test that brings it down."""
    results: dict[int, Result] = {}
    left = list(range(len(cases)))
    while left:
        before = len(results)
        _run_once(plan, name, cases, program, left, results)
        left = [number for number in left if number not in results]
        if plan.is_fast and any(result.status != PASSED for result in results.values()):
            break
        if len(results) == before:
            return [*results.values(), *(Result(name, cases[at], ERROR, message="it never started") for at in left)]
    return [results[number] for number in sorted(results)]


def _run_once(
    plan: Plan, name: str, cases: Sequence[Case], program: Path, left: Sequence[int], results: dict[int, Result]
) -> None:
    command = [str(program), *map(str, left)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    reader = _Reader(name, cases, results)
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            wait = max(0.0, reader.since + plan.seconds - time.monotonic())
            if not selector.select(wait):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                reader.ends(f"it took longer than {plan.seconds:g} seconds")
                return
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                break
            reader.feed(data)
            if plan.is_fast and reader.has_failed:
                os.killpg(process.pid, signal.SIGKILL)
                break
    code = process.wait()
    reader.ends(f"it ended the program by {_signal(-code)}" if code < 0 else f"it ended the program with code {code}")


def _signal(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"


class _Reader:
    """Takes the program's output apart."""

    def __init__(self, name: str, cases: Sequence[Case], results: dict[int, Result]) -> None:
        self.name, self.cases, self.results = name, cases, results
        self.rest = b""
        self.output: list[str] = []
        self.number = -1
        self.nanoseconds = -1
        self.message: list[str] = []
        self.since = time.monotonic()
        self.has_failed = False

    def feed(self, data: bytes) -> None:
        """Take some bytes."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self._line(line.decode("utf-8", "replace"))

    def _line(self, line: str) -> None:
        before, mark, words = line.rpartition(MARK)
        if not mark:
            (self.message if self.nanoseconds >= 0 else self.output).append(line)
            return
        if before:  # what the test wrote last had no line end
            self.output.append(before)
        kind, number, *rest = words.split()
        if kind == "start":
            self.number, self.nanoseconds, self.since = int(number), -1, time.monotonic()
            self.output, self.message = [], []
        elif kind == "passed":
            self._done(PASSED, int(rest[0]), "")
        elif kind == "failed":
            self.nanoseconds = int(rest[0])
        else:
            self._done(FAILED, self.nanoseconds, "\n".join(self.message))
            self.has_failed = True

    def _done(self, status: str, nanoseconds: int, message: str) -> None:
        case, output = self.cases[self.number], "\n".join(self.output)
        self.results[self.number] = Result(self.name, case, status, nanoseconds / 1e9, message, output)
        self.number, self.nanoseconds = -1, -1

    def ends(self, why: str) -> None:
        """The program has ended; a test that was running has failed."""
        if self.number >= 0:
            if self.rest:
                self.output.append(self.rest.decode("utf-8", "replace"))
            self._done(FAILED, int((time.monotonic() - self.since) * 1e9), why)
