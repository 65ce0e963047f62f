"""LLVM text with the numbers of AMD's address spaces to the text that LLVM's SPIR-V back end takes.

Input: an optimised module as LLVM prints it, all of it one kernel. Output: text with SPIR-V's layout and address
spaces, and what the launcher must pass after the kernel's own arguments.

OpenCL has neither shared memory whose size a launch gives, but as an argument, nor a way for a kernel to end with an
error. The kernel gets arguments for both: the address of the mailbox (`MAILBOX`), in which it leaves what it prints and
that it failed, and the address of shared memory.

OpenCL does not say which threads make up a sub-group where a block has several rows, and drivers keep to one row. A
kernel that uses warps is launched with blocks of one row, and gets their shape as an argument.
"""

import re
from typing import NamedTuple

from ktc.emit.llvm_text.functions import signature
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import innermost_expression, renamed, respaced
from ktc.emit.spirv.legal import legal
from ktc.emit.spirv.matrices import with_sub_groups
from ktc.emit.spirv.syntax import instruction
from ktc.targets.spirv import FINAL_LAYOUT, MAILBOX, SPACES
from ktc.targets.target import Target

HAS_MAILBOX, HAS_SHARED, HAS_SHAPE = 1, 2, 4
"""Bits that say which arguments follow the kernel's own, in this order."""

_SLOT = ", addrspace(5)"
_SHARED_SPACE = 3
_TRAPS = ("llvm.trap", "llvm.ubsantrap")
_AMD_ATTRIBUTE = re.compile(r' "amdgpu-[^"]*"(?:="[^"]*")?')

_WARP = re.compile(r"_Z\d+(?:__spirv_(?:Group|Subgroup)|\w*sub_group|\w*SubGroup)")
_BARRIER, _OF_WARP = re.compile(r"_Z\d+__spirv_ControlBarrierjjj"), "3"
_THREAD = re.compile(r"_Z\d+get_local_(id|size)j")
_LOCAL_ID = "declare i64 @_Z12get_local_idj(i32)"
_SHAPE = """\
%ktc.size0 = and i64 %ktc.shape, 65535
%ktc.high = lshr i64 %ktc.shape, 16
%ktc.size1 = and i64 %ktc.high, 65535
%ktc.size2 = lshr i64 %ktc.shape, 32
%ktc.thread = call i64 @_Z12get_local_idj(i32 0)
%ktc.number = trunc i64 %ktc.thread to i32
%ktc.columns = trunc i64 %ktc.size0 to i32
%ktc.rows = trunc i64 %ktc.size1 to i32
%ktc.column = urem i32 %ktc.number, %ktc.columns
%ktc.line = udiv i32 %ktc.number, %ktc.columns
%ktc.row = urem i32 %ktc.line, %ktc.rows
%ktc.layer = udiv i32 %ktc.line, %ktc.rows
%ktc.id0 = zext i32 %ktc.column to i64
%ktc.id1 = zext i32 %ktc.row to i64
%ktc.id2 = zext i32 %ktc.layer to i64""".splitlines()


class Kernel(NamedTuple):
    """A kernel's module, and which arguments follow its own."""

    text: str
    arguments: int


def for_spirv(text: str, target: Target) -> Kernel:
    """Return the module with SPIR-V's numbers of address spaces."""
    text, posts = _with_mailbox(text)
    text, is_sized = _with_shared_argument(text)
    text, has_warps = _with_shape(text)
    text = with_sub_groups(text, target)
    return Kernel(_renumbered(legal(text)), HAS_MAILBOX * posts + HAS_SHARED * is_sized + HAS_SHAPE * has_warps)


# ---- further arguments --------------------------------------------------------------------------------------


def _with_mailbox(text: str) -> tuple[str, bool]:
    """A kernel that fails says so in the mailbox, and returns."""
    lines, posts = text.split("\n"), False
    for at, line in enumerate(lines):
        if "@llvm.trap(" in line or "@llvm.ubsantrap(" in line or f"@{MAILBOX}(" in line:
            one = instruction(line)
            if one is not None and one.callee in _TRAPS:
                lines[at] = "  store i32 1, ptr addrspace(1) %ktc.mail, align 4"
                posts = True
            elif one is not None and one.callee == MAILBOX:
                lines[at] = f"  {one.name} = getelementptr i8, ptr addrspace(1) %ktc.mail, i64 0"
                posts = True
        elif line == "  unreachable":
            lines[at] = "  ret void"
    text = "\n".join(lines)
    if not posts:
        return text, False
    return _begun(text, "i64 %ktc.mailbox", ["%ktc.mail = inttoptr i64 %ktc.mailbox to ptr addrspace(1)"]), True


def _with_shared_argument(text: str) -> tuple[str, bool]:
    """Memory whose size a launch gives is an argument; expressions of its address are computed at the beginning."""
    module = Module(text)
    sized = {
        one.name for one in module.globals()
        if one.space == _SHARED_SPACE and one.type == "[0 x i8]" and "external" in one.words.split()
    }  # fmt: skip
    if not sized:
        return text, False
    module.entities = [one for one in module.entities if one.partition(" = ")[0] not in sized]
    text = renamed(module.text(), dict.fromkeys(sized, "%ktc.shared"))
    made: list[str] = []
    while found := innermost_expression(text, "%ktc."):
        whole, computed = found
        place = f"%ktc.place{len(made)}"
        made.append(f"{place} = {computed}")
        text = text.replace(whole, place)
    return _begun(text, "ptr addrspace(3) %ktc.shared", made), True


def _with_shape(text: str) -> tuple[str, bool]:
    """A kernel with warps computes a thread's place in its block from the thread's number and the block's shape."""
    lines = text.split("\n")
    calls = {at: one for at, line in enumerate(lines) if "@_Z" in line and (one := instruction(line)) is not None}
    if not any(_is_of_warp(one) for one in calls.values()):
        return text, False
    for at, one in calls.items():
        found = _THREAD.fullmatch(one.callee)
        if found is not None:
            lines[at] = f"  {one.name} = add i64 %ktc.{found[1]}{one.values[0]}, 0"
    text = _begun("\n".join(lines), "i64 %ktc.shape", _SHAPE)
    if _LOCAL_ID.removeprefix("declare i64 ") not in text:
        text += _LOCAL_ID + "\n"
    return text, True


def _is_of_warp(one: Instruction) -> bool:
    """Return whether an instruction is a call in which the lanes of a warp take part."""
    if _WARP.match(one.callee):
        return True
    return _BARRIER.match(one.callee) is not None and one.values[0] == _OF_WARP


def _begun(text: str, parameter: str, lines: list[str]) -> str:
    """Return the module with one more parameter of its kernel, and lines at the beginning of the kernel."""
    module = Module(text)
    at, head = next((at, head) for at, head in module.definitions() if "spir_kernel void " in head)
    read = signature(head)
    module.entities[at] = module.entities[at].replace(head, read.with_parameters(parameter), 1)
    module.begin(read.symbol, [f"  {line}" for line in lines])
    return module.text()


# ---- address spaces -----------------------------------------------------------------------------------------


def _renumbered(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if line.startswith("target datalayout"):
            line = f'target datalayout = "{FINAL_LAYOUT}"'
        elif line.startswith("attributes "):
            line = _AMD_ATTRIBUTE.sub("", line)
        elif "ptr" in line or "addrspace" in line:
            line = respaced(line.replace(_SLOT, ""), SPACES.__getitem__)
        lines.append(line)
    return "\n".join(lines) + "\n"
