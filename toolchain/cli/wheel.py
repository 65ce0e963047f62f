"""`ktc wheel`: a Python package with `.kpy` sources as a wheel.

Input: a folder. Output: an exit code; the wheel's path on standard output.
"""

import sys
from pathlib import Path

import click
from ktc import config as configs
from ktc.api.errors import CompileError
from ktc.api.wheels import ProjectError, make_wheel
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.render import render_text


@click.command("wheel")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option(
    "-o", "output", type=click.Path(path_type=Path), default=Path("dist"), help="Output folder (default dist)."
)
def wheel_command(folder: Path, output: Path) -> int:
    """Pack a Python package with .kpy sources into a wheel: FOLDER has its pyproject.toml."""
    try:
        click.echo(make_wheel(folder, output))
    except CompileError as error:
        sys.stderr.write(error.text)
        return 1
    except ProjectError as error:
        problem = Diagnostic(Code.FILE_ERROR, None, str(error))
        sys.stderr.write(render_text([problem], configs.color_enabled(sys.stderr.isatty())))
        return 1
    return 0
