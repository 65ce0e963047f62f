"""The `.pc` file with which `pkg-config` describes a library.

Input: the library's file and what it was built with. Output: text; its prefix is the file's own folder.
"""

from collections.abc import Sequence
from pathlib import Path


def description(library: Path, version: str, libraries: Sequence[str], is_static: bool) -> str:
    """Return the text of NAME.pc, which lies beside the library.

    Args:
        libraries: what the library itself is linked with.
    """
    name = library.name.removeprefix("lib").split(".", maxsplit=1)[0]
    private = " ".join([f"-l{one}" for one in (*libraries, *(("m", "dl", "pthread") if is_static else ()))])
    lines = [
        "prefix=${pcfiledir}",
        "",
        f"Name: {name}",
        f"Description: {name}, compiled by ktc",
        f"Version: {version}",
        f"Libs: -L${{prefix}} -l{name}" if library.name.startswith("lib") else f"Libs: ${{prefix}}/{library.name}",
    ]
    lines += [f"Libs.private: {private}"] if private else []
    lines.append("Cflags: -I${prefix}")
    return "\n".join(lines) + "\n"
