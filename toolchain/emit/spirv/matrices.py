"""Kernels with matrix instructions, whose sub-groups have fewer lanes than the language's warps.

Input: an optimised module's text. Output: the same with the device's sub-groups; a warp is several of them, so lanes
and warps are counted by a thread's number in its block.
"""

import re

from ktc.targets.spirv import MATRIX, SUBGROUP_LANES
from ktc.targets.target import Target

EXTENSION = "SPV_INTEL_subgroup_matrix_multiply_accumulate"

_OF_WARP = re.compile(
    r"call [^\n]*@_Z\d+(?:sub_group_(?:ballot|shuffle)|__spirv_ControlBarrierjjj\(i32 (?:noundef )?3\b)"
)
_LANE = re.compile(r"(%[\w.]+) = (?:tail )?call [^\n@]*@_Z22get_sub_group_local_idv\(\)[^\n]*")
_WARP = re.compile(r"(%[\w.]+) = (?:tail )?call [^\n@]*@_Z16get_sub_group_idv\(\)[^\n]*")
_SIZE = re.compile(r"(!intel_reqd_sub_group_size (!\d+).*^\2 = !\{i32 )\d+", re.MULTILINE | re.DOTALL)


def has_matrices(text: str) -> bool:
    """Return whether a kernel has matrix instructions."""
    return f"@{MATRIX}" in text


def exchanges(text: str) -> bool:
    """Return whether a kernel with matrix instructions also wants sub-groups that are warps."""
    return has_matrices(text) and _OF_WARP.search(text) is not None


def with_sub_groups(text: str, target: Target) -> str:
    """Return a kernel with sub-groups as its matrix instructions need them.

    `%ktc.number` is the thread's number in its block: `text.py` makes it for every kernel that uses warps.
    """
    if not has_matrices(text):
        return text
    text = _LANE.sub(rf"\1 = and i32 %ktc.number, {SUBGROUP_LANES - 1}", text)
    text = _WARP.sub(rf"\1 = udiv i32 %ktc.number, {SUBGROUP_LANES}", text)
    return _SIZE.sub(rf"\g<1>{target.matrix_lanes}", text)
