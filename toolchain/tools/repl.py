"""`ktc repl`: statements, declarations and expressions, compiled and run as they are typed.

Input: lines. Output: their output, and the values of expressions. Declarations stand at the top of a growing
program, statements in its `main`. Each input reruns the whole program in a child; what earlier inputs printed is not
shown again. So an input that reads the time or random numbers gets other ones in the next run.
"""

import os
import re
import sys
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path

import click
from ktc import config as configs
from ktc.base.cache import Cache
from ktc.base.editions import ChosenEdition, Edition
from ktc.base.records import entity
from ktc.base.version import VERSION
from ktc.config import Options
from ktc.diag.diagnostic import CompileError, Diagnostic, Severity, Sink, in_order
from ktc.diag.policy import read_policy
from ktc.diag.render import render_text
from ktc.diag.source import Source
from ktc.driver import guard
from ktc.syntax import ast
from ktc.syntax.editions import EditionFinder
from ktc.syntax.parsing.parser import parse
from ktc.tools.options import edition_option

MARK = "\x1e\n"
_NAME = "<repl>.kpy"
_NOTHING = "__nothing__"
"""A function of each program that accepts what calls return that return nothing: such a call is a statement."""
_HELP = """Type declarations, statements or expressions; end a block with an empty line.
:reset  forget everything   :show  the program so far   :help  this   :quit  leave (or Ctrl-D)
"""
_DECLARES = re.compile(r"(?:async\s+)?(?:fn|def|struct|trait|alias|comptime|from|import)\b|@")


@entity
class Repl:
    """The program so far.

    Args:
        level: of optimisation.
        color: of messages.
        edition: of the inputs.
    """

    level: int
    color: bool
    edition: Edition = Edition.Y2025
    cache: Cache = field(default_factory=configs.open_cache)
    declared: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def take(self, text: str) -> str:
        """Compile and run one input; return what it wrote, or its errors. A good one becomes part of the program."""
        if _DECLARES.match(text):
            declared, tried = [*self.declared, text], [(list(self.done), "")]
        else:
            declared = self.declared
            given = text.strip()
            forms = (
                (f"{_NOTHING}({given})", f"print({given})", f"_ = {given}")
                if _is_expression(text, self.edition)
                else ()
            )
            tried = [(self.done, one) for one in (*forms, text)]
        problem = ""
        for done, statement in tried:
            problem, objects = self._compiled(_program(declared, done, statement, self.edition))
            if objects is None:
                continue
            self.declared = declared
            code, output = _run(objects)
            kept = _kept(statement)
            if kept and code == 0:
                self.done = [*done, kept]
            return output + (f"the program ended with code {code}\n" if code else "")
        return problem

    def _compiled(self, text: str) -> tuple[str, tuple[bytes, ...] | None]:
        from ktc.driver.pipeline import Session, compile_objects  # late: only for some commands

        sink, path = Sink(policy=read_policy(["none"])), Path(_NAME)
        config = configs.resolve(Options(path, level=self.level, edition=self.edition), sink, self.cache)
        if config is None:
            return render_text(sink.diagnostics, self.color), None
        source = Source(_NAME, text, edition=ChosenEdition(self.edition, "the prompt"))
        try:
            return "", compile_objects(Session(config, self.cache, sink, overlays={os.path.abspath(path): source}))
        except CompileError as error:
            wrong = [one for one in in_order(error.diagnostics) if one.severity is Severity.ERROR]
            return _errors(wrong, self.color), None


def _kept(statement: str) -> str:
    """Return the part of a statement that later inputs run again: no printing, but the calls in its arguments."""
    plain = statement.removeprefix(f"{_NOTHING}(")
    if not plain.startswith("print("):
        return statement
    inner = plain.removeprefix("print(")
    if "(" not in inner:
        return ""
    return statement if plain != statement else f"_ = {inner[:-1]}"


def _errors(wrong: list[Diagnostic], color: bool) -> str:
    text = render_text(wrong[:3], color)
    return re.sub(rf"(?m)^(\x1b\[1m)?{re.escape(_NAME)}:\d+:\d+: ?", r"\1", text)


def _program(declared: list[str], done: list[str], statement: str, edition: Edition) -> str:
    """Return the whole program; the mark separates the output of earlier lines from the new one."""
    body = [*done, f'print("{MARK[0]}", flush=True)', *([statement] if statement else [])]
    lines = [f"    {line}" if line.strip() else "" for one in body for line in one.split("\n")]
    own = f"def {_NOTHING}(value: NoneType):\n    pass"
    head = "def main():" if edition is Edition.Y2025 else "def main() raises:"
    return "\n\n".join((*declared, own)) + f"\n\n{head}\n" + "\n".join(lines) + "\n"


def _run(objects: tuple[bytes, ...]) -> tuple[int, str]:
    """Run the program; return its exit code and its output after the mark."""
    from ktc.emit import jit  # late: only for some commands

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.dup2(write, 1)
        os.dup2(write, 2)
        os._exit(jit.run(objects, (_NAME,)))
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(pid, 0)
    before, mark, after = text.partition(MARK)
    return os.waitstatus_to_exitcode(status), after if mark else before


def _is_expression(text: str, edition: Edition) -> bool:
    module = _parsed(f"pass\n{text}", edition)  # a string alone would be a docstring
    body = module.body[0] if module is not None else None
    inner = body.body if isinstance(body, ast.FunctionDecl) else None
    return inner is not None and len(inner) == 2 and isinstance(inner[1], ast.ExprStmt)


def _parsed(text: str, edition: Edition, sink: Sink | None = None) -> ast.Module | None:
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    source = Source(_NAME, f"def _f():\n{lines}\n", edition=ChosenEdition(edition, "the prompt"))
    return parse(source, sink or Sink(), configs.open_cache())


def is_complete(text: str, edition: Edition = Edition.Y2025) -> bool:
    """Return whether an input can be taken: blocks end with an empty line, brackets and strings are closed."""
    lines = text.split("\n")
    if not lines[-1].strip():
        return True
    opens = any(line.rstrip().endswith(":") for line in lines) or lines[0].startswith("@")
    if opens or text.rstrip().endswith("\\"):
        return False
    sink = Sink()
    if _parsed(text, edition, sink) is not None:
        return True
    return not any(one.code.id == "unclosed-bracket" for one in sink.diagnostics)


def _read(stream_is_terminal: bool, edition: Edition) -> str | None:
    """Read lines up to the end of an input; None at the end of all."""
    lines: list[str] = []
    while True:
        prompt = "... " if lines else ">>> "
        try:
            line = input(prompt if stream_is_terminal else "")
        except EOFError:
            return "\n".join(lines) if lines else None
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            lines = []
            continue
        lines.append(line)
        text = "\n".join(lines)
        if not text.strip():
            lines = []
        elif is_complete(text, edition):
            return text


@click.command("repl")
@click.option("-O", "--optimization-level", "level", type=click.IntRange(0, 3), default=0, show_default=True)
@edition_option
def repl_command(level: int, edition: Edition | None) -> int:
    """Start an interactive prompt, which compiles and runs each input.

    An input is a declaration, a statement, or an expression, whose value is printed. Kernels run on the first GPU, or
    on the CPU device. `:help` lists the commands. Without '--edition' the edition is that of a new file 'x.mojo' in
    this folder: the project file's, else 2026.
    """
    sink = Sink()
    chosen = EditionFinder(edition, {}, sink).of_main(Path.cwd() / "repl.mojo", "").edition
    if sink.diagnostics:
        click.echo(render_text(in_order(sink.diagnostics), configs.color_enabled(sys.stderr.isatty())), err=True)
        return 1
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):
            import readline  # noqa: F401  # late: only where it is installed
        click.echo(f"ktc {VERSION}, edition {chosen.value}; :help, :quit")
    repl = Repl(level, configs.color_enabled(sys.stdout.isatty()), chosen)
    while (text := _read(is_terminal, repl.edition)) is not None:
        match text.strip():
            case ":quit" | ":q":
                break
            case ":help":
                click.echo(_HELP, nl=False)
            case ":reset":
                repl = Repl(level, repl.color, repl.edition)
            case ":show":
                click.echo(_program(repl.declared, repl.done, "", repl.edition), nl=False)
            case _:
                said: list[str] = []
                crash = guard.Crash(repl.cache.folder, {"ktc": VERSION, "command": "repl", "stage": "repl"})
                guard.run(partial(_take, repl, text, said), partial(_same, crash))
                click.echo("".join(said), nl=False)
    return 0


def _same(crash: guard.Crash) -> guard.Crash:
    return crash


def _take(repl: Repl, text: str, said: list[str]) -> int:
    said.append(repl.take(text))
    return 0
