"""Completion in the shell: targets, codes, kernels, files."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from ktc.diag.codes import Code
from ktc.diag.explain import listed
from ktc.targets import all_targets, host

_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_KERNEL = re.compile(r"enqueue_function(?:_checked|_unchecked)?\[\s*(\w+)")
SUFFIXES = (".kpy", ".mojo", ".🔥")


def sources(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Complete source files, and the folders on the way to them."""
    folder, _, name = start.rpartition("/")
    found = []
    try:
        entries = sorted(Path(f"{folder}/" if folder else ".").iterdir())
    except OSError:
        return []
    for entry in entries:
        if entry.name.startswith(name) and not (entry.name.startswith(".") and not name):
            shown = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir():
                found.append(CompletionItem(f"{shown}/"))
            elif entry.name.endswith(SUFFIXES):
                found.append(CompletionItem(shown))
    return found


def targets(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """Complete the last of several targets with commas between."""
    before, comma, last = start.rpartition(",")
    names = {target.name: target.title for target in all_targets(host.host_target())}
    chosen = before.split(",")
    return [
        CompletionItem(f"{before}{comma}{name}", help=title)
        for name, title in names.items()
        if name.startswith(last) and name not in chosen
    ]


def codes(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """Complete errors and warnings."""
    return [CompletionItem(code, help=title) for _, code, title in listed() if code.startswith(start)]


def warnings(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """Complete what `-W` takes."""
    ids = [code.id for code in Code if code.is_warning]
    words = ["error", "none", "all", *ids, *(f"no-{one}" for one in ids), *(f"error={one}" for one in ids)]
    return [CompletionItem(word) for word in words if word.startswith(start)]


def kernels(context: click.Context, _: click.Parameter, start: str) -> list[CompletionItem]:
    """Complete the functions that the file launches, or those of this folder if no file is known yet."""
    named = context.params.get("file")
    files = [Path(named)] if named else [path for path in Path().iterdir() if path.name.endswith(SUFFIXES)]
    found: set[str] = set()
    for path in files:
        with suppress(OSError, UnicodeDecodeError):
            found.update(_KERNEL.findall(path.read_text("utf-8")))
    return [CompletionItem(name) for name in sorted(found) if name.startswith(start)]


COMPLETERS: dict[str, _Completer] = {
    "file": sources, "files": sources, "paths": sources, "accelerators": targets, "accelerator": targets,
    "code": codes, "warnings": warnings, "kernel": kernels,
}  # fmt: skip
"""By the name of the parameter, the same in every command."""


def complete(command: click.Command) -> None:
    """Give the parameters of a command their values."""
    for parameter in command.params:
        completer = COMPLETERS.get(parameter.name or "")
        if completer is not None and parameter._custom_shell_complete is None:
            parameter._custom_shell_complete = completer
