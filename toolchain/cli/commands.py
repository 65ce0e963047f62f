"""The commands: words of the command line in, exit codes and text out; no logic of compiling.

Exit codes: 0 success, 1 error in the program or one of its files, 2 usage error, 70 internal compiler error,
130 Ctrl-C; `ktc run` gives the program's own. The compiler and LLVM are imported where they are used: a build
with nothing to do must not load them.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click
from ktc import config as configs
from ktc import native
from ktc.base.editions import Edition
from ktc.base.similarity import close_matches
from ktc.base.version import VERSION
from ktc.cli.library_options import SideFiles, keep_exports, kept_exports, library_options
from ktc.cli.standard_input import is_file, path_of, program_of
from ktc.cli.task import Command, Task, compile_options, task_of
from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.render import render_text
from ktc.driver import build_cache, guard
from ktc.ir.exports import Exports
from ktc.targets import all_targets, host
from ktc.tools import COMMANDS
from ktc.tools.options import edition_option

SUFFIXES = (".kpy", ".mojo", ".🔥")
"""A word that ends so is a program to run."""
_EMIT_KINDS = ("ast", "ir", "llvm", "llvm-opt", "asm", "object")


def _version(context: click.Context, _: click.Parameter, is_given: bool) -> None:
    if not is_given or context.resilient_parsing:
        return
    from ktc.targets.llvm_version import llvm_versions  # late: only for some commands

    click.echo(f"ktc {VERSION} ({llvm_versions()})")
    context.exit()


_ELSEWHERE = {
    "fmt": "format", "compile": "build", "init": "new", "lint": "check", "docs": "doc", "disassemble": "emit",
    "playground": "explore", "clean": "cache",
}  # fmt: skip
"""Commands of other compilers, and their names here."""


class _Commands(click.Group):
    """The commands of this file, and those of `tools`, which are loaded on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command with its examples and shell completions, None if there is none of that name."""
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name].partition(":")
            command: click.Command | None = getattr(import_module(module), name)
        else:
            command = super().get_command(ctx, cmd_name)
        if command is not None and (ctx.resilient_parsing or {"-h", "--help"} & set(sys.argv)):
            from ktc.cli.completion import complete  # late: only for some commands
            from ktc.cli.help import epilog  # late: only for some commands

            command.epilog = epilog(cmd_name)
            complete(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Take a source file instead of a command for `run` and the file."""
        if args and Path(args[0]).suffix in SUFFIXES and args[0] not in self.list_commands(ctx):
            args = ["run", *args]
        elif args and args[0][:1] != "-" and args[0] not in (names := self.list_commands(ctx)):
            near = [_ELSEWHERE[args[0]]] if args[0] in _ELSEWHERE else close_matches(args[0], names, n=1)
            ctx.fail(f"No such command '{args[0]}'." + "".join(f" Did you mean '{one}'?" for one in near))
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, exit codes and environment variables."""
        from ktc.cli.help import epilog  # late: only for some commands

        self.epilog = epilog("")
        super().format_epilog(ctx, formatter)


class _Kind(click.Choice[str]):
    """A stage; for the name of a GPU's code, what shows it."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the stage of a name."""
        if value in ("ptx", "gcn", "amdgcn", "air", "spirv", "sass", "s"):
            self.fail(
                f"'{value}' is the assembly of a target: write '--kind asm --target-accelerator NAME'", param, ctx
            )
        return super().convert(value, param, ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version)
def cli() -> None:
    """Compile .kpy programs to native executables with host and GPU code."""


@cli.command(cls=Command)
@click.argument("file", required=False)
@click.option("-o", "output", type=click.Path(path_type=Path), help="The file to write (default ./NAME).")
@click.option("--emit", "emit_kind", type=click.Choice(configs.EMIT_KINDS), help="What to write (default exe).")
@click.option("--embed-cubin", is_flag=True, help="Also embed machine code for NVIDIA GPUs, if ptxas is found.")
@library_options
@compile_options
def build(
    file: str | None, output: Path | None, emit_kind: str | None, embed_cubin: bool, soname: str, symbol_version: str,
    header: Path | None, pkg_config: Path | None, library_version: str, **words: Any,
) -> int:  # fmt: skip
    """Compile FILE (`-`: standard input) to an executable or a library.

    Without FILE, compile the programs of the project around this folder.
    """
    found: Mapping[str, str] = {"": file} if is_file(file) else {}
    if not found or (words["accelerators"] is None and configs.project_file(Path()) is not None):
        from ktc.cli import projects  # late: only in a project

        found, words["accelerators"] = projects.programs(file), projects.targets_or_project(words["accelerators"])
    if output is not None and len(found) > 1:
        raise click.UsageError(f"-o names one file, and the project has {len(found)} programs: name one of them")
    beside = SideFiles(header, pkg_config, library_version)
    search, codes = words["search"], []
    for program, path in found.items():
        path, words["search"] = program_of(path, search)
        task = task_of(
            words, path, output=output, emit=emit_kind, writes=True, embed_cubin=embed_cubin, soname=soname,
            symbol_version=symbol_version, program=program,
        )  # fmt: skip
        codes.append(_built(task, beside))
    return max(codes)


def _built(task: Task, beside: SideFiles) -> int:
    """Build one program and the files beside it; return the exit code."""

    def work(config: Config) -> None:
        beside.check(config)
        if config.embed_cubin:
            from ktc.cli.output import print_assembler  # late: only with some options

            print_assembler()
        data = task.kept(config, config.emit)
        needs_exports = data is not None and (beside.header or config.emit == "python-extension")
        exports = kept_exports(task, config) if needs_exports else Exports()
        if data is not None and exports is not None:
            build_cache.write(config, data, task.sink)
            beside.write(config, exports)
            return
        session = task.open_session(config)
        from ktc.driver.pipeline import build as build_program  # late: only after a cache miss

        with task.progress():
            made = build_program(session)
        task.keep(config, config.emit, made.path.read_bytes())
        keep_exports(task, config, session.exports)
        beside.write(config, session.exports)

    return task.run(work)


@cli.command(cls=Command)
@click.argument("file", required=False)
@click.option("--kind", type=_Kind(_EMIT_KINDS), default="llvm", show_default=True, help="Stage to show.")
@click.option("--kernel", default="", metavar="NAME", help="Kernel to show, if there are several.")
@click.option("--all", "shows_all", is_flag=True, help="In assembly of the host, also show the library's functions.")
@click.option("-o", "output", type=click.Path(path_type=Path), help="The file to write (default: standard output).")
@compile_options
def emit(file: str | None, kind: str, kernel: str, shows_all: bool, output: Path | None, **words: Any) -> int:
    """Show the output of a stage for FILE (`-`: standard input).

    The output is for the host, or with --target-accelerator for a kernel. Assembly of the host that goes to a terminal
    or a pipe has the program's own functions; --all shows the library's too.
    """
    if kind == "object" and output is None and sys.stdout.isatty():
        raise click.UsageError("an object file is binary: name a file with -o")
    on_device = words["accelerators"] is not None or bool(kernel)
    if on_device and "," in (words["accelerators"] or ""):
        raise click.UsageError("'ktc emit' shows one target at a time")
    path, words["search"] = program_of(file, words["search"])
    task = task_of(words, path, output=output, writes=output is not None)
    shown: list[bytes] = []

    def work(config: Config) -> None:
        session = task.open_session(config)
        from ktc.driver.pipeline import emit as emit_stage  # late: only for some commands

        data = emit_stage(session, kind, kernel, on_device, shows_library=shows_all or output is not None)
        if output is None:
            shown.append(data)
            vendor = config.accelerators[0].vendor if on_device else "cpu"
            task.finish = partial(_print_stage, data, kind, vendor)
        else:
            build_cache.write(config, data, task.sink, is_executable=False)

    return task.run(work)


def _print_stage(data: bytes, kind: str, vendor: str) -> int:
    from ktc.cli.output import print_code  # late: only for some commands

    print_code(data, kind, vendor, configs.color_enabled(sys.stdout.isatty()))
    return 0


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--support",
    "shows_support",
    is_flag=True,
    help="Show what is generated for each kind of target, and where it was tested.",
)
def targets(as_json: bool, shows_support: bool) -> int:
    """List the targets of kernels; with --support, show the support for targets and hosts."""
    from ktc.cli.output import print_json, print_support, print_table  # late: only for some commands

    if shows_support:
        print_support(as_json)
        return 0
    cache = configs.open_cache()
    here = set(configs.local_gpus(cache)) | {"cpu"}
    found = [*all_targets(host.host_target(processor=configs.processor(cache)))]
    if as_json:
        print_json([
            {"name": one.name, "title": one.title, "aliases": [*one.aliases], "here": one.name in here}
            for one in found
        ])  # fmt: skip
        return 0
    rows = [(one.name, "here" if one.name in here else "", one.title, _short(one.aliases)) for one in found]
    print_table(("name", "", "device", "other names"), rows, columns=80)
    return 0


def _short(aliases: Sequence[str]) -> str:
    """Return the other names of a target without those that only spell out its vendor."""
    return ", ".join(name for name in aliases if ":" not in name)


@cli.group("cache")
def cache_group() -> None:
    """Show or clear the cache, or explain why a build was not in it."""


@cache_group.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cache_info(as_json: bool) -> int:
    """Show the location, size and contents of the cache."""
    from ktc.cli.output import print_cache, print_json  # late: only for some commands

    if as_json:
        info = configs.open_cache().info()
        print_json({
            "folder": str(info.folder) if info.folder else None, "writable": info.is_writable, "entries": info.entries,
            "size_bytes": info.size_bytes, "max_bytes": info.max_bytes,
        })  # fmt: skip
    else:
        print_cache(configs.open_cache())
    return 0


@cache_group.command("clear")
def cache_clear() -> int:
    """Remove everything from the cache."""
    from ktc.cli.output import human_size  # late: only for some commands

    click.echo(f"removed {human_size(configs.open_cache().clear())}")
    return 0


@cache_group.command("why", cls=Command)
@click.argument("file", required=False)
@compile_options
def cache_why(file: str | None, **words: Any) -> int:
    """Show which units of FILE are cached, and what changed since the last build, without compiling."""
    task = task_of(words, path_of(file))

    def work(config: Config) -> None:
        session = task.open_session(config)
        from ktc.cli.output import print_table  # late: only for some commands
        from ktc.driver import cache_history  # late: only for some commands
        from ktc.driver.pipeline import look_up  # late: only for some commands

        look_up(session)
        print_table(("unit", "cache", "why"), cache_history.explain(session, config.emit))

    return task.run(work)


@cli.command()
@click.argument("file", required=False)
@edition_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(file: str | None, edition: Edition | None, as_json: bool) -> int:
    """Show the linker, GPUs, drivers, cache and versions that ktc finds.

    With FILE, show only the edition of the language in which it is read, and why.
    """
    from ktc.cli.doctor import edition_of, findings  # late: only for some commands
    from ktc.cli.output import print_json, print_table  # late: only for some commands

    rows = findings(configs.open_cache()) if file is None else edition_of(Path(file), edition)
    if as_json:
        print_json([{"name": name, "found": found} for name, found in rows])
    else:
        print_table((), rows, columns=80)
    return 0


@cli.command()
@click.argument("code", required=False)
def explain(code: str | None) -> int:
    """Explain an error or a warning, given its name (type-mismatch); without a name, list all."""
    from ktc.cli.output import print_table  # late: only for some commands
    from ktc.diag.explain import explain as page  # late: only for some commands
    from ktc.diag.explain import listed, nearest  # late: only for some commands

    if code is None:
        print_table(("", "code", "meaning"), listed(), columns=80)
        return 0
    text = page(code)
    if text is None:
        near = nearest(code)
        hint = f"; did you mean '{near[0]}'?" if near else "; 'ktc explain' lists them"
        raise click.UsageError(f"there is no error called '{code}'{hint}")
    click.echo(text, nl=False)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        code = cli.main(arguments, prog_name="ktc", standalone_mode=False)
        if not sys.stdout.closed:  # a server closes it at its end
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return guard.INTERRUPTED
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            from ktc.cli.help import with_likely_option  # late: only for errors

            error = with_likely_option(error)
        error.show()
        return error.exit_code
    except BrokenPipeError:  # whoever reads has seen enough
        return 1
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        place = f" '{error.filename}'" if error.filename else ""
        problem = Diagnostic(Code.FILE_ERROR, None, f"cannot write the output{place}: {why}")
        sys.stderr.write(render_text([problem], configs.color_enabled(sys.stderr.isatty())))
        return 1


def _open_streams() -> None:
    """Open closed standard streams on the null device: other files would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle > number:
                os.dup2(handle, number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def entry() -> NoReturn:
    """Run as the command `ktc`."""
    _open_streams()
    if native.is_used():
        guard.again = native.once_more_as_python
    code = main()
    for stream in (sys.stdout, sys.stderr):
        if stream.closed:
            continue
        try:
            stream.flush()
        except (OSError, ValueError):  # Python would complain at its end otherwise
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if "ktc.emit.jit" in sys.modules:  # what a program has written may lie in C's buffers
        sys.exit(code)
    # Without the end of the interpreter, which would look for garbage among a million objects.
    os._exit(code)
