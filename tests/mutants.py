"""Mutation testing: change ktc in one place at a time, and see which tests notice.

    python tests/mutants.py list --count 200 --seed 1 > mutants.jsonl
    python tests/mutants.py run mutants.jsonl --out results.jsonl [-j 2] [--only NUMBERS] -- PYTEST OPTIONS…

`list` writes one mutant a line: a file of toolchain/ or stdlib/, an offset, the text there and what replaces it. Places
are drawn from all rooms alike, so that a large room does not hide the others. `run` makes a copy of the project for
each mutant, runs pytest in it with the options given (`-x` stops at the first test that fails), and adds a line to the
results: the mutant's number, "killed", "survived" or "timeout", the test that noticed, and the seconds it took.
A mutant that "run" finds in the results already is not run again. With `--quick` the tests are those of `make quick`;
on a busy machine `-- --seconds 60` gives them the time that they have on an idle one.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    ".ci",
    ".github",
    "toolchain",
    "grammar",
    "stdlib",
    "tests",
    "examples",
    "docs",
    "benchmarks",
    "editors",
    "packaging",
)
SECONDS = 1500
"""A run that takes longer has found the mutant: it loops."""

COMPARISONS = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
LIBRARY = (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" // ", " * "), (r" and ", " or "), (r" or ", " and "),
    (r"\bnot ", ""), (r"\bTrue\b", "False"), (r"\bFalse\b", "True"), (r"\b0\b", "1"), (r"\b1\b", "2"),
    (r" \+= ", " -= "), (r" << ", " >> "), (r" & ", " | "),
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: at `offset` (in characters) of `path`, `old` becomes `new`."""

    number: int
    path: str
    line: int
    offset: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        end = self.offset + len(self.old)
        assert text[self.offset : end] == self.old, f"{self.path} has changed: make the list again"
        return text[: self.offset] + self.new + text[end:]


Change = tuple[int, str, str]
"""Offset, old text, new text."""


def python_changes(text: str) -> Iterator[Change]:
    """Yield the changes of a Python module that still parse."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(text[starts[line - 1] :].encode()[:column].decode())

    def span(node: ast.expr | ast.stmt) -> tuple[int, str]:
        at = offset(node.lineno, node.col_offset)
        return at, text[at : offset(node.end_lineno or 0, node.end_col_offset or 0)]

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            at, old = span(node.test)
            yield at, old, f"(not ({old}))"
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = span(node.left), span(node.comparators[0])
            between = text[left[0] + len(left[1]) : right[0]]
            sign = re.search(r"not in|is not|[!<>=]=|[<>]|\bin\b|\bis\b", between)
            if sign is not None:
                yield left[0] + len(left[1]) + sign.start(), sign[0], COMPARISONS[type(node.ops[0])]
        elif isinstance(node, ast.BoolOp):
            first, second = span(node.values[0]), span(node.values[1])
            at = first[0] + len(first[1])
            word = "and" if isinstance(node.op, ast.And) else "or"
            place = text.find(word, at, second[0])
            if place >= 0:
                yield place, word, "or" if word == "and" else "and"
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            at, old = span(node)
            yield at, old, str(not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            at, old = span(node)
            yield at, old, f"{node.value + 1}"
        elif isinstance(node, ast.Return) and node.value is not None:
            at, old = span(node.value)
            if old not in ("None", "self"):
                yield at, old, "None"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            at, old = span(node)
            yield at, old, "pass"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = span(node.left), span(node.right)
            sign = "+" if isinstance(node.op, ast.Add) else "-"
            place = text.find(sign, left[0] + len(left[1]), right[0])
            if place >= 0:
                yield place, sign, "-" if sign == "+" else "+"


def library_changes(text: str) -> Iterator[Change]:
    """Yield the changes of a library module: operators and constants of its code, none in comments and strings."""
    code = re.sub(r'""".*?"""|"[^"\n]*"|#[^\n]*', lambda found: " " * len(found[0]), text, flags=re.DOTALL)
    for pattern, new in LIBRARY:
        for found in re.finditer(pattern, code):
            yield found.start(), found[0], new


def room_of(path: Path) -> str:
    return "/".join(path.relative_to(ROOT).parts[:3][: -1 if len(path.relative_to(ROOT).parts) < 4 else None])


def listed(count: int, seed: int) -> Iterator[Mutant]:
    """Yield mutants, each from a room drawn at random, two thirds of them of the compiler."""
    chance = random.Random(seed)
    rooms: dict[str, dict[str, list[Path]]] = {"toolchain": {}, "stdlib": {}}
    for top, ending in (("toolchain", "*.py"), ("stdlib", "*.kpy")):
        for path in sorted((ROOT / top).rglob(ending)):
            if "made" not in path.parts and path.name != "__init__.py":
                rooms[top].setdefault(room_of(path), []).append(path)
    number = 0
    while number < count:
        of = rooms["toolchain" if chance.random() < 2 / 3 else "stdlib"]
        path = chance.choice(of[chance.choice(sorted(of))])
        text = path.read_text("utf-8")
        changes = list(python_changes(text) if path.suffix == ".py" else library_changes(text))
        if not changes:
            continue
        at, old, new = chance.choice(changes)
        yield Mutant(number, str(path.relative_to(ROOT)), text.count("\n", 0, at) + 1, at, old, new)
        number += 1


def copied(folder: Path) -> None:
    """Make a copy of the project whose package `ktc` is found with PYTHONPATH=folder/site."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("made", "build"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    for name in ("grammar", "stdlib"):
        (folder / "toolchain" / name).symlink_to(folder / name)
    (folder / "site").mkdir()
    (folder / "site" / "ktc").symlink_to(folder / "toolchain")


def noticed(mutant: Mutant, options: list[str], quick: bool) -> dict[str, object]:
    """Run the tests with one mutant, and return what came of it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ktc-mutant-") as name:
        folder = Path(name)
        copied(folder)
        path = folder / mutant.path
        path.write_text(mutant.applied(path.read_text("utf-8")), "utf-8")
        found = os.pathsep.join((str(folder / "site"), os.environ.get("PYTHONPATH", "")))
        variables = {**os.environ, "PYTHONPATH": found, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
        words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        if quick:
            words = [
                sys.executable,
                "tests/changed.py",
                "--no-types",
                "--changed",
                f"{mutant.path}:{mutant.line}",
                *options,
            ]
        try:
            done = subprocess.run(
                words, cwd=folder, env=variables, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return {"result": "timeout", "test": "", "seconds": SECONDS}
        failed = re.search(r"^(?:FAILED|ERROR) (.+)", done.stdout, re.MULTILINE)
        result = {0: "survived", 1: "killed", 2: "killed"}.get(done.returncode, f"exit {done.returncode}")
        test = failed[1] if failed else ("" if result == "survived" else (done.stdout + done.stderr)[-400:])
        return {"result": result, "test": test, "seconds": round(time.monotonic() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    lister = commands.add_parser("list")
    lister.add_argument("--count", type=int, default=200)
    lister.add_argument("--seed", type=int, default=1)
    runner = commands.add_parser("run")
    runner.add_argument("mutants", type=Path)
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("-j", type=int, default=2)
    runner.add_argument("--only", default="", help="numbers, with commas between; all by default")
    runner.add_argument("--quick", action="store_true", help="run the tests of `make quick`")
    given = sys.argv[1:]
    options = given[given.index("--") + 1 :] if "--" in given else []
    words = parser.parse_args(given[: given.index("--")] if "--" in given else given)
    if words.command == "list":
        for mutant in listed(words.count, words.seed):
            print(json.dumps(asdict(mutant)))
        return
    mutants = [Mutant(**json.loads(line)) for line in words.mutants.read_text("utf-8").splitlines()]
    wanted = {int(one) for one in words.only.split(",") if one} or {one.number for one in mutants}
    if words.out.exists():
        wanted -= {json.loads(line)["number"] for line in words.out.read_text("utf-8").splitlines()}
    with ThreadPoolExecutor(words.j) as pool, words.out.open("a") as out:
        chosen = [one for one in mutants if one.number in wanted]
        for mutant, found in zip(chosen, pool.map(lambda one: noticed(one, options, words.quick), chosen), strict=True):
            out.write(json.dumps({"number": mutant.number, "path": mutant.path, "line": mutant.line, **found}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
