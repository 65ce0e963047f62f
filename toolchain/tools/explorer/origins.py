"""Which line of the source each line of LLVM's text or of assembly comes from, by its debug information.

Input: a text made with -g1. Output: for each of its lines a line of the source, 0 for none.
"""

import os
import re

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_NOTE = re.compile(r"^(!\d+) = (?:distinct )?(!\w+\(.*\))$")
_USE = re.compile(r"!dbg (!DILocation\([^)]*\)|!\d+)")
_FIELD = re.compile(r'(\w+): ("[^"]*"|![\w]+(?:\([^)]*\))?|[^,)]+)')


def of_assembly(text: str, path: str) -> list[int]:
    """Return the origins of lines of assembly or PTX."""
    name, own = os.path.basename(path), set()
    lines = text.split("\n")
    for line in lines:
        if (found := _FILE.match(line)) is not None and os.path.basename(found[3]) == name:
            own.add(found[1])
    origins, current = [], 0
    for line in lines:
        found = _LOC.match(line)
        if found is not None:
            current = int(found[2]) if found[1] in own else 0
        is_code = line[:1] in " \t" and line.strip() and line.strip()[0] not in ".#;/@}"
        origins.append(current if is_code or line.strip().startswith("@") else 0)
        if line.rstrip().endswith(":") and "func" in line:
            current = 0
    return origins


def of_llvm(text: str, path: str) -> list[int]:
    """Return the origins of lines of LLVM assembly; what was inlined belongs to the line that called it."""
    lines = text.split("\n")
    notes = {found[1]: found[2] for line in lines if (found := _NOTE.match(line)) is not None}
    return [_line(found[1], notes, os.path.basename(path)) if (found := _USE.search(line)) else 0 for line in lines]


def _line(location: str, notes: dict[str, str], name: str, depth: int = 0) -> int:
    fields = _fields(notes.get(location, location))
    if depth > 50 or "line" not in fields:
        return 0
    if os.path.basename(_file(fields.get("scope", ""), notes)) == name:
        return int(fields["line"])
    return _line(fields["inlinedAt"], notes, name, depth + 1) if "inlinedAt" in fields else 0


def _file(scope: str, notes: dict[str, str]) -> str:
    for _ in range(50):
        fields = _fields(notes.get(scope, ""))
        if "file" in fields:
            return _fields(notes.get(fields["file"], "")).get("filename", "").strip('"')
        scope = fields.get("scope", "")
    return ""


def _fields(note: str) -> dict[str, str]:
    return {key: value.strip() for key, value in _FIELD.findall(note)}
