"""Objects to one executable.

In: relocatable objects of the host. Out: the executable, which needs libc and nothing else. A linker is called
directly where there is one (7 ms with gold, against 31 through `cc`); no path and no time gets into the file.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ktc.base.records import record

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
    """What there is to link with on this machine; plain text, so it can be kept in a cache.

    Args:
        linker: a linker to call directly, or "".
        start_files: Scrt1.o, crti.o and crtn.o for it.
        libraries: what to give it as the C library.
        loader: the program interpreter's path.
        compiler: command of a compiler that can link, where `linker` is "".
    """

    linker: str = ""
    start_files: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    loader: str = ""
    compiler: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """How a person would call it; empty if there is nothing to link with."""
        return self.linker or " ".join(self.compiler)


@record
class Executable:
    """What was written."""

    path: Path
    size_bytes: int


@record
class LinkOptions:
    """What is to be made of objects.

    Args:
        shared: a shared library instead of an executable.
        debug: symbols and debug information are kept.
        exported: what others see of a library; None: all.
        soname: the name under which the system looks for a shared library, "" for its file's.
        version: the version of its symbols, "" for none.
        libraries: what else is linked, as `-l` names it, or paths; folders: where that is looked for first.
        is_joined: one object is made of several.
    """

    shared: bool = False
    debug: bool = False
    exported: tuple[str, ...] | None = None
    soname: str = ""
    version: str = ""
    libraries: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    is_joined: bool = False


EXECUTABLE = LinkOptions()

_MATH = ("-Wl,--as-needed", "-lm")


class LinkFailed(Exception):
    """The linker refused; `said` is what it wrote, `command` which one it was ("" if there is none)."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(command, said)
        self.command, self.said = command, said

    def __str__(self) -> str:
        return self.said


def find_link_tools(compiler: str = "", linker: str = "", search: str | None = None) -> LinkTools:
    """Look for a linker; starts `cc` once, if there is one, so keep the answer.

    Args:
        compiler, linker: commands that the user asked for; others are then not tried.
        search: a PATH; None for this process's.
    """
    found = next((path for name in _COMPILERS if (path := shutil.which(name, path=search))), "")
    if compiler:
        return LinkTools(compiler=tuple(compiler.split()))
    if sys.platform == "linux":
        wanted = (linker,) if linker else _LINKERS
        direct = next((path for name in wanted if (path := shutil.which(name, path=search))), "")
        files = _start_files(found) if direct else None
        loader = _LOADERS.get(os.uname().machine, "")
        if files and Path(loader).exists():
            return LinkTools(direct, files[:3], _libraries(Path(files[0]).parent, files[3]), loader)
    if found:
        return LinkTools(compiler=(found,))
    if find_spec("ziglang"):
        return LinkTools(compiler=(sys.executable, "-m", "ziglang", "cc"))
    return LinkTools()


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


def link(objects: Sequence[bytes], output: Path, tools: LinkTools, wanted: LinkOptions = EXECUTABLE) -> Executable:
    """Link `objects` into `output`, which appears whole or not at all.

    Raises:
        LinkFailed: the linker refused, or there is none.
        OSError: `output` cannot be written.
    """
    data = linked(objects, tools, wanted)
    install(data, output)
    return Executable(output, len(data))


def linked(objects: Sequence[bytes], tools: LinkTools, wanted: LinkOptions) -> bytes:
    """Return what the linker makes of objects.

    Raises:
        LinkFailed: the linker refused, or there is none.
    """
    if not tools.title:
        raise LinkFailed("", "no linker was found")
    with tempfile.TemporaryDirectory(prefix="ktc-link-") as folder:
        names = [f"{index}.o" for index in range(len(objects))]
        for name, data in zip(names, objects, strict=True):
            Path(folder, name).write_bytes(data)
        # Relative names: a linker that writes names of inputs writes the same ones everywhere.
        result = Path(folder, "linked")
        if wanted.exported is not None:
            Path(folder, _LIST).write_text(_exported(wanted))
        done = subprocess.run(
            _command(tools, names, result.name, wanted), cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
            raise LinkFailed(Path(tools.title.split()[0]).name, said)
        return result.read_bytes()


_LIST = "exported"


def _exported(wanted: LinkOptions) -> str:
    """Return the list of what is visible, as the system's linker takes it."""
    names = wanted.exported or ()
    if sys.platform == "darwin":
        return "".join(f"_{name}\n" for name in names)
    listed = f"global: {'; '.join(names)}; " if names else ""
    return f"{wanted.version} {{ {listed}local: *; }};\n"


def install(data: bytes, output: Path) -> None:
    """Write an executable file beside `output` and rename it into place; a device or a pipe is written to."""
    if output.exists() and not output.is_file():
        output.write_bytes(data)
        return
    handle, name = tempfile.mkstemp(prefix=f".{output.name[:40]}.", dir=output.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o777 & ~mask)
        os.replace(name, output)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _command(tools: LinkTools, names: Sequence[str], result: str, wanted: LinkOptions) -> list[str]:
    if wanted.is_joined:
        if tools.linker:
            return [tools.linker, "-r", "-o", result, *names]
        return [*tools.compiler, "-r", "-nostdlib", "-o", result, *names]
    libraries = [f"-L{os.path.abspath(folder)}" for folder in wanted.folders]
    libraries += [_library(name) for name in wanted.libraries]
    if tools.linker:
        start, before, after = tools.start_files
        flags = ["--gc-sections", "--build-id=sha1", "--hash-style=gnu"]
        flags += ["-z", "relro", "-z", "now", "-z", "noexecstack"]
        flags += [] if wanted.debug else ["-s"]
        flags += ["-shared", *_of_library(wanted)] if wanted.shared else ["-pie", "-dynamic-linker", tools.loader]
        if wanted.libraries:
            usual = dict.fromkeys([str(Path(start).parent), *_USUAL_FOLDERS])
            libraries += [f"-L{folder}" for folder in usual if Path(folder).is_dir()]
        inputs = [before, *names, *libraries, "--as-needed", *tools.libraries, after]
        return [tools.linker, *flags, "-o", result, *([] if wanted.shared else [start]), *inputs]
    if sys.platform == "darwin":
        flags = ["-Wl,-dead_strip"]
    else:
        flags = ["-Wl,--gc-sections", "-Wl,--build-id=sha1", "-Wl,-z,relro,-z,now,-z,noexecstack"]
    flags += [] if wanted.debug else ["-s"]
    flags += ["-shared"] if wanted.shared else []
    flags += [f"-Wl,{','.join(words)}" for words in _pairs(_of_library(wanted))] if wanted.shared else []
    return [*tools.compiler, *flags, "-o", result, *names, *libraries, *([] if sys.platform == "darwin" else _MATH)]


_USUAL_FOLDERS = ("/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64")


def _library(name: str) -> str:
    """Return the linker's argument for a library: a path, or a name after `-l`."""
    return os.path.abspath(name) if os.sep in name or name.endswith((".so", ".a", ".o", ".dylib")) else f"-l{name}"


def _of_library(wanted: LinkOptions) -> list[str]:
    """Return the options for the name of a shared library and for what it shows."""
    if sys.platform == "darwin":
        named = ["-install_name", wanted.soname] if wanted.soname else []
        return [*named, *(["-exported_symbols_list", _LIST] if wanted.exported is not None else [])]
    named = ["-soname", wanted.soname] if wanted.soname else []
    return [*named, *(["--version-script", _LIST] if wanted.exported is not None else [])]


def _pairs(words: list[str]) -> list[list[str]]:
    return [words[at : at + 2] for at in range(0, len(words), 2)]
