"""A fuzzer whose mutants mostly compile: a number, an operator, a name, a convention or a line of a program changes.

    python tests/fuzz_near.py [--count 100000] [--seconds 600] [--seed 0] [--keep FOLDER] [-j N]

Each program is elaborated once, as `ktc run --watch` does; each mutant of it goes on from there in a forked process, as
far as the IR of the host and of the kernels. One whose process fails is compiled again as `ktc emit` does, so that a
mistake of the prepared build and one of the compiler are told apart in the log. Programs are those of tests/run,
tests/gpu and examples/; with `--seconds`, those whose mutants take long get fewer of them. At the end: how many mutants
compile, how many are refused, and the bad ones.
"""

import argparse
import math
import os
import random
import re
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ktc import config as configs
from ktc.base.cache import Cache
from ktc.config.options import Options
from ktc.diag.diagnostic import CompileError, Sink
from ktc.driver.pipeline import Session, emit
from ktc.driver.watching.prepared_build import PreparedBuild, prepare

from fuzz import PATIENCE, ROOT, SECONDS, compile_text, wait_for

TOKEN = re.compile(
    r"#[^\n]*|\"\"\"(?:.|\n)*?\"\"\"|\"[^\"\n]*\"|'[^'\n]*'|[A-Za-z_]\w*|\d[\w.]*|[ \t]+|\n|//=?|[-+*/%<>=!&|^:]=?|."
)
STATEMENT = re.compile(r" {4,}[a-z][\w.]*(?:\[[^\]]*\])?(?: [-+*/]?= .*[\w)\]]|\(.*\))")
ALIKE = (
    ("+", "-", "*", "//"), ("&", "|", "^"), ("<", "<=", ">", ">=", "==", "!="), ("and", "or"), ("True", "False"),
    ("+=", "-=", "*="), ("read", "mut", "var", "ref"), ("Int", "UInt", "Int32", "Int64", "Float64"),
    ("int32", "int64", "uint8", "float32", "float64"), ("break", "continue", "pass"), ("min", "max"),
)  # fmt: skip
KIN = {word: group for group in ALIKE for word in group}
NUMBERS = ("0", "1", "2", "3", "7", "63", "64", "255", "256", "1024")
COMPILES, REFUSED, BAD = 0, 1, 99


@dataclass
class Found:
    """What became of mutants."""

    counts: Counter[int] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)


def programs() -> list[Path]:
    """Return the programs that are mutated."""
    folders = (ROOT / "tests" / "run", ROOT / "tests" / "gpu", ROOT / "examples")
    return [path for folder in folders for kind in ("*.kpy", "*.mojo") for path in sorted(folder.rglob(kind))]


def mutate(text: str, chance: random.Random) -> str:
    """Change a program in one or two places, so that it probably still compiles."""
    for _ in range(chance.randint(1, 2)):
        text = _lines(text, chance) if chance.random() < 0.4 else _token(text, chance)
    return text


def _token(text: str, chance: random.Random) -> str:
    """Exchange a number or a word for one of its kind; now and then a name for another name, which rarely fits."""
    tokens = TOKEN.findall(text)
    if chance.random() < 0.06:
        names = [at for at, word in enumerate(tokens) if word[0].islower() and word not in KIN]
        if names:
            tokens[chance.choice(names)] = tokens[chance.choice(names)]
            return "".join(tokens)
    places = [at for at, word in enumerate(tokens) if word[0].isdigit() or word in KIN]
    if not places:
        return text
    at = chance.choice(places)
    word = tokens[at]
    if word in KIN:
        tokens[at] = chance.choice(KIN[word])
    else:
        tokens[at] = chance.choice(NUMBERS) if word.isdigit() else word.replace(word[0], chance.choice("123456789"), 1)
    return "".join(tokens)


def _lines(text: str, chance: random.Random) -> str:
    """Leave out, repeat or exchange lines that are calls or assignments and nothing depends on the name of."""
    lines = text.split("\n")
    simple = [at for at, line in enumerate(lines) if STATEMENT.fullmatch(line) and line.count("(") == line.count(")")]
    if not simple:
        return text
    at = chance.choice(simple)
    match chance.randrange(3):
        case 0:
            lines[at] = lines[at][: len(lines[at]) - len(lines[at].lstrip())] + "pass"
        case 1:
            lines.insert(at, lines[at])
        case _:
            near = [one for one in simple if abs(one - at) < 6]
            other = chance.choice(near)
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def _in_child(prepared: PreparedBuild, cache: Cache, log: Path) -> int:
    """Compile what the program's file holds now; return what it was."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    session = Session(prepared.config, cache, Sink(), prepared=prepared)
    try:
        emit(session, "ir", is_whole=False)
    except CompileError:
        return REFUSED
    except BaseException:
        log.write_text(traceback.format_exc(), "utf-8")
        return BAD
    return REFUSED if session.sink.error_count else COMPILES


def fuzz_program(path: Path, count: int, seconds: float, seed: int, keep: Path) -> Counter[int]:
    """Compile mutants of one program, until there were enough or the seconds are over; return how they ended."""
    end = time.monotonic() + seconds
    chance, counts, text = random.Random(f"{seed} {path.name}"), Counter[int](), path.read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / path.name
        root.write_text(text, "utf-8")
        sink, cache = Sink(), configs.open_cache()
        config = configs.resolve(Options(root, search=(path.parent,), emit="object", jobs=1), sink, cache)
        prepared = prepare(config, cache) if config is not None else None
        if prepared is None:
            return counts
        for number in range(count):
            if time.monotonic() > end:
                break
            mutant = mutate(text, chance)
            root.write_text(mutant, "utf-8")
            log = Path(name) / "log"
            child = os.fork()
            if child == 0:
                code = BAD
                try:
                    for stream in (1, 2):
                        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                    code = _in_child(prepared, cache, log)
                finally:
                    os._exit(code)
            code = wait_for(child, PATIENCE)
            counts[code] += 1
            if code not in (COMPILES, REFUSED):
                _keep(keep / f"{path.stem}-{seed}-{number}", path.suffix, mutant, code, log)
                log.unlink(missing_ok=True)
    return counts


def _keep(stem: Path, suffix: str, text: str, code: int, log: Path) -> None:
    """Write a bad mutant, what its process said, and how `ktc emit` ends with it."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(suffix).write_text(text, "utf-8")
    with tempfile.TemporaryDirectory() as name:
        again = compile_text(text, Path(name))
    said = log.read_text("utf-8") if log.exists() else ""
    stem.with_suffix(".log").write_text(f"exit code {code}\n{said}\nagain: {again.code}\n{again.text}", "utf-8")


def fuzz(count: int, seconds: float, seed: int, keep: Path, jobs: int) -> Counter[int]:
    """Compile mutants of all programs, several programs at once, for about the given number of seconds."""
    paths, total, running = programs(), Counter[int](), dict[int, Path]()
    random.Random(seed).shuffle(paths)
    each, share = -(-count // len(paths)), seconds * jobs / len(paths)
    with tempfile.TemporaryDirectory() as name:
        while paths or running:
            while paths and len(running) < jobs:
                path = paths.pop()
                child = os.fork()
                if child == 0:
                    counts = fuzz_program(path, each, share, seed, keep)
                    (Path(name) / str(os.getpid())).write_text(repr(dict(counts)))
                    os._exit(0)
                running[child] = path
            child, _ = os.wait()
            path = running.pop(child)
            report = Path(name) / str(child)
            total.update(eval(report.read_text()) if report.exists() else {BAD: 1})
            print(f"{path.name}: {sum(total.values())} mutants, {dict(total)}", flush=True)
    return total


def main() -> int:
    """Fuzz, and say what was found."""
    words = argparse.ArgumentParser(description="Compile mutants that mostly compile.")
    words.add_argument("--count", type=int, default=100_000)
    words.add_argument("--seconds", type=float, default=math.inf)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz-near")
    words.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1)
    given = words.parse_args()
    total = fuzz(given.count, given.seconds, given.seed, given.keep, given.jobs)
    bad = sum(count for code, count in total.items() if code not in (COMPILES, REFUSED))
    print(f"{sum(total.values())} mutants: {total[COMPILES]} compile, {total[REFUSED]} are refused, {bad} are bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
