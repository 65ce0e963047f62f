"""The options of `ktc build` for libraries, and the files that lie beside one.

Input: words of the command line, and what a build exports. Output: a header, a file for pkg-config.
"""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from ktc.base import unpickling
from ktc.base.records import record
from ktc.cli.task import Task
from ktc.config import LIBRARIES, Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic
from ktc.ir.exports import Exports


@record
class SideFiles:
    """The files written beside a library."""

    header: Path | None
    pkg_config: Path | None
    version: str

    def check(self, config: Config) -> None:
        """Refuse files that only libraries have.

        Raises:
            CompileError: the build makes no library.
        """
        given: dict[str, object] = {"--header": self.header, "--pkg-config": self.pkg_config}
        given |= {"--soname": config.soname, "--symbol-version": config.symbol_version}
        kinds = (*LIBRARIES, "object")
        found = [name for name, value in given.items() if value]
        if found and config.emit not in kinds:
            text = f"{found[0]} is for libraries, and the build makes an executable"
            help = "say what it should make: --emit shared-lib, static-lib or object"
            raise CompileError((Diagnostic(Code.UNSUPPORTED, None, text, help),))

    def write(self, config: Config, exports: Exports) -> None:
        """Write the files."""
        if config.emit == "python-extension":
            from ktc.interop.python_stubs import stub  # late: only with some options

            path = config.output.with_name(config.output.name.partition(".")[0] + ".pyi")
            path.write_text(stub(exports), "utf-8")
        if self.header is not None:
            from ktc.interop.c_header import header  # late: only with some options

            self.header.write_text(header(exports, self.header.stem), "utf-8")
        if self.pkg_config is not None:
            from ktc.interop.pkg_config import description  # late: only with some options

            is_static = config.emit == "static-lib"
            text = description(config.output, self.version, config.libraries, is_static)
            self.pkg_config.write_text(text, "utf-8")


def library_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of libraries."""
    decorators = [
        click.option("--header", type=click.Path(path_type=Path), help="Write a C header of a library's exports."),
        click.option("--soname", default="", metavar="NAME", help="Soname of a shared library."),
        click.option("--symbol-version", default="", metavar="NAME", help="Version of a shared library's symbols."),
        click.option("--pkg-config", type=click.Path(path_type=Path), help="Write a file for pkg-config."),
        click.option("--library-version", default="0", metavar="VERSION", help="The version for pkg-config."),
    ]
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def keep_exports(task: Task, config: Config, exports: Exports) -> None:
    """Store a library's exports in the cache, beside the library."""
    if exports.functions:
        task.keep(config, f"{config.emit} exports", pickle.dumps(exports))


def kept_exports(task: Task, config: Config) -> Exports | None:
    """Return a library's exports from the cache; None if they are not there."""
    data = task.kept(config, f"{config.emit} exports")
    found = unpickling.loads(data) if data else None
    return found if isinstance(found, Exports) else None
