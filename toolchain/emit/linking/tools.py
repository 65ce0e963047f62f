"""Linkers and compilers that can link, for this machine and for others.

For this machine a linker is called directly where there is one (7 ms with gold, against 31 through `cc`). For another
machine a compiler that brings the system's libraries does it: a cross compiler of that name, or zig.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ktc.base.records import record
from ktc.targets.triples import LINUX, MACOS, WINDOWS, Triple, of_this_machine, parsed

_LINKERS = ("ld.gold", "ld.lld", "ld")
"""Fastest first. mold is not here: it starts threads for a file of a few kilobytes."""

_COMPILERS = ("cc", "gcc", "clang")

_START_FILES = ("Scrt1.o", "crti.o", "crtn.o")

_LOADERS = {
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
    "aarch64": "/lib/ld-linux-aarch64.so.1",
    "riscv64": "/lib/ld-linux-riscv64-lp64d.so.1",
}
"""Source: glibc, `shlib-versions` and the processors' ABI supplements."""


@record
class LinkTools:
    """The linker, or the compiler in its place, with its files; plain text, so it can be kept in a cache.

    Args:
        linker: a linker to call directly, or "".
        start_files: Scrt1.o, crti.o and crtn.o for it.
        libraries: its arguments for the C library.
        loader: the program interpreter's path.
        compiler: command of a compiler that can link, where `linker` is "".
        system: the system of the output: `linux`, `macos` or `windows`.
        is_static: the C library becomes part of executables.
    """

    linker: str = ""
    start_files: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    loader: str = ""
    compiler: tuple[str, ...] = ()
    system: str = LINUX
    is_static: bool = False

    @property
    def title(self) -> str:
        """How a person would call it; empty if there is nothing to link with."""
        return self.linker or " ".join(self.compiler)

    @property
    def name(self) -> str:
        """The program that links, for messages."""
        command = [self.linker] if self.linker else self.compiler
        return "zig" if "ziglang" in command else Path(command[0]).name


def find_link_tools(triple: str = "", compiler: str = "", linker: str = "", search: str | None = None) -> LinkTools:
    """Look for a linker; may start a compiler once to ask for its files.

    Args:
        triple: where the result runs, "" for this machine.
        compiler, linker: commands that the user asked for; others are then not tried.
        search: a PATH; None for this process's.
    """
    here = of_this_machine()
    target = parsed(triple) if triple else here
    if target != here:
        return _for_another(target, search)
    if compiler:
        return LinkTools(compiler=tuple(compiler.split()), system=here.system)
    found = next((path for name in _COMPILERS if (path := shutil.which(name, path=search))), "")
    if here.system == LINUX:
        choice = (linker,) if linker else _LINKERS
        direct = next((path for name in choice if (path := shutil.which(name, path=search))), "")
        files = _start_files(found) if direct else None
        loader = _LOADERS.get(here.architecture, "")
        if files and Path(loader).exists():
            return LinkTools(direct, files[:3], _libraries(Path(files[0]).parent, files[3]), loader)
    if found:
        return LinkTools(compiler=(found,), system=here.system)
    return LinkTools(compiler=_zig(search), system=here.system)


def _for_another(machine: Triple, search: str | None) -> LinkTools:
    """Return a cross compiler, such as `aarch64-linux-gnu-gcc`, or zig, which brings the libraries of all systems."""
    is_static = machine.environment.startswith("musl")
    for name in _cross_compilers(machine):
        if path := shutil.which(name, path=search):
            return LinkTools(compiler=(path,), system=machine.system, is_static=is_static)
    zig, called = _zig(search), zig_triple(machine)
    if not zig or not called:
        return LinkTools(system=machine.system)
    return LinkTools(compiler=(*zig, "-target", called), system=machine.system, is_static=is_static)


def how_to_link(triple: str) -> str:
    """Return a hint: the package to install where nothing links for a machine."""
    machine = parsed(triple)
    if machine == of_this_machine():
        return "install a C compiler ('cc'), or 'pip install ziglang'"
    choices = [f"'{name}'" for name in _cross_compilers(machine)]
    choices += ["zig: pip install 'ktc[cross]'"] if zig_triple(machine) else []
    return f"install {' or '.join(choices)}" if choices else "'ktc build --emit object' makes an object for it"


def _cross_compilers(machine: Triple) -> tuple[str, ...]:
    """Return the names that distributions give to compilers for a machine."""
    if machine.system == LINUX:
        name = f"{machine.architecture}-linux-{machine.environment}-gcc"
        is_musl_here = machine.environment == "musl" and machine.architecture == of_this_machine().architecture
        return (name, "musl-gcc") if is_musl_here else (name,)
    if machine.system == WINDOWS and machine.environment == "gnu":
        return (f"{machine.architecture}-w64-mingw32-gcc",)
    return ()


def zig_triple(machine: Triple) -> str:
    """Return zig's name of a machine, "" if it has none."""
    if machine.system == MACOS:
        return f"{machine.architecture}-macos"
    if machine.system and machine.environment:
        return f"{machine.architecture}-{machine.system}-{machine.environment}"
    return ""


def _zig(search: str | None) -> tuple[str, ...]:
    """Return the command of zig's C compiler: an installed one, or that of the package `ziglang`."""
    if path := shutil.which("zig", path=search):
        return (path, "cc")
    return (sys.executable, "-m", "ziglang", "cc") if find_spec("ziglang") else ()


def _start_files(compiler: str) -> tuple[str, ...] | None:
    """Return the start files and libc.so.6 by their paths, or None if one is missing."""
    names = (*_START_FILES, "libc.so.6")
    found = _from_usual_folders(names)
    if found is None and compiler:
        asked = [_ask(compiler, name) for name in names]
        found = tuple(path for path in asked if path)
    return found if found and len(found) == len(names) else None


def _from_usual_folders(names: Sequence[str]) -> tuple[str, ...] | None:
    machine = os.uname().machine
    folders = (f"/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/lib", f"/lib/{machine}-linux-gnu", "/lib64")
    for folder in folders:
        if all(Path(folder, name).exists() for name in names[:3]):
            libc = next((path for base in (folder, *folders) if (path := Path(base, names[3])).exists()), None)
            if libc:
                return tuple(str(path) for path in (*(Path(folder, name) for name in names[:3]), libc))
    return None


def _libraries(folder: Path, libc: str) -> tuple[str, ...]:
    """Return libc and its other parts, which are linked only if a program needs them.

    These are what is only linked statically, what glibc before 2.34 kept apart, and `fma` for a processor without one.
    """
    apart = [folder / "libc_nonshared.a"]
    apart += [Path(libc).with_name(name) for name in ("libpthread.so.0", "libdl.so.2", "libm.so.6")]
    return (libc, *(str(path) for path in apart if path.exists()))


def _ask(compiler: str, name: str) -> str:
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    return os.path.realpath(path) if os.path.isabs(path) else ""
