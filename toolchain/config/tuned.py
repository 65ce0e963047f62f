"""Tuning files: choices that `ktc tune` found, and that builds take with `--tuned FILE`.

Input: the text of a file and a target. Output: values of `tuning.tunable` as defines. A file is TOML: the program's
name, and a table `[[tuned]]` for each device, type and shape class.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ktc.base.records import record

VERSION = 1
PREFIX = "ktc.tuned."


class BadTuningFile(Exception):
    """A file cannot be read, or is for something else; the text says why."""


@record
class Tuned:
    """The best values that were found for one class of inputs on one device.

    Args:
        device: its name. target: of the kernels, as `ktc targets` lists it.
        dtype, shape: the class of inputs; "" for all types or shapes.
        values: by the name of the choice.
        nanoseconds: a launch takes with them; `default_nanoseconds`: with the first value of each choice, 0 if unknown.
        tried: candidates that were measured.
    """

    device: str
    target: str
    dtype: str
    shape: str
    values: Mapping[str, int]
    nanoseconds: float = 0.0
    default_nanoseconds: float = 0.0
    tried: int = 0


def define_of(name: str, dtype: str, shape: str) -> str:
    """Return the define that carries the value of a choice for a class of inputs."""
    return f"{PREFIX}{name}/{dtype}/{shape}"


def name_of(define: str) -> str:
    """Return the choice that a define of a tuning file is about, "" if it is none."""
    return define.removeprefix(PREFIX).split("/")[0] if define.startswith(PREFIX) else ""


def text_of(program: str, rows: Sequence[Tuned]) -> str:
    """Return a tuning file."""
    lines = [
        f"# Made by 'ktc tune {program}'; builds take it with --tuned.",
        f"version = {VERSION}",
        f"program = {_quoted(program)}",
    ]
    for row in rows:
        values = ", ".join(f"{_quoted(name)} = {value}" for name, value in row.values.items())
        lines += [
            "", "[[tuned]]", f"device = {_quoted(row.device)}", f"target = {_quoted(row.target)}",
            f"dtype = {_quoted(row.dtype)}", f"shape = {_quoted(row.shape)}", f"values = {{ {values} }}",
            f"nanoseconds = {row.nanoseconds:.1f}", f"default_nanoseconds = {row.default_nanoseconds:.1f}",
            f"tried = {row.tried}",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"


def read(path: Path) -> tuple[str, tuple[Tuned, ...]]:
    """Return the program that a file is for, and the file's entries.

    Raises:
        BadTuningFile: it is none.
    """
    import tomllib  # late: only with some options

    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadTuningFile(f"cannot read '{path}': {(error.strerror or str(error)).lower()}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadTuningFile(f"'{path}' is not a tuning file: {error}") from error
    program, rows = data.get("program"), data.get("tuned")
    if data.get("version") != VERSION or not isinstance(program, str) or not isinstance(rows, list):
        raise BadTuningFile(f"'{path}' is not a tuning file of version {VERSION}")
    return program, tuple(_row(path, row) for row in rows)


def _row(path: Path, row: object) -> Tuned:
    words = ("device", "target", "dtype", "shape")
    values = row.get("values") if isinstance(row, dict) else None
    is_good = (
        isinstance(row, dict)
        and all(isinstance(row.get(word), str) for word in words)
        and isinstance(values, dict)
        and all(type(value) is int for value in values.values())
    )
    if not is_good:
        raise BadTuningFile(f"'{path}' is not a tuning file: a table [[tuned]] lacks one of {', '.join(words)}, values")
    assert isinstance(row, dict) and isinstance(values, dict)
    numbers = [row.get(word, 0) for word in ("nanoseconds", "default_nanoseconds", "tried")]
    nanoseconds, default, tried = (one if isinstance(one, int | float) else 0 for one in numbers)
    device, target, dtype, shape = (str(row[word]) for word in words)
    return Tuned(device, target, dtype, shape, dict(values), float(nanoseconds), float(default), int(tried))


def defines(path: Path, root: Path, targets: Sequence[str], device: str = "") -> dict[str, str]:
    """Return the defines that a tuning file gives a build.

    Args:
        root: the program. targets: of its kernels, the best first; the first that the file knows counts.
        device: the name of one, where the file has several of a target; "" for the first.

    Raises:
        BadTuningFile: the file cannot be read, or is for another program, target or device.
    """
    program, rows = read(path)
    if program != root.name:
        raise BadTuningFile(f"'{path}' is a tuning file of '{program}', not of '{root.name}'")
    target = next((one for one in targets if any(row.target == one for row in rows)), "")
    if not target:
        known = ", ".join(dict.fromkeys(row.target for row in rows)) or "no target"
        raise BadTuningFile(f"'{path}' has nothing for {', '.join(targets)}: it was made for {known}")
    devices = [*dict.fromkeys(row.device for row in rows if row.target == target)]
    if device and device not in devices:
        raise BadTuningFile(f"'{path}' has nothing for the device '{device}': it has {', '.join(devices)}")
    chosen = device or devices[0]
    return {
        define_of(name, row.dtype, row.shape): str(value)
        for row in rows
        if row.target == target and row.device == chosen
        for name, value in row.values.items()
    }


def _quoted(text: str) -> str:
    kept = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{kept}"'
