"""The command lines of linkers."""

import os
from collections.abc import Sequence
from pathlib import Path

from ktc.base.records import record
from ktc.emit.linking.tools import LinkTools
from ktc.targets.triples import LINUX, MACOS, WINDOWS


@record
class LinkOptions:
    """Options of a link: the kind of the output, its symbols and its libraries.

    Args:
        shared: a shared library instead of an executable.
        debug: symbols and debug information are kept.
        exported: the exported symbols of a library; None: all.
        soname: the name under which the system looks for a shared library, "" for its file's.
        version: the version of its symbols, "" for none.
        libraries: further libraries, by the names of `-l`, or paths; folders: searched for them first.
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

SYMBOL_LIST = "exported"
"""Name of the file that lists what a library shows."""


def symbol_list(tools: LinkTools, options: LinkOptions) -> str:
    """Return the list of visible symbols in the form of the system's linker."""
    names = options.exported or ()
    if tools.system == MACOS:
        return "".join(f"_{name}\n" for name in names)
    if tools.system == WINDOWS:
        return "EXPORTS\n" + "".join(f"    {name}\n" for name in names)
    listed = f"global: {'; '.join(names)}; " if names else ""
    return f"{options.version} {{ {listed}local: *; }};\n"


def bundle(objects: Sequence[bytes]) -> bytes:
    """Return objects as one static library, without an index, for `whole`."""
    made = [b"!<arch>\n"]
    for number, data in enumerate(objects):
        head = f"{f'{number}.o/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n"
        made += [head.encode(), data, b"\n" * (len(data) % 2)]
    return b"".join(made)


def whole(tools: LinkTools, name: str) -> list[str]:
    """Return the linker's inputs for all objects of a static library."""
    words = ["--whole-archive", name, "--no-whole-archive"]
    return words if tools.linker else [f"-Wl,{word}" if word.startswith("-") else word for word in words]


def command(tools: LinkTools, names: Sequence[str], result: str, options: LinkOptions) -> list[str]:
    """Return the command that links the files `names` to `result`, in their folder."""
    if options.is_joined:
        joined = [tools.linker] if tools.linker else [*tools.compiler, "-nostdlib"]
        return [*joined, "-r", "-o", result, *names]
    libraries = [f"-L{os.path.abspath(folder)}" for folder in options.folders]
    libraries += [_library(name) for name in options.libraries]
    if tools.linker:
        return _of_linker(tools, names, result, options, libraries)
    return _of_compiler(tools, names, result, options, libraries)


_FOLDING_LINKERS = ("ld.gold", "ld.lld")


def _of_linker(
    tools: LinkTools, names: Sequence[str], result: str, options: LinkOptions, libraries: list[str]
) -> list[str]:
    start, before, after = tools.start_files
    flags = ["--gc-sections", "--build-id=sha1", "--hash-style=gnu"]
    if not options.debug and Path(tools.linker).name in _FOLDING_LINKERS:
        flags.append("--icf=safe")  # one copy of functions with the same code whose addresses nobody compares
    flags += ["-z", "relro", "-z", "now", "-z", "noexecstack"]
    flags += ["--eh-frame-hdr"] if options.debug else ["-s"]
    flags += ["-shared", *_of_library(tools, options)] if options.shared else ["-pie", "-dynamic-linker", tools.loader]
    if options.libraries:
        usual = dict.fromkeys([str(Path(start).parent), *_USUAL_FOLDERS])
        libraries = [*libraries, *(f"-L{folder}" for folder in usual if Path(folder).is_dir())]
    inputs = [before, *names, *libraries, "--as-needed", *tools.libraries, after]
    return [tools.linker, *flags, "-o", result, *([] if options.shared else [start]), *inputs]


def _of_compiler(
    tools: LinkTools, names: Sequence[str], result: str, options: LinkOptions, libraries: list[str]
) -> list[str]:
    flags = list(_FLAGS[tools.system])
    flags += [] if options.debug else ["-s"]
    if options.shared:
        flags += ["-shared", *(f"-Wl,{','.join(words)}" for words in _pairs(_of_library(tools, options)))]
    elif tools.is_static:
        flags += ["-static"]
    return [*tools.compiler, *flags, "-o", result, *names, *libraries, *_MORE[tools.system]]


_FLAGS = {
    LINUX: ("-Wl,--gc-sections", "-Wl,--build-id=sha1", "-Wl,-z,relro,-z,now,-z,noexecstack"),
    MACOS: ("-Wl,-dead_strip",),
    WINDOWS: ("-Wl,--gc-sections",),
}
_MORE = {LINUX: ("-Wl,--as-needed", "-lm", "-lpthread", "-ldl"), MACOS: (), WINDOWS: ()}
"""Libraries that programs may need; parts of one C library on newer systems."""

_USUAL_FOLDERS = ("/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64")


def _library(name: str) -> str:
    """Return the linker's argument for a library: a path, or a name after `-l`."""
    return os.path.abspath(name) if os.sep in name or name.endswith((".so", ".a", ".o", ".dylib")) else f"-l{name}"


def _of_library(tools: LinkTools, options: LinkOptions) -> list[str]:
    """Return the options for the name of a shared library and for its visible symbols."""
    if tools.system == MACOS:
        named = ["-install_name", options.soname] if options.soname else []
        return [*named, *(["-exported_symbols_list", SYMBOL_LIST] if options.exported is not None else [])]
    if tools.system == WINDOWS:
        return []
    named = ["-soname", options.soname] if options.soname else []
    return [*named, *(["--version-script", SYMBOL_LIST] if options.exported is not None else [])]


def _pairs(words: list[str]) -> list[list[str]]:
    return [words[at : at + 2] for at in range(0, len(words), 2)]
