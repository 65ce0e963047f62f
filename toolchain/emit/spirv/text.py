"""LLVM text with the numbers of AMD's address spaces to the text that LLVM's SPIR-V back end takes.

In: an optimised module as LLVM prints it, all of it one kernel. Out: text with SPIR-V's layout and address spaces.
"""

import re

from ktc.targets.spirv import FINAL_LAYOUT, SPACES

_STRING = re.compile(r'(c?"[^"]*")')
_POINTER = re.compile(r"(?<![\w.%@$])ptr(?: addrspace\((\d+)\))?(?![\w.$])")
_SPACE = re.compile(r"(?<!ptr )addrspace\((\d+)\)")
_SUFFIX = re.compile(r"(?<=\.)p(\d+)(?=\.|\()")


def renumbered(text: str) -> str:
    """Return the module with SPIR-V's numbers of address spaces."""
    lines = []
    for line in text.splitlines():
        if line.startswith("target datalayout"):
            line = f'target datalayout = "{FINAL_LAYOUT}"'
        elif line.startswith("attributes "):
            line = re.sub(r' "amdgpu-[^"]*"(?:="[^"]*")?', "", line)
        elif "ptr" in line or "addrspace" in line:
            line = "".join([part if part[-1:] == '"' else _spaces(part) for part in _STRING.split(line)])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _spaces(line: str) -> str:
    line = _SPACE.sub(lambda found: _space(int(found[1])), line)
    line = _POINTER.sub(lambda found: f"ptr {_space(int(found[1] or 0))}".rstrip(), line)
    if "@llvm." in line:
        line = _SUFFIX.sub(lambda found: f"p{SPACES[int(found[1])]}", line)
    return line


def _space(number: int) -> str:
    return f"addrspace({SPACES[number]})" if SPACES[number] else ""
