"""The checked mode: programs in tests/checked, whose lines with `#! KIND` are to be reported, and nothing else."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from checked_programs import FOLDER as PROGRAMS
from checked_programs import difference, repaired
from programs import run_ktc

FOLDER = Path(__file__).parent / "checked"
FAULT = 134
_MARK = re.compile(r"#! ([\w-]+)((?: \d+)*)$")


def marks(path: Path) -> tuple[Counter[tuple[str, int]], dict[str, tuple[str, list[int]]]]:
    """Return the marked places of single lines, and the races by their numbers."""
    single: Counter[tuple[str, int]] = Counter()
    races: dict[str, tuple[str, list[int]]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = _MARK.search(line)
        if match is None:
            continue
        kind, pairs = match.groups()
        for pair in pairs.split():
            races.setdefault(pair, (kind, []))[1].append(number)
        if not pairs:
            single[kind, number] += 1
    return single, races


Run = Callable[..., tuple[int, str, list[dict[str, object]]]]


@pytest.fixture
def run(program_cache: Path, tmp_path: Path) -> Run:
    return partial(run_checked, program_cache, tmp_path)


def run_checked(
    cache: Path, folder: Path, path: Path, *, check: str = "--check", more: Sequence[str] = ()
) -> tuple[int, str, list[dict[str, object]]]:
    words = ["run", check, *more, "--target-accelerator", "cpu", "--diagnostic-format", "json", str(path)]
    done = run_ktc(words, cache, folder)
    entries = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return done.returncode, done.stdout, [entry for entry in entries if entry["severity"] == "error"]


def lines(entry: dict[str, object]) -> list[int]:
    places = [entry, *entry["notes"]]  # type: ignore[misc]
    return [part["place"]["line"] for part in places if part["place"]]  # type: ignore[index]


@pytest.mark.parametrize("name", ["bounds", "mixed", "races", "storage", "threads"])
def test_every_fault_of_a_kernel_is_reported_at_its_line(name: str, run: Run) -> None:
    path = FOLDER / f"{name}.kpy"
    single, races = marks(path)
    code, out, entries = run(path, check="--check=keep-going")
    found = {(entry["code"], lines(entry)[0]) for entry in entries if "race" not in str(entry["code"])}
    assert found == set(single)
    found_races = {(entry["code"], tuple(sorted(lines(entry)))) for entry in entries if "race" in str(entry["code"])}
    assert found_races == {(kind, tuple(sorted(places))) for kind, places in races.values()}
    assert (code, out.removeprefix("right\n")) == (FAULT, "end\n")


def test_right_programs_are_not_reported(run: Run) -> None:
    code, out, entries = run(FOLDER / "right.kpy")
    assert not entries
    assert code == 0
    assert out.startswith("ring 1 1\n")
    assert out.endswith("81 81 10\nc d\n9\nall threads: 78400\nend\n")


def test_kernels_of_the_library_are_not_reported(run: Run) -> None:
    assert run(FOLDER / "library.kpy") == (0, "66.0 82.0\n6.0 9.0\n", [])


def test_blocks_that_write_while_they_wait(run: Run) -> None:
    assert run(FOLDER / "waiting.kpy") == (0, "16 1\n", [])


def test_loops_whose_numbers_depend_on_each_other(run: Run) -> None:
    assert run(FOLDER / "neighbours.kpy") == (0, "0 1 0\n0 1 0\n0 1 0\nend\n", [])


def test_doubted_launches_run_again_from_their_start(run: Run) -> None:
    assert run(FOLDER / "doubted.kpy") == (0, "1151184 510080 2162 1266\n", [])


def test_every_fault_of_the_host_is_reported_at_its_line(program_cache: Path, tmp_path: Path) -> None:
    path = FOLDER / "host.kpy"
    single, _ = marks(path)
    run_case = built_cases(path, program_cache, tmp_path)
    found = set()
    for which in range(len(single)):
        code, _, entry = run_case(which)
        assert code == FAULT, which
        found.add((entry["code"], lines(entry)[0]))
    assert found == set(single)
    assert run_case(99) == (0, "3\n", {})


def built_cases(path: Path, cache: Path, folder: Path) -> Callable[[int], tuple[int, str, dict[str, object]]]:
    """Build a program that takes the number of a case; return what runs a case: exit code, output, first report."""
    words = ["build", "-O0", "-W", "none", "--check", "--target-accelerator=cpu", "--diagnostic-format=json"]
    assert not run_ktc([*words, str(path), "-o", "cases"], cache, folder).returncode

    def run_case(case: int) -> tuple[int, str, dict[str, object]]:
        done = subprocess.run(
            ["./cases", str(case)], cwd=folder, capture_output=True, text=True, check=False, timeout=60
        )
        return done.returncode, done.stdout, json.loads((done.stderr.splitlines() or ["{}"])[0])

    return run_case


@pytest.mark.parametrize("name", ["launches", "owners", "references", "streams"])
def test_each_case_of_the_host_stops_at_its_line(name: str, program_cache: Path, tmp_path: Path) -> None:
    text = (FOLDER / f"{name}.kpy").read_text()
    wanted: dict[int, set[tuple[str, int]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for case, kind in re.findall(r"#! (\d+) ([\w-]+)", line):
            wanted.setdefault(int(case), set()).add((kind, number))
    run_case, found = built_cases(FOLDER / f"{name}.kpy", program_cache, tmp_path), {}
    for case in range(1 + max(map(int, re.findall(r"which == (\d+)", text)))):
        code, _, entry = run_case(case)
        assert code == (FAULT if case in wanted else 0), case
        if case in wanted:
            found[case] = (entry["code"], lines(entry)[0])
    assert {case: found[case] in wanted[case] for case in found} == dict.fromkeys(wanted, True)


def test_leaks_are_reported_on_request(run: Run) -> None:
    path = FOLDER / "leaks.kpy"
    single, _ = marks(path)
    code, out, entries = run(path, check="--check=all,leaks", more=["-O0"])
    assert (code, out) == (FAULT, "12 2.0 40 2\n")
    assert {(entry["code"], lines(entry)[0]) for entry in entries} == set(single)
    assert "72 bytes in 3 blocks" in str(entries[0]["message"])
    assert run(path, more=["-O0"])[0] == 0


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["memset_too_many", "memcpy_from_device", "plain_wait", "tree_depth", "shared_too_large"]
)
def test_programs_and_their_repaired_twins(name: str, tmp_path: Path) -> None:
    """Not optimised, which takes half the time; `make checked` runs all of them optimised."""
    assert not difference(PROGRAMS / f"{name}.kpy", tmp_path, "-O0")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    "name, kind", [("tile_edge", "out-of-bounds"), ("dynamic_shared_small", "out-of-bounds"),
                   ("simd_tail", "out-of-bounds"), 
                   ("vector_odd_columns", "misaligned"), ("null_in_struct", "null-pointer"),
                   ("device_buffer_dropped", "use-after-free"), ("list_to_kernel", "host-access")],
)  # fmt: skip
def test_bounds_alone_name_the_kind_and_the_line(name: str, kind: str, run: Run, tmp_path: Path) -> None:
    text = (PROGRAMS / f"{name}.kpy").read_text()
    wanted = [number for number, line in enumerate(text.splitlines(), 1) if f"#! {kind}" in line]
    code, _, entries = run(PROGRAMS / f"{name}.kpy", check="--check=bounds")
    assert code == FAULT
    assert entries[0]["code"] == kind
    assert lines(entries[0])[0] in wanted
    right = tmp_path / f"{name}_right.kpy"
    right.write_text(repaired(text))
    code, out, entries = run(right, check="--check=bounds")
    assert (code, entries) == (0, [])
    assert out.splitlines() == [line[3:] for line in text.splitlines() if line.startswith("#= ")]


@pytest.mark.thorough
def test_bounds_alone_find_what_ranges_leave_out(run: Run) -> None:
    path = FOLDER / "ranges.kpy"
    single, _ = marks(path)
    code, out, entries = run(path, check="--check=bounds,keep-going")
    assert {(entry["code"], lines(entry)[0]) for entry in entries} == set(single)
    assert (code, out) == (FAULT, "right\nend\n")


@pytest.mark.slow
def test_tests_are_run_with_checks(program_cache: Path, tmp_path: Path) -> None:
    text = (PROGRAMS / "null_host_node.kpy").read_text().replace("def main():", "def test_nodes():")
    (tmp_path / "test_nodes.kpy").write_text(text)
    done = run_ktc(["test", "--check", "test_nodes.kpy"], program_cache, tmp_path)
    assert done.returncode == 1
    assert "error[null-pointer]: 'find'" in done.stdout


EXAMPLES = re.findall(
    r"```mojo\n(.*?)```\n\n```\n(error\[.*?)```",
    (Path(__file__).parents[1] / "docs" / "checking.md").read_text(),
    re.DOTALL,
)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("text, said", EXAMPLES, ids=[said[6 : said.index("]")] for _, said in EXAMPLES])
def test_examples_of_the_documentation(text: str, said: str, program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.mojo").write_text(text)
    options = re.findall(r"^# (--.*)$", text, re.MULTILINE) or ["--target-accelerator cpu"]
    words = ["run", "-W", "none", "--check=all,leaks", "--edition", "2026", *options[0].split(), "wrong.mojo"]
    done = run_ktc(words, program_cache, tmp_path)
    assert done.stderr[done.stderr.find("error[") :] == said
    assert done.returncode == FAULT
