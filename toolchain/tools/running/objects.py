"""The objects of a program that runs at once, and how it is started.

Input: a `Task`, its `Config`. Output: objects for LLVM's JIT, or for the linker where a program needs a process of its
own.
"""

import pickle
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ktc import config as configs
from ktc.base import unpickling
from ktc.cli.task import Task
from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic
from ktc.diag.render import render_json, render_text
from ktc.emit.linking.commands import LinkOptions
from ktc.targets import triples

if TYPE_CHECKING:
    from ktc.driver.watching.prepared_build import PreparedBuild


def objects_of(task: Task, config: Config, prepared: "PreparedBuild | None" = None) -> tuple[bytes, ...]:
    """Compile a program, or find it in the cache.

    Args:
        prepared: the results of an earlier build of it.

    Raises:
        CompileError: it has errors, or this machine cannot run it.
    """
    _check_runs_here(config)
    data = task.kept(config, "objects")
    if data is not None:
        found = unpickling.loads(data)
        assert isinstance(found, tuple)
        return found
    objects = _with_prepared(task, prepared) if prepared is not None and prepared.config == config else None
    if objects is not None:
        return objects
    session = task.open_session(config)
    from ktc.driver.pipeline import compile_objects  # late: only after a cache miss

    with task.progress():
        objects = compile_objects(session)
    task.keep(config, "objects", pickle.dumps(objects))
    return objects


def _with_prepared(task: Task, prepared: "PreparedBuild") -> tuple[bytes, ...] | None:
    """Compile with what an earlier build has left; None if anything is wrong: a build that begins with nothing says
    what."""
    from ktc.driver.pipeline import compile_objects  # late: only after a cache miss

    session = task.open_prepared(prepared)
    try:
        objects = compile_objects(session)
    except Exception:
        return None
    for one in session.sink.warnings:
        task.sink.report(one)
    return objects


def link_options(config: Config, objects: Sequence[bytes]) -> LinkOptions | None:
    """Return how the program is linked, if it must be an executable; None: it runs in a copy of this process."""
    from ktc.emit import own_process  # late: only for some commands

    debug = config.debug > 0 and not config.host.checks
    if config.libraries or debug:  # tools find the lines of calls in an executable only
        return LinkOptions(debug=debug, libraries=config.libraries, folders=config.library_folders)
    return LinkOptions() if own_process.is_required(objects) else None


def report_missing(names: Sequence[str], task: Task) -> None:
    """Report functions that no library has."""
    shown = ", ".join([f"'{name}'" for name in names])
    help = "name the library that has it: -l NAME"
    problem = Diagnostic(Code.LINK_FAILED, None, f"linking failed: no library here has {shown}", help)
    color = configs.color_enabled(sys.stderr.isatty())
    in_json = task.diagnostic_format == "json"
    sys.stderr.write(render_json([problem]) if in_json else render_text([problem], color))


def _check_runs_here(config: Config) -> None:
    """Refuse a program for another machine.

    Raises:
        CompileError: this machine cannot run it.
    """
    target, here = triples.parsed(config.host.triple), triples.of_this_machine()
    if (target.architecture, target.system) != (here.architecture, here.system):
        text = f"this machine cannot run a program for '{config.host.triple}'"
        raise CompileError([Diagnostic(Code.UNKNOWN_TARGET, None, text, "'ktc build' makes an executable for it")])
