"""`ktc run`: compile a program and run it in this process, or in one of its own where libraries are linked.

Input: a file, options, the program's own words. Output: the program's output and exit code.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import click
from ktc.base.version import VERSION
from ktc.cli.standard_input import program_of
from ktc.cli.task import Command, Task, compile_options, task_of
from ktc.config import Config
from ktc.config.environment import stack_traces_enabled
from ktc.driver import guard
from ktc.tools.running.objects import link_options, objects_of, report_missing


@click.command("run", cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("file", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--watch", "watches", is_flag=True, help="Rebuild and run again when a file of the program changes.")
@compile_options
def run_command(file: str | None, arguments: tuple[str, ...], watches: bool, **words: Any) -> int:
    """Compile FILE (`-`: standard input) and run it; arguments after FILE are passed to the program.

    Without FILE, run the program of the project around this folder. FILE may be the name of one of its entry points.
    """
    if watches and file == "-":
        raise click.UsageError("--watch follows a file, and standard input is none")
    path, words["search"] = program_of(file, words["search"])
    if words["debug"] is None and not words["debug_level"] and stack_traces_enabled():
        words["debug"] = 1
    task = task_of(words, path)
    if watches:
        from ktc.tools.running.watching import Watch  # late: only with some options

        return Watch(task, (path, *arguments)).run()

    def work(config: Config) -> None:
        objects = objects_of(task, config)
        from ktc.emit import jit, own_process  # late: only for some commands

        options = link_options(config, objects)
        start = jit.run if options is None else partial(own_process.run, options=options)
        # The program is started from the main thread, which alone may handle signals.
        task.finish = partial(_run_program, partial(start, objects, (path, *arguments)), task)

    return task.run(work)


def _run_program(program: Callable[[], int], task: Task) -> int:
    codes: list[int] = []

    def guarded() -> int:
        from ktc.emit.jit import MissingSymbols  # late: only for some commands

        try:
            codes.append(program())
        except MissingSymbols as error:
            report_missing(error.names, task)
            codes.append(1)
        return 0

    failed = guard.run_here(guarded, lambda: guard.Crash(task.cache.folder, {"ktc": VERSION, "stage": "run"}))
    return failed or codes[0]
