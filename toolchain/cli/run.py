"""`ktc run`: compile a program and run it in this process, or in one of its own where libraries are linked.

Input: a file, options, the program's own words. Output: the program's output and exit code.
"""

import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from ktc import config as configs
from ktc.base import unpickling
from ktc.base.version import VERSION
from ktc.cli.standard_input import program_of
from ktc.cli.task import Command, Task, compile_options, task_of
from ktc.config import Config
from ktc.config.environment import stack_traces_enabled
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic
from ktc.diag.render import render_json, render_text
from ktc.driver import guard
from ktc.emit.linking.commands import LinkOptions
from ktc.targets import triples


@click.command("run", cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@compile_options
def run_command(file: str, arguments: tuple[str, ...], **words: Any) -> int:
    """Compile FILE (`-`: standard input) and run it; arguments after FILE are passed to the program."""
    file, words["search"] = program_of(file, words["search"])
    if words["debug"] is None and not words["debug_level"] and stack_traces_enabled():
        words["debug"] = 1
    task = task_of(words, file)

    def work(config: Config) -> None:
        _check_runs_here(config)
        data = task.kept(config, "objects")
        if data is None:
            session = task.open_session(config)
            from ktc.driver.pipeline import compile_objects  # late: only after a cache miss

            with task.progress():
                objects = compile_objects(session)
            task.keep(config, "objects", pickle.dumps(objects))
        else:
            found = unpickling.loads(data)
            assert isinstance(found, tuple)
            objects = found
        from ktc.emit import jit, own_process  # late: only for some commands

        start = own_process.run if own_process.is_required(objects) else jit.run
        debug = config.debug > 0 and not config.host.checks
        if config.libraries or debug:  # tools find the lines of calls in an executable only
            options = LinkOptions(debug=debug, libraries=config.libraries, folders=config.library_folders)
            start = partial(own_process.run, options=options)
        # The program is started from the main thread, which alone may handle signals.
        task.finish = partial(_run_program, partial(start, objects, (file, *arguments)), task)

    return task.run(work)


def _check_runs_here(config: Config) -> None:
    """Refuse a program for another machine.

    Raises:
        CompileError: this machine cannot run it.
    """
    target, here = triples.parsed(config.host.triple), triples.of_this_machine()
    if (target.architecture, target.system) != (here.architecture, here.system):
        text = f"this machine cannot run a program for '{config.host.triple}'"
        raise CompileError([Diagnostic(Code.UNKNOWN_TARGET, None, text, "'ktc build' makes an executable for it")])


def _run_program(program: Callable[[], int], task: Task) -> int:
    codes: list[int] = []

    def guarded() -> int:
        from ktc.emit.jit import MissingSymbols  # late: only for some commands

        try:
            codes.append(program())
        except MissingSymbols as error:
            names = ", ".join([f"'{name}'" for name in error.names])
            help = "name the library that has it: -l NAME"
            problem = Diagnostic(Code.LINK_FAILED, None, f"linking failed: no library here has {names}", help)
            color = configs.color_enabled(sys.stderr.isatty())
            in_json = task.diagnostic_format == "json"
            sys.stderr.write(render_json([problem]) if in_json else render_text([problem], color))
            codes.append(1)
        return 0

    failed = guard.run_here(guarded, lambda: guard.Crash(task.cache.folder, {"ktc": VERSION, "stage": "run"}))
    return failed or codes[0]
