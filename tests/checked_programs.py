"""Wrong programs and their repaired twins for the checked mode: tests/checked/programs, one file for both.

    python tests/checked_programs.py [NAME ...]      # all of them; exit code 1 if anything differs

`#! KIND` marks the line that is to be reported (any of several; both of a race). In the repaired program a line with
`#-` is not there and one with `#+ ` in front is. `#: ` has options, `#= ` a line that the repaired program prints.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from programs import run_ktc

FOLDER = Path(__file__).parent / "checked" / "programs"
FAULT = 134
_MARK = re.compile(r"#! ([\w-]+)")


def repaired(text: str) -> str:
    """Return the program without its mistake."""
    kept = [line for line in text.split("\n") if not re.search(r"#-( |$)", line)]
    return "\n".join([re.sub(r"  ?#! .*", "", re.sub(r"^(\s*)#\+ ", r"\1", line)) for line in kept])


def run(text: str, flags: list[str], folder: Path, name: str) -> tuple[int, str, list[dict[str, object]], str]:
    """Return a checked program's exit code, its output, what was reported, and the standard error."""
    path = folder / f"{name}.kpy"
    path.write_text(text)
    words = ["run", "-W", "none", *flags, "--diagnostic-format", "json", path.name]
    done = run_ktc(words, Path(os.environ.get("KTC_CACHE_DIR") or Path.home() / ".cache" / "ktc"), folder)
    entries = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return done.returncode, done.stdout, [entry for entry in entries if entry["severity"] == "error"], done.stderr


def _places(entry: dict) -> list[int]:  # type: ignore[type-arg]
    """Return the lines of a report's accesses: of its notes not those that only say how the program came there."""
    notes = [note for note in entry["notes"] if not note["message"].startswith(("called here", "in '"))]
    return [part["place"]["line"] for part in [entry, *notes] if part["place"]]


def difference(path: Path, folder: Path, *more: str) -> str:
    """Return how a program differs from its marks, or ""; `more` are options for the compiler."""
    text = path.read_text()
    options = [word for line in re.findall(r"^#: (.*)$", text, re.MULTILINE) for word in line.split()]
    flags = options if any(word.startswith("--check") for word in options) else ["--check", *options]
    flags += more
    if not any("accelerator" in flag for flag in flags):
        flags.append("--target-accelerator=cpu")
    marks = [(kind, at) for at, line in enumerate(text.split("\n"), 1) for kind in _MARK.findall(line)]
    if marks:
        code, out, entries, said = run(text, flags, folder, path.stem)
        if code != FAULT or not entries:
            return f"not reported: exit {code}, {said or out}"
        kind, lines = entries[0]["code"], _places(entries[0])
        wanted = [at for _, at in marks]
        fits = set(lines) == set(wanted) if str(kind).startswith("race") else bool(lines) and lines[0] in wanted
        if kind != marks[0][0] or not fits:
            return f"{kind} at {lines}, wanted {marks}"
    code, out, entries, said = run(repaired(text), flags, folder, path.stem)
    right = "".join([f"{line}\n" for line in re.findall(r"^#= (.*)$", text, re.MULTILINE)])
    if code or entries or out != right:
        return f"repaired: exit {code}, {out!r} instead of {right!r}, {said}"
    return ""


def main() -> int:
    """Run all programs, or those that are named."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(FOLDER.glob("*.kpy")):
            if sys.argv[1:] and path.stem not in sys.argv[1:]:
                continue
            found = difference(path, Path(folder))
            wrong += bool(found)
            if found:
                print(f"{path.stem}: {found}", flush=True)
    print(f"{wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
