"""`ktc package`: a folder of modules as one file that imports find.

Input: a folder with an `__init__`. Output: `NAME.kpypkg`, after all modules were checked; diagnostics and exit code 1
if there is an error.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
from ktc import config as configs
from ktc.base import package_files
from ktc.base.editions import Edition
from ktc.base.package_files import PackageFile
from ktc.base.version import VERSION
from ktc.cli import projects
from ktc.config import Options
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity, Sink
from ktc.diag.render import render_text
from ktc.driver import guard
from ktc.syntax.editions import SUFFIXES, EditionFinder
from ktc.tools.options import edition_option, search_option

_INIT = "__init__"


@click.command("package")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("-o", "output", type=click.Path(path_type=Path), help="The file to write (default ./NAME.kpypkg).")
@click.option("--package-version", "version", default="", metavar="VERSION", help="Version of the package.")
@search_option
@edition_option
def package_command(
    folder: Path | None, output: Path | None, version: str, search: tuple[Path, ...], edition: Edition | None
) -> int:
    """Write the package in FOLDER to one file.

    Its modules are checked first. Imports find the file like the folder: beside the program, in a folder of -I, or
    named by -I itself.
    """
    found: list[Diagnostic] = []
    options = Options(Path(), search=search, edition=edition)
    crash = guard.Crash(configs.open_cache().folder, {"ktc": VERSION, "command": "package", "stage": "check"})
    code = guard.run(
        partial(_work, projects.package_or_project(folder), output, version, options, found), lambda: crash
    )
    if found:
        sys.stderr.write(render_text(found, configs.color_enabled(sys.stderr.isatty())))
    return code or int(any(one.severity is Severity.ERROR for one in found))


def _work(
    folder: Path, output: Path | None, version: str, options: Options, found: list[Diagnostic]
) -> int:  # fmt: skip
    name = folder.resolve().name
    found += _wrong_folder(folder, name)
    if not found and output is not None and output.name != name + package_files.SUFFIX:
        text = f"the package is called '{name}', so its file is '{name}{package_files.SUFFIX}', not '{output.name}'"
        found.append(Diagnostic(Code.FILE_ERROR, None, text, "imports use the name of the file"))
    if found:
        return 1
    paths = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    docs = _checked(paths, folder, options, found)
    if any(one.severity is Severity.ERROR for one in found):
        return 1
    texts = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    first = next(path for path in paths if path.stem == _INIT and path.parent == folder)
    chosen = EditionFinder(options.edition, {}, Sink()).of_main(first, first.read_text("utf-8"))
    data = package_files.written(PackageFile(name, version, texts, docs, chosen.edition.value))
    target = output or Path(name + package_files.SUFFIX)
    try:
        target.write_bytes(data)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        found.append(Diagnostic(Code.FILE_ERROR, None, f"cannot write '{target}': {why}"))
        return 1
    return 0


def _wrong_folder(folder: Path, name: str) -> list[Diagnostic]:
    """Return the errors that keep a folder from being a package."""
    text = ""
    if not folder.is_dir():
        text = f"'{folder}' is not a folder"
    elif not any((folder / (_INIT + suffix)).is_file() for suffix in SUFFIXES):
        text = f"'{folder}' is not a package: it has no file '{_INIT}{SUFFIXES[0]}'"
    elif not name.isidentifier():
        text = f"'{name}' is not a valid name, so the package could not be imported"
    return [Diagnostic(Code.FILE_ERROR, None, text)] if text else []


def _checked(
    paths: Sequence[Path], folder: Path, options: Options, found: list[Diagnostic]
) -> dict[str, str]:  # fmt: skip
    """Check the modules; returns their docstrings."""
    from ktc.tools.checks.checking import check_file  # late: only for some commands

    docs: dict[str, str] = {}
    seen: set[tuple[object, ...]] = set()
    for path in paths:
        checked = check_file(options, path, Sink())
        for one in checked.diagnostics:
            key = (one.code, one.span.location() if one.span else "", one.message)
            if key not in seen:
                seen.add(key)
                found.append(one)
        if checked.package is not None:
            docs[path.relative_to(folder).as_posix()] = checked.package.root.doc
    return docs
