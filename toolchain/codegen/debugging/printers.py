"""The printers that gdb finds in an executable, and those that lldb is given by `ktc debug`."""

from ktc.config import stdlib_folder

_PYTHON_TEXT = 4
"""The kind of an entry of `.debug_gdb_scripts`: a name, and a script."""


def script(debugger: str) -> str:
    """Return the script for "gdb" or "lldb"."""
    folder = stdlib_folder() / "_debuggers"
    return "".join((folder / name).read_text("utf-8") for name in ("values.py", f"with_{debugger}.py"))


def section() -> str:
    """Return LLVM assembly for the section that gdb loads scripts from. It is not a part of the program's memory, and
    `strip` removes it with the other debug information."""
    text = script("gdb").encode("utf-8")
    lines = ['.pushsection .debug_gdb_scripts,"MS",@progbits,1', f".byte {_PYTHON_TEXT}", '.ascii "gdb.inlined.ktc\\n"']
    lines += [f'.ascii "{_escaped(line)}"' for line in text.splitlines(keepends=True)]
    return "\n".join([_assembly(line) for line in [*lines, ".byte 0", ".popsection"]])


def _escaped(line: bytes) -> str:
    return "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\{c:03o}" for c in line)


def _assembly(line: str) -> str:
    return 'module asm "' + line.replace("\\", "\\5C").replace('"', "\\22") + '"'
