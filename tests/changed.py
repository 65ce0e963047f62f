"""`make quick`: the tests that reach what differs from a git ref, in a fixed time.

    python tests/changed.py [REF] [--list] [--seconds 22] [-j 2] [--no-types] [--changed FILE:LINE]

A changed function of the compiler or of the library stands for the tests that reach it (tests/reach.txt), a changed
test for itself; the rules of the architecture are always there. The tests that reach the most of what changed come
first, and those that find no time are left to `make test`. mypy runs beside them. `--list` prints the tests alone.
"""

import argparse
import ast
import functools
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from reach import Reach, read

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = "tests/unit/test_architecture.py"
BESIDE = {
    "native": ["tests/unit/test_native.py"], "bench": ["tests/unit/test_bench.py"],
    "tuning": ["tests/unit/test_tuning.py"], "lsp": ["tests/unit/tools/test_lsp.py"],
}  # fmt: skip
"""Rooms whose tests take longer than a recorded test may, or call no function of theirs."""
OF_LIBRARY = {"linalg": ["tests/run/kernels_once"], "nn": ["tests/run/kernels_once"]}
"""Packages of the library whose other programs take longer than a recorded test may."""
DEADLINE = "KTC_TEST_DEADLINE"
"""Seconds since the epoch after which no further test starts."""
OVER = 4
"""Seconds by which a test may be expected to end after that."""
WANTED = "KTC_TEST_WANTED"
"""The names of tests, files of tests, and parameters of tests, one a line, in their order."""
PROGRAMS = ("tests/test_run.py", "tests/test_devices.py", "tests/test_errors.py")
"""Whose parameters are programs."""
MOST = 400
"""No more tests than these are chosen."""
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_DECLARED = re.compile(r"^( *)(?:fn|def|struct|trait|__extension) +`?(\w+)")


# -- what changed ----------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=False, capture_output=True, text=True).stdout.strip()


def changed(ref: str) -> dict[str, set[int] | None]:
    """Return by file the lines that differ from where this branch left `ref`; None for a file that is new."""
    base = git("merge-base", ref, "HEAD") or "HEAD"
    found: dict[str, set[int] | None] = {}
    for name in git("diff", "--name-only", base).splitlines():
        lines: set[int] = set()
        for first, count in _HUNK.findall(git("diff", "-U0", base, "--", name)):
            lines.update(range(int(first), int(first) + max(1, int(count or 1))))
        found[name] = lines
    found.update((name, None) for name in git("ls-files", "-o", "--exclude-standard").splitlines())
    return found


def functions_at(path: Path, lines: set[int]) -> set[str]:
    """Return the names of the functions that hold these lines; "" for what lies outside of all."""
    if not path.exists():
        return {""}
    text = path.read_text("utf-8")
    spans = list(_python_functions(text) if path.suffix == ".py" else _library_functions(text))
    found = set()
    for line in lines:
        around = [(last - first, name) for first, last, name in spans if first <= line <= last]
        found.add(min(around)[1] if around else "")
    return found


def _python_functions(text: str) -> Iterator[tuple[int, int, str]]:
    def walk(node: ast.AST, above: str) -> Iterator[tuple[int, int, str]]:
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
                name = f"{above}{inner.name}"
                if isinstance(inner, ast.FunctionDef):
                    yield inner.lineno, inner.end_lineno or inner.lineno, name
                yield from walk(inner, f"{name}.")
            else:
                yield from walk(inner, above)

    try:
        yield from walk(ast.parse(text), "")
    except SyntaxError:
        return


def _library_functions(text: str) -> Iterator[tuple[int, int, str]]:
    lines = text.splitlines()
    starts = [(n, len(found[1]), found[2]) for n, line in enumerate(lines, 1) if (found := _DECLARED.match(line))]
    for at, (first, depth, name) in enumerate(starts):
        last = next((line for line, other, _ in starts[at + 1 :] if other <= depth), len(lines) + 1) - 1
        owner = next((above for _, other, above in reversed(starts[:at]) if other < depth), "")
        yield first, last, f"{owner}.{name}" if owner else name


# -- which tests -----------------------------------------------------------------------------------------------------


def affected(files: dict[str, set[int] | None], reach: Reach) -> list[str]:
    """Return the tests of these changes, those first that reach the most of them."""
    own, scores = [ALWAYS], defaultdict[str, float](float)
    for name, lines in files.items():
        path = Path(name)
        if name.startswith("tests/") and path.name.startswith("test_") and path.suffix == ".py":
            own.append(name)
        elif name.startswith(("tests/run/", "tests/errors/", "tests/warnings/")):
            own.append(path.stem if path.parts[1] != "run" else name.partition(".")[0])
        elif name.startswith(("toolchain/", "stdlib/")):
            own += BESIDE.get(path.parts[1], []) if name.startswith("toolchain/") else []
            own += OF_LIBRARY.get(path.parts[1], []) if name.startswith("stdlib/") else []
            own += _programs_of_2026(path) if "2026" in path.stem and path.suffix == ".kpy" else []
            for function in functions_at(ROOT / name, lines) if lines is not None else {""}:
                for at, test in enumerate(reach.of_function(name, function)[:MOST]):
                    scores[reach.tests[test]] += max(1, 20 - at)
            for at, test in enumerate(reach.of_place(name)[:MOST]):  # as long as there is time
                scores[reach.tests[test]] += 1 - at / MOST
    ranked = sorted(scores, key=lambda one: -scores[one])[:MOST]
    return list(dict.fromkeys([*own, *ranked]))


def _programs_of_2026(path: Path) -> list[str]:
    """Return the programs that import the package of a module of edition 2026: builds take its code from the archive,
    so the recording does not see that they reach it."""
    package = ".".join(path.parent.parts[1:])
    found = re.compile(rf"^\s*from std\.{re.escape(package)}(?:\.\w+)* import ", re.MULTILINE)
    programs = sorted((ROOT / "tests" / "run" / "edition2026").glob("*.mojo"))
    return [f"tests/run/edition2026/{one.stem}" for one in programs if found.search(one.read_text("utf-8"))]


# -- running them ----------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that were named, in that order: pytest knows names that are gone as errors, and groups by file."""
    order = {name: at for at, name in enumerate(os.environ[WANTED].split("\n"))}

    def place(item: pytest.Item) -> int | None:
        file, _, name = item.nodeid.partition("::")
        program = re.search(r"\[(.*)\]$", name)
        names = (item.nodeid, file, program and program[1], program and f"tests/{program[1]}")  # run/x: on devices
        return next((order[one] for one in names if one in order), None)

    placed = [(at, item) for item in items if (at := place(item)) is not None]
    config.hook.pytest_deselected(items=[item for item in items if place(item) is None])
    items[:] = [item for _, item in sorted(placed, key=lambda one: one[0])]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    left = float(os.environ[DEADLINE]) - time.time()
    if left < 0 or _seconds().get(item.nodeid, 0) > left + OVER:
        pytest.skip("no time left")


@functools.cache
def _seconds() -> dict[str, float]:
    """Return the processor time of each test."""
    reach = read()
    return dict(zip(reach.tests, reach.seconds, strict=True))


def run(tests: Iterable[str], seconds: float, jobs: str, typed: bool) -> int:
    """Run tests, and mypy beside them; returns the exit status."""
    began = time.time()
    checker = ["make", "--no-print-directory", "types", f"BIN={Path(sys.executable).parent}"] if typed else ["true"]
    types = subprocess.Popen(checker, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    names = list(tests)
    variables = {
        **os.environ, DEADLINE: str(began + seconds), WANTED: "\n".join(names),
        "PYTHONPATH": os.pathsep.join((str(ROOT / "tests"), os.environ.get("PYTHONPATH", ""))),
    }  # fmt: skip
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "changed",
        "-n",
        jobs,
        "--maxfail=10",
        "-m",
        "not device and not wide",
    ]
    done = subprocess.run([*words, *_files(names)], cwd=ROOT, env=variables, check=False)
    printed, _ = types.communicate()
    print(printed, end="")
    print(f"quick: {time.time() - began:.0f} s; `make test` runs what found no time")
    return done.returncode or types.returncode


def _files(names: Iterable[str]) -> list[str]:
    """Return the files of tests, each once."""
    found = {name.partition("::")[0] for name in names}
    if any(not name.endswith(".py") for name in found):
        found.update(PROGRAMS)
    return sorted(name for name in found if name.endswith(".py") and (ROOT / name).exists())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("ref", nargs="?", default="main")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=22)
    parser.add_argument("-j", default="2")
    parser.add_argument("--no-types", action="store_true")
    parser.add_argument("--changed", help="FILE:LINE has changed, whatever git says")
    words = parser.parse_args()
    path, _, line = (words.changed or "").partition(":")
    tests = affected({path: {int(line)}} if path else changed(words.ref), read())
    if words.list:
        print("\n".join(tests))
        return 0
    return run(tests, words.seconds, words.j, not words.no_types)


if __name__ == "__main__":
    sys.exit(main())
