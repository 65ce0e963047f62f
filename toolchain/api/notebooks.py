"""Jupyter and IPython: `%load_ext ktc`, then cells that begin with `%%ktc`.

Input: a cell. Output: its exports as functions in the notebook, what it prints if it has a `main`, or its diagnostics.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Protocol

from ktc.api.building import BuildOptions, build
from ktc.api.errors import CompileError
from ktc.api.libraries import compile

_LEVEL = re.compile(r"-O([0-3])")


class _Shell(Protocol):
    """The members of IPython's shell that are used here."""

    user_ns: MutableMapping[str, object]

    def register_magic_function(self, func: Callable[..., None], magic_kind: str, magic_name: str) -> None: ...


class _Cells:
    """The magic of one notebook."""

    def __init__(self, shell: _Shell) -> None:
        self._shell = shell
        self._count = 0

    def cell(self, line: str, text: str) -> None:
        """Compile a cell.

        Options: a name for the library, `-O0` to `-O3`, `--target-accelerator NAMES`, `--target-cpu CPU`, `-l NAME`.
        """
        try:
            name, options = _options(line)
        except ValueError as error:
            sys.stderr.write(f"%%ktc: {error}\n")
            return
        self._count += 1
        try:
            if re.search(r"^(?:def|fn) main\(", text, re.MULTILINE):
                self._run(text, options)
            library = compile(text, f"cell_{self._count}", **options)
        except CompileError as error:
            sys.stderr.write(error.text)
            return
        found: dict[str, object] = {**library.functions}
        if name:
            found[name] = library
        self._shell.user_ns.update(found)

    def _run(self, text: str, options: BuildOptions) -> None:
        """Run a cell with a `main`; the notebook shows what it prints."""
        with tempfile.TemporaryDirectory(prefix="ktc-cell-") as folder:
            source = Path(folder, f"cell_{self._count}.kpy")
            source.write_text(text, "utf-8")
            program = build(source, Path(folder, "program"), **options)
            done = subprocess.run([program], capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        if done.returncode:
            sys.stderr.write(f"%%ktc: exit status {done.returncode}\n")


def _options(line: str) -> tuple[str, BuildOptions]:
    """Read the words after `%%ktc`.

    Raises:
        ValueError: one of them means nothing.
    """
    name, options, libraries = "", BuildOptions(), list[str]()
    words = shlex.split(line)
    while words:
        word = words.pop(0)
        level = _LEVEL.fullmatch(word)
        if level:
            options["optimization_level"] = int(level[1])
        elif word == "--target-accelerator" and words:
            options["target"] = words.pop(0)
        elif word == "--target-cpu" and words:
            options["target_cpu"] = words.pop(0)
        elif word == "-l" and words:
            libraries.append(words.pop(0))
        elif word.isidentifier() and not name:
            name = word
        else:
            raise ValueError(
                f"'{word}' means nothing here: write a name, -O0 to -O3, --target-accelerator NAMES or -l NAME"
            )
    if libraries:
        options["libraries"] = libraries
    return name, options


def load_ipython_extension(shell: _Shell) -> None:
    """Add `%%ktc` to a notebook."""
    shell.register_magic_function(_Cells(shell).cell, magic_kind="cell", magic_name="ktc")
