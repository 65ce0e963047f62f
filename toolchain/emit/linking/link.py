"""Objects to one executable or library.

Input: relocatable objects of the host. Output: a file that appears whole or not at all.
No path and no time gets into it.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ktc.base.records import record
from ktc.emit.linking.commands import EXECUTABLE, SYMBOL_LIST, LinkOptions, bundle, command, symbol_list, whole
from ktc.emit.linking.tools import LinkTools
from ktc.targets.triples import LINUX, WINDOWS

_MANY = 4
_BUNDLE = "objects.a"


@record
class Executable:
    """A file that a build has written, and its size."""

    path: Path
    size_bytes: int


class LinkFailed(Exception):
    """The linker refused; `said` is what it wrote, `command` which one it was ("" if there is none)."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(command, said)
        self.command, self.said = command, said

    def __str__(self) -> str:
        return self.said


def link(objects: Sequence[bytes], output: Path, tools: LinkTools, options: LinkOptions = EXECUTABLE) -> Executable:
    """Link `objects` into `output`, which appears whole or not at all.

    Raises:
        LinkFailed: the linker refused, or there is none.
        OSError: `output` cannot be written.
    """
    data = run_linker(objects, tools, options)
    install(data, output)
    return Executable(output, len(data))


def run_linker(objects: Sequence[bytes], tools: LinkTools, options: LinkOptions) -> bytes:
    """Return the file that the linker makes of objects: an executable, a library, or one relocatable object.

    Raises:
        LinkFailed: the linker refused, or there is none.
    """
    if not tools.title:
        raise LinkFailed("", "no linker was found")
    with tempfile.TemporaryDirectory(prefix="ktc-link-") as folder:
        names = _written(objects, Path(folder), tools)
        # Relative names: a linker that writes names of inputs writes the same ones everywhere.
        result = Path(folder, "linked.exe" if tools.system == WINDOWS else "linked")
        if options.exported is not None:
            Path(folder, SYMBOL_LIST).write_text(symbol_list(tools, options))
        done = subprocess.run(
            command(tools, names, result.name, options), cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
            raise LinkFailed(tools.name, said)
        return result.read_bytes()


def _written(objects: Sequence[bytes], folder: Path, tools: LinkTools) -> list[str]:
    """Write the linker's inputs into a folder, many objects as one file; return how its command line names them."""
    is_bundled = tools.system == LINUX and len(objects) >= _MANY
    files = {_BUNDLE: bundle(objects)} if is_bundled else {f"{index}.o": data for index, data in enumerate(objects)}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return whole(tools, _BUNDLE) if is_bundled else list(files)


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
