"""A fuzzer: mutated programs go through the compiler as far as the IR; never a traceback, a crash or a hang.

    python tests/fuzz.py [--count 10000] [--seed 0] [--keep FOLDER]

Each mutant runs in a forked process with a limit of its processor time. Exit codes 0 and 1 are answers; everything else
is a mistake of the compiler, whose program is written to the folder. Seeds are the programs of tests/ and examples/.
"""

import argparse
import contextlib
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ktc.cli import commands

ROOT = Path(__file__).parents[1]
SECONDS = 20
"""Of the processor's time for one mutant."""
PATIENCE = 300
"""Seconds by the clock: a busy machine takes long over 20 seconds of work, a hang takes for ever."""
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"[^\"\n]*\"|'[^'\n]*'|[ \t]+|\n|[-+*/%<>=!&|^:]=?|.")
SPICE = (
    "[", "]", "(", ")", "{", "}", ":", ",", "^", ".", "=", "*", "**", "->", "!", "`", '"', "'", "\\", "\n", "    ",
    "\t", "0", "-1", "1 << 70", "1e999", "_", "self", "Self", "None", "True", "in", "is", "not", "and", "if", "else",
    "for", "while", "def ", "fn ", "struct ", "trait ", "alias ", "var ", "ref ", "mut ", "out ", "owned ", "raise ",
    "try:", "with ", "return ", "@parameter", "comptime ", "lambda", "await ", "Int", "String", "List[Int]",
    "SIMD[DType.int8, 3]", "é", "\0", "\r", "f\"{x\"", "...", ":=", "@", "//",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """How one mutant ended: an exit code, or minus the number of a signal."""

    code: int
    text: str

    @property
    def is_answer(self) -> bool:
        return self.code in (0, 1) and "Traceback (most recent call last)" not in self.text


def seeds() -> list[str]:
    """Return the texts that are mutated."""
    folders = (ROOT / "tests" / "run", ROOT / "tests" / "errors", ROOT / "tests" / "stdlib", ROOT / "examples")
    return [path.read_text("utf-8") for folder in folders for path in sorted(folder.rglob("*.kpy"))]


def mutate(text: str, chance: random.Random, others: list[str]) -> str:
    """Change a program in one to four places."""
    tokens = TOKEN.findall(text)
    for _ in range(chance.randint(1, 4)):
        if not tokens:
            break
        at = chance.randrange(len(tokens))
        match chance.randrange(8):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[chance.randrange(len(tokens))])
            case 2:
                other = chance.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = chance.choice(SPICE)
            case 4:
                tokens.insert(at, chance.choice(SPICE))
            case 5:
                del tokens[at : at + chance.randint(2, 30)]
            case 6:
                start = chance.randrange(len(tokens))
                tokens[at:at] = tokens[start : start + chance.randint(2, 20)]
            case _:
                stranger = TOKEN.findall(chance.choice(others))
                start = chance.randrange(len(stranger))
                tokens[at:at] = stranger[start : start + chance.randint(2, 20)]
    return "".join(tokens)


def compile_text(text: str, folder: Path, seconds: int = SECONDS) -> Outcome:
    """Compile a text to IR in a process of its own."""
    source, log = folder / "mutant.kpy", folder / "mutant.log"
    source.write_text(text, "utf-8", newline="")
    child = os.fork()
    if child == 0:
        code = 99
        try:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            code = commands.main(["emit", "--kind", "ir", "-o", str(folder / "mutant.ir"), str(source)])
        finally:
            with contextlib.suppress(BaseException):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    return Outcome(wait_for(child, PATIENCE), log.read_text("utf-8", errors="replace") if log.exists() else "")


def wait_for(child: int, seconds: int) -> int:
    """Return how a process ends; one that takes too long is ended."""
    limit = time.monotonic() + seconds
    pause = 0.002
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM


def fuzz(count: int, seed: int, keep: Path | None = None, show: bool = False) -> list[Outcome]:
    """Compile mutants; return those outcomes that are no answers."""
    chance = random.Random(seed)
    texts = seeds()
    bad: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(count):
            text = mutate(chance.choice(texts), chance, texts)
            outcome = compile_text(text, folder)
            if not outcome.is_answer:
                bad.append(outcome)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{seed}-{number}.kpy").write_text(text, "utf-8", newline="")
                    (keep / f"{seed}-{number}.log").write_text(f"exit code {outcome.code}\n{outcome.text}", "utf-8")
            if show and (number + 1) % 100 == 0:
                print(f"{number + 1} programs, {len(bad)} bad", flush=True)
    return bad


def main() -> int:
    """Fuzz, and say what was found."""
    words = argparse.ArgumentParser(description="Compile mutated programs.")
    words.add_argument("--count", type=int, default=10_000)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--keep", type=Path, default=ROOT / "build" / "fuzz")
    given = words.parse_args()
    bad = fuzz(given.count, given.seed, given.keep, show=True)
    for outcome in bad[:10]:
        print(f"exit code {outcome.code}: {outcome.text.strip()[:300]}")
    print(f"{given.count} programs, {len(bad)} without a proper answer" + (f", kept in {given.keep}" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
