"""`python -m ktc.native`: compile ktc's own modules. Needs `pip install 'ktc[native]'` and a C compiler.

Input: the sources beside this package. Output: `native/made/` with compiled copies of the packages, and a stamp of
the sources they come from. The folder is built under another name and then renamed, so that ktc never loads half of it.
"""

import builtins
import compileall
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ktc.native import FOLDER, HOME, PACKAGES, folders, stamp
from ktc.native.match_expansion import without_matches
from ktc.native.record_expansion import written_out

INTERPRETED = frozenset((
    "diag/explain.py", "syntax/format.py", "elaborate/model/body_store.py", "syntax/parsing/parser.py",
    "syntax/parsing/tables.py", "syntax/building/base.py", "syntax/building/declarations.py",
    "syntax/building/structs.py", "syntax/building/expressions.py", "syntax/building/builder.py",
))  # fmt: skip
"""Modules that stay Python: mypyc knows no subclasses of picklers, functions as attributes of classes, classes inside
functions, or because it looks for files beside it."""

_OPTIONS = [] if os.name == "nt" else ["-fvisibility=hidden", "-w"]
"""All modules are one library, whose functions call each other directly, without symbol interposition. Looking for
warnings in generated code takes a fifth of the time."""

GROUP = "ktc.compiled"
"""The one shared library of all modules is called `compiled__mypyc`."""


def main() -> None:
    """Compile, and say how long it took."""
    if folders():
        print("ktc.native: ktc's own modules are compiled, of these sources", file=sys.stderr)
        return
    began, made_of = time.monotonic(), stamp()
    with tempfile.TemporaryDirectory(prefix="ktc-native-") as work:  # mypy refuses folders inside site-packages
        package = Path(work, "ktc")
        _copy(package)
        print("ktc.native: compiling ktc's own modules, which takes two minutes or so", file=sys.stderr, flush=True)
        # in a process of its own, which finds the copy under the name of the package
        words = [sys.executable, "-P", __file__, "inside"]
        done = subprocess.run(words, cwd=work, env={**os.environ, "MYPYPATH": work}, check=False, **_QUIET)
        if done.returncode:
            sys.exit(f"{done.stdout[-4000:]}\nktc.native: nothing was compiled, so ktc runs as Python, as before")
        for name in os.listdir(package):
            if name not in PACKAGES and not name.startswith("compiled"):
                shutil.rmtree(package / name) if (package / name).is_dir() else os.remove(package / name)
        for path in (path for name in PACKAGES for path in (package / name).rglob("*.so")):
            path.with_name(f"{path.name.partition('.')[0]}.py").unlink()
        (package / "stamp.txt").write_text(made_of, encoding="utf-8")
        beside = f"{FOLDER}-{os.getpid()}"
        shutil.copytree(package, beside)
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.rename(beside, FOLDER)
        compileall.compile_dir(FOLDER, quiet=2)
    print(f"ktc.native: done in {time.monotonic() - began:.0f} s", file=sys.stderr)


_QUIET: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def _copy(package: Path) -> None:
    """Copy the package, with its records and matches written out in what is compiled."""
    shutil.copytree(HOME, package, ignore=shutil.ignore_patterns("__pycache__", "made", "grammar", "stdlib"))
    for name in PACKAGES:
        for path in (package / name).rglob("*.py"):
            module = path.relative_to(package)
            if module.as_posix() not in INTERPRETED and path.stem != "__init__":
                means = partial(_meaning, importlib.import_module(".".join(("ktc", *module.with_suffix("").parts))))
                text = without_matches(path.read_text(encoding="utf-8"), means)
                path.write_text(written_out(text, _source), encoding="utf-8")


def _source(module: str) -> str:
    """Return the text of a module of ktc; nothing for others."""
    path = Path(HOME, *module.split(".")[1:]).with_suffix(".py")
    return path.read_text(encoding="utf-8") if module.startswith("ktc.") and path.is_file() else ""


def _meaning(module: Any, name: str) -> Any:
    """Return the meaning of a name (perhaps with dots) in a module, or None."""
    found = None
    for at, part in enumerate(name.split(".")):
        found = getattr(found, part, None) if at else getattr(module, part, getattr(builtins, part, None))
    return found


def _inside() -> None:
    """In the folder with the copy: make C of it, compile that on all cores, and link."""
    build = importlib.import_module("mypyc.build")
    compilers = importlib.import_module("setuptools._distutils.ccompiler")
    customize = importlib.import_module("setuptools._distutils.sysconfig").customize_compiler
    files = [str(path) for name in PACKAGES for path in sorted(Path("ktc", name).rglob("*.py"))]
    chosen = [name for name in files if name.split("/", 1)[1] not in INTERPRETED and not name.endswith("__init__.py")]
    level = os.environ.get("MYPYC_OPT_LEVEL", "2")  # the variable that mypy's own build reads
    modules = build.mypycify(
        ["--config-file=", *chosen], opt_level=level, debug_level="0", multi_file=True, group_name=GROUP
    )
    compiler = compilers.new_compiler()
    customize(compiler)
    suffix = importlib.import_module("sysconfig").get_config_var("EXT_SUFFIX")
    include = importlib.import_module("sysconfig").get_path("include")
    works = [(module, source) for module in modules for source in module.sources]

    def compiled(work: Any) -> list[str]:
        module, source = work
        folders = [*module.include_dirs, include, "build/ktc"]
        return list(
            compiler.compile(
                [source], "objects", include_dirs=folders, extra_postargs=module.extra_compile_args + _OPTIONS
            )
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, works))
    for module in modules:
        own = [name for (of, _), names in zip(works, objects, strict=True) if of is module for name in names]
        compiler.link_shared_object(own, module.name.replace(".", "/") + suffix)


if __name__ == "__main__":
    _inside() if sys.argv[1:] == ["inside"] else main()
