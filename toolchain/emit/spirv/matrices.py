"""Kernels with matrix instructions, whose sub-groups have fewer lanes than the language's warps.

Input: an optimised module's text. Output: the same with the device's sub-groups; a warp is several of them, so lanes
and warps are counted by a thread's number in its block.
"""

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.spirv.syntax import called, instruction
from ktc.targets.spirv import MATRIX, SUBGROUP_LANES
from ktc.targets.target import Target

EXTENSION = "SPV_INTEL_subgroup_matrix_multiply_accumulate"

_NUMBERS = {
    "get_sub_group_local_id": f"and i32 %ktc.number, {SUBGROUP_LANES - 1}",
    "get_sub_group_id": f"udiv i32 %ktc.number, {SUBGROUP_LANES}",
}
"""OpenCL's functions that say where a thread is: in its warp, and the warp in its block."""

_EXCHANGES = ("sub_group_ballot", "sub_group_shuffle")
_BARRIER, _OF_SUBGROUP = "__spirv_ControlBarrier", "3"
_SIZE = "!intel_reqd_sub_group_size "


def has_matrices(text: str) -> bool:
    """Return whether a kernel has matrix instructions."""
    return f"@{MATRIX}" in text


def exchanges(text: str) -> bool:
    """Return whether a kernel with matrix instructions also wants sub-groups that are warps."""
    return has_matrices(text) and any(map(_exchanges, text.splitlines()))


def with_sub_groups(text: str, target: Target) -> str:
    """Return a kernel with sub-groups as its matrix instructions need them.

    `%ktc.number` is the thread's number in its block: `text.py` makes it for every kernel that uses warps.
    """
    if not has_matrices(text):
        return text
    lines = text.splitlines()
    sizes = {line.partition(_SIZE)[2].split()[0] for line in lines if line.startswith("define ") and _SIZE in line}
    return "".join(f"{_rewritten(line, sizes, target)}\n" for line in lines)


def _rewritten(line: str, sizes: set[str], target: Target) -> str:
    """Return a line of a kernel with matrix instructions; `sizes` are the metadata that say a sub-group's size."""
    if line.split(" = ", 1)[0] in sizes:
        return f"{line.split(' = ', 1)[0]} = !{{i32 {target.matrix_lanes}}}"
    found = _opencl_call(line)
    if found is None or found[1] not in _NUMBERS:
        return line
    return f"  {found[0].name} = {_NUMBERS[found[1]]}"


def _exchanges(line: str) -> bool:
    """Return whether a line is a call in which the lanes of a warp exchange something or wait for each other."""
    match _opencl_call(line):
        case (_, name, [(_, scope), *_]) if name == _BARRIER:
            return scope == _OF_SUBGROUP
        case (_, name, _):
            return name.startswith(_EXCHANGES)
    return False


def _opencl_call(line: str) -> tuple[Instruction, str, list[tuple[str, str]]] | None:
    """Return a call of a function with a mangled name (`@_Z16get_sub_group_idv`): its name and arguments."""
    one = instruction(line) if "@_Z" in line else None
    if one is None or one.op != "call":
        return None
    _, function, arguments = called(one)
    mangled = function.removeprefix("@_Z")
    name = mangled.lstrip("0123456789")
    return one, name[: int(mangled[: len(mangled) - len(name)] or 0)], arguments
