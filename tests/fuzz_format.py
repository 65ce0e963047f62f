"""Formats mutants of all programs: the tree and the comments stay, and formatting twice changes nothing.

    python tests/fuzz_format.py [--count 2000] [--seed 0]

A mutant has other spaces, line ends inside brackets, comments and redundant parentheses than its program. The formatter
itself compares the trees.
"""

import argparse
import random
import re
import sys
from pathlib import Path

from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.formatting.formatter import all_comments, format_source
from ktc.formatting.reading import read
from ktc.syntax.lexing.lexer import Lexer
from ktc.syntax.parsing.tables import Tables, load_tables

ROOT = Path(__file__).parents[1]
FOLDERS = ("stdlib", "tests", "examples", "benchmarks")
_WORD = re.compile(r"\w")


def programs() -> list[Path]:
    """Return all source files of the project."""
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.kpy"))]


def mutate(text: str, tables: Tables, chance: random.Random) -> str:
    """Change the spaces between the tokens of a program, and put comments in."""
    lexer = Lexer(tables)
    tokens = lexer.lex(text, 0, len(text))
    parts: list[str] = []
    end = depth = 0
    for index in range(len(tokens.types) - 1):
        start, stop = tokens.starts[index], tokens.ends[index]
        gap, token = text[end:start], text[start:stop]
        if start == stop:
            continue
        is_spaces = not gap.strip(" ") and index > 0
        if is_spaces and chance.random() < 0.15:
            gap = _space(gap, depth, chance)
            touches = parts and _WORD.match(parts[-1][-1:]) and _WORD.match(token[:1])
            gap = " " if not gap and (touches or token[0] in "\"'`.0123456789" or _joins(parts[-1], token)) else gap
        parts.extend((gap, token))
        depth += (token in "([{") - (token in ")]}") if len(token) == 1 else 0
        end = stop
    return "".join(parts) + text[end:]


def _space(gap: str, depth: int, chance: random.Random) -> str:
    kinds = ["", "  "]
    if depth:
        kinds += ["\n" + " " * 70, "  # why\n" + " " * 70, "\n" + " " * 60 + "# alone\n" + " " * 70]
    return chance.choice(kinds)


def _joins(before: str, token: str) -> bool:
    """Return whether two tokens could be read as another one without a space; `^` and `ref` look at what follows."""
    return before[-1] in "*/<>=!:-+|&^.@%~" or before in ("ref", "fn", "def") or token[0] in "=*/<>|&.-+^"


def problem(path: Path, text: str, tables: Tables, columns: int) -> str | None:
    """Return what is wrong with the formatted text, None if nothing is or the text does not parse."""
    sink = Sink()
    try:
        once = format_source(Source(str(path), text), sink, tables, columns)
        if once is None:
            return None
        if _words(once, tables) != _words(text, tables):
            return "comments are lost"
        twice = format_source(Source(str(path), once), sink, tables, columns)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if twice == once else "formatting twice changes the text again"


def _words(text: str, tables: Tables) -> list[str]:
    """Return the words of all comments: those that end up on one line become one comment."""
    return sorted(word for comment in all_comments(read(text, tables)) for word in comment.replace("#", " ").split())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="write what fails to this folder")
    words = parser.parse_args()
    sys.setrecursionlimit(20_000)
    tables, chance, failed = load_tables(None), random.Random(words.seed), 0
    seeds = [(path, text) for path in programs() if _parses(text := path.read_text("utf-8", "replace"), path, tables)]
    for path, text in seeds:
        failed += _said(problem(path, text, tables, 80), path, text, words.keep)
    for number in range(words.count):
        path, text = chance.choice(seeds)
        mutant = mutate(text, tables, chance)
        columns = chance.choice((40, 60, 80, 100, 120))
        failed += _said(
            problem(path, mutant, tables, columns), Path(f"{path.stem}-{number}-{columns}.kpy"), mutant, words.keep
        )
    print(f"{len(seeds)} programs and {words.count} mutants, {failed} wrong")
    return int(failed > 0)


def _parses(text: str, path: Path, tables: Tables) -> bool:
    from ktc.syntax.parsing.parser import parse

    return "\r" not in text and parse(Source(str(path), text), Sink(), tables=tables) is not None


def _said(wrong: str | None, path: Path, text: str, keep: Path | None) -> bool:
    if wrong:
        print(f"{path}: {wrong}")
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / path.name).write_text(text)
    return wrong is not None


if __name__ == "__main__":
    sys.exit(main())
