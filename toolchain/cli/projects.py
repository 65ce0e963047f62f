"""Commands without a file: the programs, folders and tests of the project around the working folder.

Input: the words of a command line. Output: paths. An entry point's name stands for its file.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from ktc import config as configs
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.render import render_json, render_text

if TYPE_CHECKING:
    from ktc.config.project import Project

_MAKES_ONE = "a project has a pyproject.toml with a table [tool.ktc]; 'ktc new NAME' makes one"


class WrongProject(click.ClickException):
    """The project file has a mistake; it is shown as mistakes of programs are."""

    exit_code = 1

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
        context = click.get_current_context(silent=True)
        self.as_json = context is not None and context.params.get("diagnostic_format") == "json"

    def show(self, file: IO[str] | None = None) -> None:
        """Write the diagnostic to standard error, in the format that the command was given."""
        one, color = [self.diagnostic], configs.color_enabled(sys.stderr.isatty())
        (file or sys.stderr).write(render_json(one) if self.as_json else render_text(one, color))


def project_here() -> "Project | None":
    """Return the project around the working folder.

    Raises:
        WrongProject: its file has a mistake.
    """
    file = configs.project_file(Path())
    if file is None:
        return None
    from ktc.config.project import BadProject, read  # late: only in a project

    try:
        return read(file)
    except BadProject as error:
        raise WrongProject(error.diagnostic) from error


def program(file: str | None) -> str:
    """Return the path of a command's FILE: where it names nothing, that of the project's only entry point.

    Raises:
        click.UsageError: there is no project, or it has several entry points or none.
    """
    if file is not None:
        return str(_entry_points(True).get(file, file))
    found = _entry_points()
    if len(found) > 1:
        raise click.UsageError(f"the project has several programs: name one of {', '.join(sorted(found))}")
    return str(*found.values())


def programs(file: str | None) -> Mapping[str, str]:
    """Return the files of the programs to build by the path of the output: "" is the usual one.

    Raises:
        click.UsageError: no file is named, and there is no project, or it has no program.
    """
    if file is not None and os.path.exists(file):
        return {"": file}
    chosen = _entry_points(file is not None)
    if file is not None:
        if file not in chosen:
            return {"": file}
        chosen = {file: chosen[file]}
    project = project_here()
    assert project is not None
    return {str(project.folder / name): str(path) for name, path in chosen.items()}


def _entry_points(may_lack: bool = False) -> Mapping[str, Path]:
    project = project_here()
    if may_lack and (project is None or not project.entry_points):
        return {}
    if project is None:
        raise click.UsageError(f"Missing argument 'FILE', and there is no project here: {_MAKES_ONE}.")
    if not project.entry_points:
        raise click.UsageError(
            f"Missing argument 'FILE': the project '{project.name}' has no 'main.mojo', and its project file no "
            "'entry-points'."
        )
    return project.entry_points


def paths_or_project(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths of a command; where it names none, the folder of the project.

    Raises:
        click.UsageError: there is no project.
    """
    if paths:
        return tuple(paths)
    project = project_here()
    if project is None:
        raise click.UsageError(f"Missing argument 'PATHS', and there is no project here: {_MAKES_ONE}.")
    return (project.folder,)


def tests_or_project(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths of `ktc test`: those named, those of the project, or the working folder."""
    if paths:
        return tuple(paths)
    project = project_here()
    return (project.tests or (project.folder,)) if project is not None else (Path(),)


def targets_or_project(accelerators: str | None) -> str | None:
    """Return the targets of a command, those of the project if it names none; None: what this machine has."""
    if accelerators is not None:
        return accelerators
    project = project_here()
    return ",".join(project.targets) or None if project is not None else None


def package_or_project(folder: Path | None) -> Path:
    """Return the folder of a package: where none is named, the only one of the project.

    Raises:
        click.UsageError: there is no project, or not exactly one package in it.
    """
    if folder is not None:
        return folder
    (root,) = paths_or_project(())
    project = project_here()
    assert project is not None
    found = sorted({
        file.parent for around in (root, *project.include) for suffix in configs.SUFFIXES
        for file in around.glob(f"*/__init__{suffix}")
    })  # fmt: skip
    if len(found) != 1:
        names = ", ".join(str(one) for one in found) or "none"
        raise click.UsageError(f"Missing argument 'FOLDER': of the project's packages ({names}) name one.")
    return found[0]
