"""Which tests reach which functions of the compiler and the library: recorded by a run, read by `make quick`.

    python tests/reach.py [-j N]              run the small tests, and write tests/reach.txt
    python tests/reach.py [-j N] --add TESTS  run these, and add them to the list

A function of the compiler is reached where Python calls it, also in the processes that a test starts by forking. A
function of the library is reached where the elaborator gives it an instance. tests/reach.txt has a line for each test
(`test NUMBER MILLISECONDS ID`) and for functions of a file (`PATH NUMBERS NAME…`: the tests that reach them, the most
telling first). It only chooses tests, so a list that is somewhat old still serves: a function that it lacks has the
tests of its file, and a file that it lacks those of its folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import ktc
import pytest

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "reach.txt"
RECORDED = "KTC_TEST_REACH"
"""The folder into which a run with this plugin writes."""
MOST = 8.0
"""Seconds: longer tests are not for `make quick`."""
KEPT = 4
"""Tests of each kind that are kept of each function."""
SMALL = (
    "tests/test_errors.py", "tests/test_run.py", "tests/test_emitted_code.py", "tests/test_gpu_code.py",
    "tests/test_checked.py", "tests/test_inputs.py", "tests/test_interop.py", "tests/test_report.py",
    "tests/test_devices.py", "tests/test_failures.py", "tests/test_explain.py", "tests/test_python_library.py",
    "tests/test_library.py", "tests/test_c_libraries.py", "tests/test_metal.py", "tests/test_migration.py",
    "tests/unit",
)  # fmt: skip
"""Where the tests that are recorded lie."""
RUNNING = ("tests/test_run.py", "tests/test_devices.py", "tests/test_python_library.py", "tests/test_checked.py",
           "tests/test_c_libraries.py", "tests/test_interop.py")  # fmt: skip
"""Tests that run what they build: alone they notice wrong code of the library."""
COMPILER = f"{Path(ktc.__file__).parent}{os.sep}"


# -- recording -------------------------------------------------------------------------------------------------------


class Recorder:
    """Appends each function to a file when a test reaches it for the first time; copies of the process go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: set[Any] = set()
        self.file = -1

    def begin(self, test: str) -> None:
        self.seen = set()
        path = self.folder / f"{os.getpid()}.txt"
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.write(f"test {test}")
        sys.setprofile(self.called)
        threading.setprofile(self.called)  # commands run in a thread, whose stack is larger

    def end(self, seconds: float) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        self.write(f"took {1000 * seconds:.0f}")
        os.close(self.file)

    def write(self, line: str) -> None:
        os.write(self.file, f"{line}\n".encode())

    def called(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code in self.seen:
            if code.co_name != "request":
                return
        elif code.co_filename.startswith(COMPILER):
            self.seen.add(code)
            self.write(f"toolchain/{code.co_filename[len(COMPILER) :]} {code.co_qualname.replace('.<locals>', '')}")
        else:
            self.seen.add(code)
            return
        if code.co_name == "request" and (instance := frame.f_locals.get("instance")) is not None:
            self.requested(instance.fn)

    def requested(self, fn: Any) -> None:
        path = str(fn.module.source.path)
        name = f"{fn.owner.name}.{fn.name}" if fn.owner is not None else fn.name
        if fn.module.is_library and (path, name) not in self.seen:
            self.seen.add((path, name))
            self.write(f"{path[path.rindex('stdlib/') :]} {name}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    recorder = Recorder(Path(os.environ[RECORDED]))
    recorder.begin(item.nodeid)
    before = sum(os.times()[:4])
    yield
    recorder.end(sum(os.times()[:4]) - before)


# -- the list --------------------------------------------------------------------------------------------------------


@dataclass
class Reach:
    """What reaches what.

    Args:
        tests: by number, a test's name. seconds: by number, its processor time.
        functions: by file and function, the numbers of tests that reach it, the most telling first.
    """

    tests: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    functions: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def of_function(self, path: str, name: str) -> list[int]:
        """Return the tests of a function; of its file or folder where the list lacks it."""
        found = self.functions.get((path, name))
        return found if found is not None else self.of_place(path)

    def of_place(self, path: str) -> list[int]:
        """Return the tests of a file, or of the nearest folder that has any: first the first of each function."""
        while path and path not in ("toolchain", "stdlib"):
            lists = [
                tests for (file, _), tests in self.functions.items() if file == path or file.startswith(f"{path}/")
            ]
            if lists:
                return list(dict.fromkeys(one[n] for n in range(3 * KEPT) for one in lists if n < len(one)))
            path = os.path.dirname(path)
        return []


def read(path: Path = FILE) -> Reach:
    """Return the list of the last recording."""
    reach = Reach()
    for line in path.read_text("utf-8").splitlines():
        first, rest = line.split(" ", 1)
        if first == "test":
            _, milliseconds, name = rest.split(" ", 2)
            reach.tests.append(name)
            reach.seconds.append(int(milliseconds) / 1000)
        else:
            numbers, *names = rest.split(" ")
            for name in names:
                reach.functions[first, name] = [int(one) for one in numbers.split(",")]
    return reach


def recorded(folder: Path, durations: Mapping[str, float]) -> tuple[dict[str, set[tuple[str, str]]], dict[str, float]]:
    """Return by test the functions that it reached, and its seconds."""
    reached: dict[str, set[tuple[str, str]]] = {}
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob("*.txt")):
        test = ""
        for line in path.read_text("utf-8").splitlines():
            first, _, rest = line.partition(" ")
            if first == "test":
                test = rest
                reached.setdefault(test, set())
            elif first == "took":
                seconds[test] = durations.get(test, int(rest) / 1000)
            else:
                reached[test].add((first, rest))
    return reached, seconds


def chosen(reached: Mapping[str, set[tuple[str, str]]], seconds: Mapping[str, float]) -> Reach:
    """Return the list: of each function and each kind of tests those that reach most of its file for their time."""
    names = sorted(one for one, took in seconds.items() if took <= MOST)
    by_function: dict[tuple[str, str], list[str]] = defaultdict(list)
    in_file: dict[tuple[str, str], int] = defaultdict(int)
    for test in names:
        for path, name in reached[test]:
            by_function[path, name].append(test)
            in_file[test, path] += 1

    def telling(tests: list[str], path: str) -> list[str]:
        """Two orders in turn: that of tests which reach much of a file, and that of tests which reach little else."""
        much = sorted(tests, key=lambda one: -in_file[one, path] / (seconds[one] + 0.3))
        little = sorted(tests, key=lambda one: -in_file[one, path] / len(reached[one]))
        mixed = list(dict.fromkeys(one for pair in zip(much, little, strict=True) for one in pair))
        return mixed[:KEPT]

    picked = {}
    for (path, name), tests in by_function.items():
        kinds: dict[str, list[str]] = {"running": [], "unit": [], "errors": []}
        for test in tests:
            kinds[kind_of(test)].append(test)
        order = ("running",) if path.startswith("stdlib/") and kinds["running"] else ("unit", "running", "errors")
        lists = [telling(kinds[kind], path) for kind in order]
        picked[path, name] = [one[n] for n in range(KEPT) for one in lists if n < len(one)]
    used = sorted({one for tests in picked.values() for one in tests})
    number = {name: at for at, name in enumerate(used)}
    functions = {key: [number[one] for one in tests] for key, tests in sorted(picked.items())}
    return Reach(used, [seconds[one] for one in used], functions)


def kind_of(test: str) -> str:
    """Return of which kind a test is: "running", "errors" or "unit"."""
    file = test.partition("::")[0]
    return "running" if file in RUNNING else "errors" if file == "tests/test_errors.py" else "unit"


def write(reach: Reach, path: Path = FILE) -> None:
    with path.open("w", encoding="utf-8") as out:
        for number, (name, took) in enumerate(zip(reach.tests, reach.seconds, strict=True)):
            out.write(f"test {number} {1000 * took:.0f} {name}\n")
        groups: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
        for (file, function), tests in reach.functions.items():
            groups[file, tuple(tests)].append(function)
        for (file, numbers), names in groups.items():
            out.write(f"{file} {','.join(map(str, numbers))} {' '.join(names)}\n")


def added(old: Reach, new: Reach, ran: Collection[str], files: Collection[str]) -> Reach:
    """Return a list to which the tests of a new one are added, and without tests that no longer exist.

    Args:
        ran: the tests that were run for the new list.
        files: the files of which all tests were run.
    """
    seconds = dict(zip(old.tests, old.seconds, strict=True)) | dict(zip(new.tests, new.seconds, strict=True))
    functions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for reach in (old, new):
        for key, numbers in reach.functions.items():
            tests = [reach.tests[one] for one in numbers]
            kept = [one for one in tests if one in ran or not one.startswith(tuple(files))]
            functions[key] += [one for one in kept if one not in functions[key]]
    functions = {key: tests[: 3 * KEPT] for key, tests in functions.items() if tests}
    used = sorted({one for tests in functions.values() for one in tests})
    number = {name: at for at, name in enumerate(used)}
    return Reach(
        used,
        [seconds[one] for one in used],
        {key: [number[one] for one in tests] for key, tests in sorted(functions.items())},
    )


def durations_of(report: Path) -> dict[str, float]:
    """Return the seconds of each test in a report of pytest (`--durations=0`), without the recorder's."""
    found: dict[str, float] = {}
    for line in report.read_text("utf-8").splitlines():
        words = line.split(None, 2)
        if len(words) == 3 and words[1] == "call" and words[0].endswith("s"):
            found[words[2]] = float(words[0][:-1])
    return found


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", default="2")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("tests", nargs="*", default=SMALL)
    given = parser.parse_args(words)
    options = ["-n", given.j, "--dist", "worksteal", "-m", "not device and not wide", *given.tests]
    with tempfile.TemporaryDirectory(prefix="ktc-reach-") as name:
        plain = Path(name, "durations")
        with plain.open("w") as out:  # once for the times, once for what is reached
            subprocess.run(
                [sys.executable, "-m", "pytest", "--durations=0", *options], cwd=ROOT, stdout=out, check=False
            )
        folder = Path(name, "reached")
        folder.mkdir()
        variables = {
            **os.environ,
            RECORDED: str(folder),
            "PYTHONPATH": os.pathsep.join((str(ROOT / "tests"), os.environ.get("PYTHONPATH", ""))),
        }
        subprocess.run([sys.executable, "-m", "pytest", "-p", "reach", *options], cwd=ROOT, env=variables, check=False)
        reached, seconds = recorded(folder, durations_of(plain))
        made = chosen(reached, seconds)
        files = [one for one in given.tests if "::" not in one]
        write(added(read(), made, reached, files) if given.add else made)


if __name__ == "__main__":
    main()
