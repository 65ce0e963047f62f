"""Diagnostics of a source file, for an editor or `ktc check`.

Input: a path, and texts that stand for files. Output: diagnostics; LLVM is not loaded. A file without `main` is checked
as a module: all that can be said about it without a use of it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ktc import config as configs
from ktc.base.records import record, replace
from ktc.config import Options
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink, in_order
from ktc.diag.source import Source
from ktc.driver.front_end.stages import check, check_edited
from ktc.driver.session import Session
from ktc.syntax import ast
from ktc.syntax.loader import Package
from ktc.tools.testing.harness import module_of


@record
class Checked:
    """The result of a check.

    Args:
        package: the modules, None if the file does not parse.
    """

    diagnostics: tuple[Diagnostic, ...]
    package: Package | None


def check_file(
    options: Options, path: Path, sink: Sink, overlays: Mapping[str, Source] | None = None,
    observe: Callable[[Any, Any, Any], None] | None = None, edited_range: tuple[int, int] | None = None,
    tree: ast.Module | None = None,
) -> Checked:  # fmt: skip
    """Check one file.

    Args:
        options: of the build; `root` is that of the file.
        sink: an empty one, with the policy for warnings.
        observe: as `Session.observe`.
        edited_range: check only the declarations that touch these characters.
        tree: of the file's text, if that was parsed before.
    """
    cache = configs.open_cache()
    folder, dotted = module_of(path)
    is_inside = "." in dotted or path.stem == "__init__"
    search = (folder, *options.search) if is_inside else options.search
    config = configs.resolve(replace(options, root=path, search=search), sink, cache)
    if config is None:
        return Checked(tuple(sink.diagnostics), None)
    session = Session(config, cache, sink, overlays=dict(overlays or {}), observe=observe, tree=tree)
    name = dotted if is_inside else ""
    package = check(session, name) if edited_range is None else check_edited(session, edited_range, name)
    if package is not None and not _has_main(package.root):
        sink.withdraw(lambda one: one.code is Code.MISSING_MAIN)
    return Checked(tuple(in_order(sink.diagnostics)), package)


def _has_main(module: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDecl) and node.name == "main" for node in module.body)
