"""How long compiling takes: runs of a compiler, measured by the operating system, in every chosen variant.

Input: source files and what to vary. Output: `Result`s, each with its runs; `bench_report` prints, stores and draws
them. A run is a process of its own with a cache of its own: time is what the system charges to the process and to all
that it waited for, memory the largest resident set among them, as /usr/bin/time has it; `tree_bytes` beside it is the
greatest sum over all of its processes, sampled.
"""

import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from ktc.base.records import entity, record
from ktc.base.usage import MAXRSS_BYTES
from ktc.config import environment_with

FLOWS = ("all-kernel", "per-kernel")
_SAMPLE_SECONDS = 0.005
_PAGE_BYTES = resource.getpagesize()
_WARM_UP = 'def main():\n    print("warm", 1, 2.5, String("up"))\n'


class BenchFailed(Exception):
    """A build failed; the text is its command and its messages."""


@record
class Run:
    """One build: seconds, and bytes."""

    user: float
    system: float
    elapsed: float
    maxres_bytes: int
    tree_bytes: int

    @property
    def cpu(self) -> float:
        """User and system seconds."""
        return self.user + self.system


@record
class Variant:
    """One build to measure: the compiler and its options.

    Args:
        compiler: "ktc", or the command that it is compared with.
        level: of -O. debug: "none" or "line-tables".
        flow: one of `FLOWS`; "" for another compiler.
    """

    file: Path
    compiler: str
    level: int
    debug: str
    flow: str


@entity
class Result:
    """The runs of one variant."""

    variant: Variant
    runs: list[Run] = field(default_factory=list)

    def median(self, what: str) -> float:
        """Return the median of a field of `Run` over the runs."""
        return statistics.median(float(getattr(run, what)) for run in self.runs)


@record
class Plan:
    """The measurements to make.

    Args:
        levels, debugs, flows: every combination is built.
        repeat: runs of each.
        accelerator: target of the kernels.
        jobs: `-j` of ktc, 0 for its default.
        versus: another compiler's command, with `{file}` and `{output}` in it; else our options and both follow it.
        suffix: of the twin that the other compiler reads (".cu"); if there is none, the same text under that suffix.
    """

    files: tuple[Path, ...]
    levels: tuple[int, ...] = (3, 2)
    debugs: tuple[str, ...] = ("none", "line-tables")
    flows: tuple[str, ...] = FLOWS
    repeat: int = 3
    accelerator: str = "sm_80"
    jobs: int = 0
    versus: str = ""
    suffix: str = ""


def variants(plan: Plan) -> Iterator[Variant]:
    """Give every combination, files outermost; another compiler once a level and debug level."""
    for file in plan.files:
        for level in plan.levels:
            for debug in plan.debugs:
                for flow in plan.flows:
                    yield Variant(file, "ktc", level, debug, flow)
                if plan.versus:
                    yield Variant(file, plan.versus, level, debug, "")


def measure(plan: Plan, ktc: Sequence[str], progress: Callable[[str], None]) -> list[Result]:
    """Build every variant, in turn, `repeat` times round.

    Args:
        ktc: the command. progress: called with a line before each build.

    Raises:
        BenchFailed: a build failed.
    """
    results = [Result(variant) for variant in variants(plan)]
    with tempfile.TemporaryDirectory(prefix="ktc-bench-") as name:
        folder = Path(name)
        warm = _warm_caches(plan, ktc, folder)
        for turn in range(plan.repeat):
            for number, result in enumerate(results):
                variant = result.variant
                what = f"{variant.file.name} -O{variant.level} {variant.debug} {variant.flow or variant.compiler}"
                progress(f"run {turn + 1} of {plan.repeat}, {number + 1} of {len(results)}: {what}")
                result.runs.append(_run(plan, ktc, variant, warm[variant.level, variant.debug], folder))
    return results


def _warm_caches(plan: Plan, ktc: Sequence[str], folder: Path) -> dict[tuple[int, str], Path]:
    """Make the caches of somebody who has built another program: grammar, parsed library, its archive."""
    program = folder / "warm.kpy"
    program.write_text(_WARM_UP)
    found = {}
    for level in plan.levels:
        for debug in plan.debugs:
            cache = found[level, debug] = folder / f"warm-{level}-{debug}"
            words = [*ktc, "build", *_options(plan, level, debug), str(program), "-o", str(folder / "warm")]
            run(words, {"KTC_CACHE_DIR": str(cache)})
    return found


def _options(plan: Plan, level: int, debug: str) -> list[str]:
    return [f"-O{level}", "--debug-level", debug, "--target-accelerator", plan.accelerator]


def _run(plan: Plan, ktc: Sequence[str], variant: Variant, warm: Path, folder: Path) -> Run:
    place = folder / "run"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    cache, output = place / "cache", place / "out"
    options = _options(plan, variant.level, variant.debug)
    if variant.flow:
        shutil.copytree(warm, cache)
        more = ["--offload-mode", variant.flow, *(["-j", str(plan.jobs)] if plan.jobs else [])]
        words = [*ktc, "build", *options, *more, str(variant.file), "-o", str(output)]
    else:
        source = place / variant.file.with_suffix(plan.suffix or variant.file.suffix).name
        twin = variant.file.with_suffix(plan.suffix) if plan.suffix else variant.file
        source.write_bytes((twin if twin.exists() else variant.file).read_bytes())
        words = _other(plan.versus, options, source, output)
    # Another compiler's cache is under one of these, so that each of its builds is a cold one too.
    names = ("KTC_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "MODULAR_CACHE_DIR", "TMPDIR")
    environment = {name: str(cache) for name in names} if not variant.flow else {"KTC_CACHE_DIR": str(cache)}
    cache.mkdir(exist_ok=True)
    made = run(words, environment)
    if not output.exists():
        raise BenchFailed(f"{shlex.join(words)} wrote nothing")
    return made


def _other(command: str, options: Sequence[str], source: Path, output: Path) -> list[str]:
    """Return the words of another compiler's command; only a command without places gets our options too."""
    if "{file}" in command:
        return [word.replace("{file}", str(source)).replace("{output}", str(output)) for word in shlex.split(command)]
    return [*shlex.split(command), *options, str(source), "-o", str(output)]


def run(words: Sequence[str], environment: dict[str, str]) -> Run:
    """Run a command to its end and return what it took.

    Raises:
        BenchFailed: it failed.
    """
    peak = 0
    done = threading.Event()
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT, env=environment_with(environment))

        def sample() -> None:
            nonlocal peak
            while not done.wait(_SAMPLE_SECONDS):
                peak = max(peak, sum(_resident(pid) for pid in _tree(process.pid)))

        sampler = threading.Thread(target=sample, daemon=True)
        sampler.start()
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        sampler.join()
        if process.returncode:
            said.seek(0)
            text = said.read().decode("utf-8", "replace")
            raise BenchFailed(f"{shlex.join(words)} failed with exit code {process.returncode}:\n{text}")
    return Run(used.ru_utime, used.ru_stime, elapsed, used.ru_maxrss * MAXRSS_BYTES, peak)


def _tree(root: int) -> Iterable[int]:
    """Give a process and all that come from it."""
    todo = [root]
    while todo:
        pid = todo.pop()
        yield pid
        with suppress(OSError, ValueError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                todo += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):  # it has just ended
        return 0


def own_command() -> tuple[str, ...]:
    """Return the command that runs this ktc."""
    return (sys.executable, "-m", "ktc")
