"""One candidate: its executable, what its kernels need, its times, and sums over its results.

Input: `Job`. Output: `Outcome`. `evaluate` is what a worker on another machine runs; it takes and gives JSON. Compiler
and program run as processes of their own, so that neither a crash nor a signal ends the search.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from ktc.base.records import as_dict, record
from ktc.config import environment_with, open_cache

TUNING_DEFINE = "ktc.tuning=1"
_REPORT = "KTC_TUNE_REPORT"
_MEASURING = "tune-measure"


@record
class Job:
    """One candidate to build and measure.

    Args:
        root: the program. values: of its choices. options: words for `ktc build`.
        target: of the kernels. seconds: a run may take.
        files: texts of the program's files by their path below the program's folder, for a worker that has none.
        prunes: look at what the kernels need before they are run.
    """

    root: str
    values: Mapping[str, int]
    options: Sequence[str] = ()
    target: str = "cpu"
    seconds: float = 60.0
    files: Mapping[str, str] = field(default_factory=dict)
    prunes: bool = True


@record
class Measured:
    """A report of `tuning.measure` about one class of inputs.

    Args:
        device: its name. dtype, shape: the class.
        times: nanoseconds of a launch, one for each round.
        sums: over parts of the result: the sum, and the sum of magnitudes.
    """

    device: str
    dtype: str
    shape: str
    times: Sequence[float]
    sums: Sequence[tuple[float, float]]


@record
class Outcome:
    """The outcome of a candidate.

    Args:
        state: "measured", "refused" (does not build), "pruned" (needs too much), "failed" (does not run).
        reason: the first line of what was said, if it was not measured.
        registers, shared: the most that one of its kernels takes; None if unknown.
    """

    values: Mapping[str, int]
    state: str
    reason: str = ""
    measured: Sequence[Measured] = ()
    build_seconds: float = 0.0
    registers: int | None = None
    shared: int | None = None


@record
class Built:
    """A candidate between its build and its run; `outcome`: it is not worth a run."""

    job: Job
    program: Path
    outcome: Outcome | None = None
    seconds: float = 0.0
    registers: int | None = None
    shared: int | None = None


def build(job: Job, folder: Path) -> Built:
    """Build a candidate in a folder, and look at what its kernels need."""
    root = _root(job, folder)
    program = folder / f"candidate-{abs(hash(tuple(job.values.items()))):x}"
    defines = [word for name, value in job.values.items() for word in ("-D", f"{name}={value}")]
    options = [str(folder / "program" / word[1:]) if word.startswith("@") else word for word in job.options]
    words = [*options, *defines, "-D", TUNING_DEFINE, "--target-accelerator", job.target, "-j", "1"]
    start = time.monotonic()
    done = _ktc("build", str(root), "-o", str(program), *words)
    seconds = time.monotonic() - start
    if done.returncode:
        return Built(job, program, Outcome(job.values, "refused", _said(done.stderr), build_seconds=seconds))
    facts = _facts(root, words) if job.prunes and job.target.startswith(("sm_", "gfx")) else []
    registers, shared = _most(facts, "registers"), _most(facts, "shared")
    why = _too_much(facts)
    outcome = Outcome(job.values, "pruned", why, (), seconds, registers, shared) if why else None
    return Built(job, program, outcome, seconds, registers, shared)


def measure(built: Built) -> Outcome:
    """Run what was built, alone on this machine."""
    if built.outcome is not None:
        return built.outcome
    job, report = built.job, built.program.with_suffix(".report")
    report.unlink(missing_ok=True)
    device = "cpu" if job.target == "cpu" else "gpu"
    environment = environment_with({_REPORT: str(report), "KTC_DEVICE": device})

    def failed(why: str) -> Outcome:
        return Outcome(job.values, "failed", why, (), built.seconds, built.registers, built.shared)

    lock = open_cache().lock(_MEASURING)
    try:
        done = subprocess.run(
            [str(built.program)], env=environment, capture_output=True, text=True, timeout=job.seconds, check=False,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return failed(f"it ran for more than {job.seconds:g} s")
    except OSError as error:
        return failed(str(error))
    finally:
        lock.release()
        built.program.unlink(missing_ok=True)
    if done.returncode:
        return failed(_said(done.stderr or done.stdout) or f"exit status {done.returncode}")
    measured = read_report(report)
    if not measured:
        return failed("it calls 'tuning.measure' nowhere")
    return Outcome(job.values, "measured", "", measured, built.seconds, built.registers, built.shared)


def evaluate(text: str) -> str:
    """Build and measure a candidate on this machine; takes a `Job` and returns an `Outcome`, both as JSON."""
    job = Job(**json.loads(text))
    with tempfile.TemporaryDirectory(prefix="ktc-tune-") as folder:
        return json.dumps(as_dict(measure(build(job, Path(folder)))))


def outcome_of(data: Mapping[str, object]) -> Outcome:
    """Return an outcome from the dictionary that it was.

    Raises:
        KeyError, TypeError, ValueError: it was none.
    """
    measured = data["measured"]
    if not isinstance(measured, list):
        raise ValueError("measured")
    parts = [Measured(**{**one, "sums": [(a, b) for a, b in one["sums"]]}) for one in measured]
    return Outcome(**{**data, "measured": tuple(parts)})  # type: ignore[arg-type]


def read_report(path: Path) -> tuple[Measured, ...]:
    """Return the reports of `tuning.measure`: a line for each call; the last of a class counts."""
    found: dict[tuple[str, str], Measured] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError:
        return ()
    for line in lines:
        device, dtype, shape, times, sums = line.split("\t")
        numbers = [float(word) for word in sums.split()]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        found[dtype, shape] = Measured(device, dtype, shape, [float(word) for word in times.split()], pairs)
    return tuple(found.values())


def _root(job: Job, folder: Path) -> Path:
    """Return the program, written to the folder if it came with the job."""
    if not job.files:
        return Path(job.root)
    top = folder / "program"
    for name, text in job.files.items():
        path = top / name
        if ".." in Path(name).parts:
            raise ValueError(f"'{name}' lies outside of the program's folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return top / job.root


def _ktc(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ktc", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")


def _said(text: str) -> str:
    """Return the line of a message that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = next((line for line in lines if ": error[" in line), "")
    return wrong.partition("]: ")[2] or "".join(lines[:1])


def _facts(root: Path, words: Sequence[str]) -> list[dict[str, object]]:
    """Return the facts of `ktc report` about the kernels; none where it knows none."""
    done = _ktc("report", str(root), "--json", *words)
    if done.returncode:
        return []
    try:
        found = json.loads(done.stdout)["kernels"]
    except (ValueError, KeyError):
        return []
    return [one for one in found if isinstance(one, dict)]


def _most(facts: Sequence[Mapping[str, object]], what: str) -> int | None:
    return max((found for one in facts if isinstance(found := one.get(what), int)), default=None)


def _too_much(facts: Sequence[Mapping[str, object]]) -> str:
    """Say which kernel cannot run well: it spills registers, or no block of it fits on a multiprocessor."""
    for one in facts:
        spills, occupancy = one.get("spills"), one.get("occupancy")
        if isinstance(spills, int) and spills > 0:
            return f"'{one['name']}' spills {spills} bytes of registers"
        if isinstance(occupancy, dict) and occupancy and not any(occupancy.values()):
            return f"no block of '{one['name']}' fits on a multiprocessor"
    return ""
