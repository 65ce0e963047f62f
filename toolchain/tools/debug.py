"""`ktc debug`: builds a program with full debug information and starts a debugger on it.

Input: a file and the program's arguments. Output: the debugger's session, and its exit code.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click
from ktc import config as configs
from ktc.cli.standard_input import path_of
from ktc.cli.task import Command, compile_options, task_of
from ktc.codegen.debugging import printers
from ktc.config import Config
from ktc.driver import build_cache

_DEBUGGERS = ("gdb", "lldb")
_PRINTERS = "ktc_printers.py"
"""For lldb, beside the program; gdb finds its own in the executable."""


@click.command("debug", cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("file", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--debugger", metavar="COMMAND", help="gdb, lldb, or a path (default: the first one installed).")
@click.option("-x", "commands", multiple=True, metavar="COMMAND", help="Command for the debugger to execute first.")
@click.option("--batch", is_flag=True, help="Exit the debugger after these commands.")
@click.option("--stop", is_flag=True, help="Run to the start of 'main' first.")
@compile_options
def debug_command(
    file: str | None, arguments: tuple[str, ...], debugger: str | None, commands: tuple[str, ...], batch: bool,
    stop: bool, **words: Any,
) -> int:  # fmt: skip
    """Build FILE with -g -O0 and start gdb or lldb on it; arguments after FILE are passed to the program.

    Kernels run on the CPU device, where the debugger steps through them like through host code. Strings, lists,
    dictionaries and other values of the library are shown by their contents.
    """
    found = _debugger(debugger)
    if words["level"] is None and not words["no_optimization"]:
        words["level"] = 0
    words["debug"] = 2 if words["debug"] is None and words["debug_level"] is None else words["debug"]
    words["accelerators"] = words["accelerators"] or "cpu"
    with tempfile.TemporaryDirectory(prefix="ktc-debug-") as folder:
        file = path_of(file)
        program = Path(folder, Path(file).stem)
        task = task_of(words, file, output=program, writes=True)

        def work(config: Config) -> None:
            data = task.kept(config, config.emit)
            if data is not None:
                build_cache.write(config, data, task.sink)
                return
            session = task.open_session(config)
            from ktc.driver.pipeline import build  # late: only for some commands

            with task.progress():
                made = build(session)
            task.keep(config, config.emit, made.path.read_bytes())

        code = task.run(work)
        if code:
            return code
        program.with_name(_PRINTERS).write_text(printers.script("lldb"), "utf-8")
        line = _main_line(Path(file)) if stop else 0
        command = _command(found, program, arguments, [*_stop(found, Path(file).name, line), *commands], batch)
        return subprocess.run(command, check=False).returncode


def _debugger(named: str | None) -> str:
    """Return the debugger's path."""
    for name in (named,) if named else _DEBUGGERS:
        found = shutil.which(name)
        if found is not None:
            return found
    raise click.UsageError(f"there is no debugger '{named}'" if named else "neither gdb nor lldb is installed")


def _main_line(path: Path) -> int:
    """Return the line of the first statement of `main`, or of its head."""
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if re.match(r"(?:fn|def)\s+main\b", line):
            return number + 1
    return 1


def _stop(debugger: str, name: str, line: int) -> list[str]:
    """Return the commands that run to a line; none for line 0."""
    if not line:
        return []
    if "lldb" in os.path.basename(debugger):
        return [f"breakpoint set --file {name} --line {line}", "run"]
    return [f"break {name}:{line}", "run"]


def _command(debugger: str, program: Path, arguments: tuple[str, ...], commands: list[str], batch: bool) -> list[str]:
    """Return the command line of a debugger, which finds the library's sources and the printers of its types."""
    library = configs.stdlib_folder()
    if "lldb" in os.path.basename(debugger):
        options = ["--batch"] if batch else []
        script = f"command script import {program.with_name(_PRINTERS)}"
        first = (f"settings set target.source-map stdlib {library}", script)
        for one in (*first, *commands):
            options += ["-o", one]
        return [debugger, *options, "--", str(program), *arguments]
    options = ["-q", *(["-batch"] if batch else []), "-iex", f"add-auto-load-safe-path {program.parent}"]
    for one in (f"set substitute-path stdlib {library}", *commands):
        options += ["-ex", one]
    return [debugger, *options, "--args", str(program), *arguments]
