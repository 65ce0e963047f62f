"""How long builds take and how much memory: ktc, and the reference and nvcc where they are found, in one run.

    python benchmarks/compile.py [--repeat N] [--accelerator NAME] [--json FILE]

Per program and compiler, the median of N builds in each of three states:

    cold       nothing of this program is cached (ktc's standard library is; see below)
    unchanged  the same build again
    changed    one constant has another value, never seen before: in the kernel, where the program has one

Wall time is that of the command. Memory is the peak of what the command and all processes that it starts have resident
together, pages that several share counted once (`Pss` of Linux), sampled every 5 ms in a build of its own, which is
not timed. For ktc, every cold build has a cache of its own that holds what builds of two *other* programs, one of them
with a kernel, leave there: the grammar, the parsed library, and what they needed of its archive. `first` is the build
with nothing cached at all. For the reference, cold is a build with its cache folder (MODULAR_CACHE_DIR and the home)
emptied, and so is its first one. Compilers without a cache have the same time in all states, the first too.

MOJO=, NVCC= and CC= name other commands than those on PATH; KTC= another ktc. MOJO1= names the reference's version 1,
which gets the same program in edition 2026.
"""

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
SAMPLE_SECONDS = 0.005
STATES = ("first", "cold", "unchanged", "changed")
WARM_UP = 'def main():\n    print("warm", 1, 2.5, String("up"))\n'
EXAMPLE = HERE.parent / "examples/saxpy.kpy"


@dataclass(frozen=True)
class Measure:
    """One command: seconds of wall time or peak bytes of its processes, and bytes of what it made."""

    seconds: float | None
    peak_bytes: int | None
    size_bytes: int


@dataclass
class Result:
    """All measures of one compiler on one program, by state."""

    program: str
    compiler: str
    measures: dict[str, list[Measure]] = field(default_factory=dict)

    def median(self, state: str, what: str) -> float | None:
        values = [getattr(one, what) for one in self.measures.get(state, ())]
        known = [float(value) for value in values if value is not None]
        return statistics.median(known) if known else None


@dataclass(frozen=True)
class Compiler:
    """How one compiler is called.

    Args:
        command: its words, without file and output.
        suffix: of its sources.
        cached: it keeps results between builds; its cache is under the folder that `environment` is given.
        environment: variables that put its cache into a folder.
        has_warm_up: make the cache as it is for somebody who has used the compiler before.
        is_2026: it gets the program in edition 2026, where that differs.
    """

    name: str
    command: tuple[str, ...]
    suffix: str
    cached: bool
    environment: Callable[[Path], dict[str, str]] = lambda folder: {}
    has_warm_up: bool = False
    is_2026: bool = False


def processes(root: int) -> int:
    """Return the resident bytes of a process and all that come from it, a page that n share as an nth in each."""
    total, todo = 0, [root]
    while todo:
        one = todo.pop()
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
            for thread in Path(f"/proc/{one}/task").iterdir():
                todo += map(int, (thread / "children").read_text().split())
        except (OSError, IndexError, ValueError):
            continue  # it has just ended
    return total


def measure(words: list[str], output: Path, environment: dict[str, str], *, is_sampled: bool = False) -> Measure:
    """Run one build, for its time or for its memory; its output must be there afterwards."""
    output.unlink(missing_ok=True)
    peak = 0
    done = threading.Event()
    start = time.perf_counter()
    process = subprocess.Popen(
        words, cwd=output.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip

    def sample() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, processes(process.pid))
            done.wait(SAMPLE_SECONDS)

    sampler = threading.Thread(target=sample)
    if is_sampled:
        sampler.start()
    said, _ = process.communicate()
    seconds = time.perf_counter() - start
    done.set()
    if is_sampled:
        sampler.join()
    if process.returncode or not output.exists():
        raise SystemExit(f"{shlex.join(words)} failed with exit code {process.returncode}:\n{said}")
    return Measure(None if is_sampled else seconds, peak if is_sampled else None, output.stat().st_size)


def changed(text: str, number: int) -> str:
    """Return the program with one constant that no build has seen: in the kernel, where there is one."""
    for old, new in (
        ("+ rhs_tensor[global_tid]", f"+ rhs_tensor[global_tid] * {number}"),
        ("Hello, world!", f"Hello, world {number}!"),
    ):
        if text.count(old) == 1:
            return text.replace(old, new)
    raise SystemExit("the program has no constant to change")


def bench(program: str, compiler: Compiler, repeat: int, folder: Path) -> Result:
    """Measure one compiler on one program in every state."""
    result = Result(program, compiler.name)
    text = source_of(program, compiler).read_text("utf-8")
    source = folder / f"{program}{compiler.suffix}"
    output = folder / program

    def build(state: str, cache: Path) -> None:
        words = [*compiler.command, str(source), "-o", str(output)]
        made = measure(words, output, compiler.environment(cache), is_sampled=turn == repeat)
        result.measures.setdefault(state, []).append(made)

    warm = folder / "warm"
    warm.mkdir()
    for other in (WARM_UP, EXAMPLE.read_text("utf-8")) if compiler.has_warm_up else ():
        path = folder / f"other{compiler.suffix}"
        path.write_text(other)
        words = [*compiler.command, str(path), "-o", str(folder / "other")]
        measure(words, folder / "other", compiler.environment(warm))
    for turn in range(repeat + 1):  # the last one for memory
        source.write_text(text)
        cache = folder / f"cache{turn}"
        if compiler.has_warm_up and turn in (0, repeat):
            empty = folder / f"empty{turn}"
            empty.mkdir()
            build("first", empty)
        shutil.copytree(warm, cache)
        build("cold", cache)
        if compiler.cached:
            build("unchanged", cache)
            source.write_text(changed(text, 100 + turn))
            build("changed", cache)
        shutil.rmtree(cache)
    if not compiler.has_warm_up:
        result.measures["first"] = result.measures["cold"]
    return result


def source_of(program: str, compiler: Compiler) -> Path:
    """Return the source; the reference reads the same text as ktc."""
    newer = HERE / f"{program}_2026.kpy"
    if compiler.is_2026 and newer.exists():
        return newer
    return HERE / f"{program}{'.kpy' if compiler.suffix == '.mojo' else compiler.suffix}"


def found(variable: str, name: str) -> tuple[str, ...]:
    """Return the command that the environment or PATH names, or nothing."""
    named = os.environ.get(variable)
    if named:
        return tuple(shlex.split(named))
    path = shutil.which(name) if name else None
    return (path,) if path else ()


def compilers(program: str, accelerator: str) -> list[Compiler]:
    """Return the compilers that are here and have a source of the program."""
    beside = Path(sys.executable).with_name("ktc")
    ktc = found("KTC", str(beside) if beside.exists() else "ktc")
    if not ktc:
        raise SystemExit("there is no ktc; install it, or name it with KTC=")
    is_gpu = program != "hello"
    on_gpu = accelerator != "cpu"
    reference = ("--target-accelerator", accelerator) if is_gpu and on_gpu else ()
    chosen = [
        Compiler(
            "ktc", (*ktc, "build", *(("--target-accelerator", accelerator) if is_gpu else ())), ".kpy", cached=True,
            environment=lambda folder: {"KTC_CACHE_DIR": str(folder)}, has_warm_up=True,
        )
    ]  # fmt: skip
    nvcc, cc = found("NVCC", "nvcc"), found("CC", "cc")
    for name, mojo in (("mojo build", found("MOJO", "mojo")), ("mojo 1 build", found("MOJO1", ""))):
        if mojo and (on_gpu or not is_gpu):
            chosen.append(
                Compiler(
                    name, (*mojo, "build", *reference), ".mojo", cached=True, is_2026=name == "mojo 1 build",
                    environment=lambda folder: {
                        "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "MODULAR_CACHE_DIR": str(folder),
                    },
                )
            )  # fmt: skip
    if nvcc and is_gpu and on_gpu:
        arch = ("-arch", accelerator) if re.fullmatch(r"sm_\d+[af]?", accelerator) else ()
        chosen.append(Compiler("nvcc", (*nvcc, "-O3", *arch), ".cu", cached=False))
    if cc and not is_gpu:
        chosen.append(Compiler("cc", (*cc, "-O2"), ".c", cached=False))
    return [one for one in chosen if source_of(program, one).exists()]


def versions(chosen: list[Compiler]) -> list[str]:
    """Return what each compiler says of itself."""
    lines = []
    for one in chosen:
        word = one.command[0] if one.command[1:2] != ("-m",) else shlex.join(one.command[:3])
        said = subprocess.run([*shlex.split(word), "--version"], capture_output=True, text=True, check=False).stdout
        numbered = [line for line in said.splitlines() if re.search(r"\d+\.\d+", line)]
        lines.append(f"{one.name}: {numbered[0].strip() if numbered else 'unknown version'}")
    return lines


def table(results: list[Result], repeat: int, accelerator: str) -> Table:
    """Return the table that is printed; a ratio is that compiler's value over ktc's."""
    title = f"median of {repeat}, kernels for {accelerator}"
    shown = Table(title=title)
    for name in ("program", "compiler", "state", "wall", "peak memory", "executable", "wall / ktc", "memory / ktc"):
        shown.add_column(name, no_wrap=True, justify="left" if name in ("program", "compiler", "state") else "right")
    base = {one.program: one for one in results if one.compiler == "ktc"}
    for result in results:
        for state in STATES:
            seconds, peak = result.median(state, "seconds"), result.median(state, "peak_bytes")
            size = result.median(state, "size_bytes")
            if seconds is None or peak is None or size is None:
                continue
            ours = base[result.program]
            ratios = [
                f"{mine / of:.2f}x" if of and result is not ours else ""
                for mine, of in ((seconds, ours.median(state, "seconds")), (peak, ours.median(state, "peak_bytes")))
            ]
            shown.add_row(
                result.program, result.compiler, state, f"{seconds:.3f} s", f"{peak / 1e6:.0f} MB",
                f"{size / 1e3:.0f} kB", *ratios,
            )  # fmt: skip
        shown.add_section()
    return shown


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--accelerator", default="sm_80", help="target of the kernels (default sm_80)")
    parser.add_argument("--json", type=Path, help="write all measures here")
    parser.add_argument("programs", nargs="*", help="default: hello vector_addition")
    options = parser.parse_args()
    console = Console()
    console.width = max(console.width, 110)  # a pipe has no width of its own
    console.print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    results: list[Result] = []
    seen: dict[str, Compiler] = {}
    for program in options.programs or ["hello", "vector_addition"]:
        for compiler in compilers(program, options.accelerator):
            seen.setdefault(compiler.name, compiler)
            with tempfile.TemporaryDirectory(prefix="ktc-bench-") as folder:
                results.append(bench(program, compiler, options.repeat, Path(folder)))
    for line in versions(list(seen.values())):
        console.print(line, highlight=False)
    console.print(table(results, options.repeat, options.accelerator))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")


if __name__ == "__main__":
    main()
