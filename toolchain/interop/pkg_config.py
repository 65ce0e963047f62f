"""The `.pc` file with which `pkg-config` describes a library.

Input: the library's file and what it was built with. Output: text; its prefix is the file's own folder.
"""

import re
from collections.abc import Sequence
from pathlib import Path


def description(library: Path, version: str, libraries: Sequence[str], is_static: bool) -> str:
    """Return the text of NAME.pc, which lies beside the library.

    Args:
        libraries: the libraries that the library itself is linked with.
    """
    name = library.name.removeprefix("lib").split(".", maxsplit=1)[0]
    written, file, shown = _quoted(name), _quoted(library.name), " ".join(name.split()).replace("$", "$$")
    private = " ".join([f"-l{_quoted(one)}" for one in (*libraries, *(("m", "dl", "pthread") if is_static else ()))])
    lines = [
        "prefix=${pcfiledir}",
        "",
        f"Name: {shown}",
        f"Description: {shown}, compiled by ktc",
        f"Version: {version}",
        f"Libs: -L${{prefix}} -l{written}" if library.name.startswith("lib") else f"Libs: ${{prefix}}/{file}",
    ]
    lines += [f"Libs.private: {private}"] if private else []
    lines.append("Cflags: -I${prefix}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    """Return a name in which neither pkg-config nor the shell that gets its flags reads anything but characters."""
    plain = " ".join(name.split())
    return re.sub(r"[^\w.+/@%:=,-]", lambda found: "\\" + ("$$" if found[0] == "$" else found[0]), plain)
