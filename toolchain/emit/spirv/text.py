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

from ktc.emit.spirv.legal import legal
from ktc.emit.spirv.matrices import with_sub_groups
from ktc.targets.spirv import FINAL_LAYOUT, MAILBOX, SPACES
from ktc.targets.target import Target

HAS_MAILBOX, HAS_SHARED, HAS_SHAPE = 1, 2, 4
"""Bits that say which arguments follow the kernel's own, in this order."""

_STRING = re.compile(r'(c?"[^"]*")')
_POINTER = re.compile(r"(?<![\w.%@$])ptr(?: addrspace\((\d+)\))?(?![\w.$])")
_SPACE = re.compile(r"(?<!ptr )addrspace\((\d+)\)")
_SLOT = re.compile(r", addrspace\(5\)")
_SUFFIX = re.compile(r"(?<=\.)p(\d+)(?=\.|\()")
_SIZED = re.compile(r"^(@\S+) = external [^\n]*addrspace\(3\) global \[0 x i8\].*$", re.MULTILINE)
_MAIL = re.compile(rf"(%[\w.]+) = (?:tail )?call ptr addrspace\(1\) @{re.escape(MAILBOX)}\(\).*")
_TRAP = re.compile(r"(?:tail )?call void @llvm\.(?:trap|ubsantrap)\([^)]*\).*")
_EXPRESSION = re.compile(
    r"\b((?:getelementptr|addrspacecast|ptrtoint|ptrtoaddr|inttoptr|add|sub|xor|trunc|bitcast)(?: \w+)*) \("
)


_WARP = re.compile(
    r"call [^\n]*@_Z\d+"
    r"(?:__spirv_(?:Group|Subgroup)|\w*sub_group|\w*SubGroup|__spirv_ControlBarrierjjj\(i32 (?:noundef )?3\b)"
)
_THREAD = re.compile(r"(%[\w.]+) = (?:tail )?call [^\n@]*@_Z\d+get_local_(id|size)j\(i32 (?:noundef )?([012])\)[^\n]*")
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
    fails = _TRAP.search(text) is not None
    text = _TRAP.sub("store i32 1, ptr addrspace(1) %ktc.mail, align 4", text)
    text = re.sub(r"^  unreachable$", "  ret void", text, flags=re.MULTILINE)
    if not fails and not _MAIL.search(text):
        return text, False
    text = _MAIL.sub(r"\1 = getelementptr i8, ptr addrspace(1) %ktc.mail, i64 0", text)
    return _begun(text, "i64 %ktc.mailbox", ["%ktc.mail = inttoptr i64 %ktc.mailbox to ptr addrspace(1)"]), True


def _with_shared_argument(text: str) -> tuple[str, bool]:
    """Memory whose size a launch gives is an argument; expressions of its address are computed at the beginning."""
    names = _SIZED.findall(text)
    if not names:
        return text, False
    text = _SIZED.sub("", text)
    for name in names:
        text = re.sub(rf"{re.escape(name)}(?![\w.$])", "%ktc.shared", text)
    made: list[str] = []
    while found := _constant(text):
        start, end, instruction = found
        place = f"%ktc.place{len(made)}"
        made.append(f"{place} = {instruction}")
        whole = text[start:end]
        text = text.replace(whole, place)
    return _begun(text, "ptr addrspace(3) %ktc.shared", made), True


def _with_shape(text: str) -> tuple[str, bool]:
    """A kernel with warps computes a thread's place in its block from the thread's number and the block's shape."""
    if not _WARP.search(text):
        return text, False
    text = _THREAD.sub(r"\1 = add i64 %ktc.\2\3, 0", text)
    text = _begun(text, "i64 %ktc.shape", _SHAPE)
    if "@_Z12get_local_idj(i32)" not in text:
        text += _LOCAL_ID + "\n"
    return text, True


def _constant(text: str) -> tuple[int, int, str] | None:
    """Find an innermost constant expression of the argument: where it begins and ends, and its instruction."""
    for found in _EXPRESSION.finditer(text):
        body = _balanced(text, found.end())
        if "%ktc." in body and not _EXPRESSION.search(body):
            return found.start(), found.end() + len(body) + 1, f"{found[1]} {body}"
    return None


def _balanced(text: str, start: int) -> str:
    """Return what stands before the bracket that closes one before `start`."""
    depth, at = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start : at - 1]


def _begun(text: str, parameter: str, lines: list[str]) -> str:
    """Return the module with one more parameter of its kernel, and lines at the beginning of the kernel."""
    head = re.search(r"^define [^\n]*?spir_kernel void @[^(]+\(", text, re.MULTILINE)
    assert head is not None
    given = _balanced(text, head.end())
    after = text[head.end() + len(given) :]
    entry = re.search(r"^entry:[^\n]*\n|\{\n", after, re.MULTILINE)
    assert entry is not None
    label = re.compile(r"\{\n[\w.]+:[^\n]*\n").search(after)
    at = label.end() if label else entry.end()
    begun = after[:at] + "".join([f"  {line}\n" for line in lines]) + after[at:]
    return text[: head.end()] + ", ".join([part for part in (given, parameter) if part]) + begun


# ---- address spaces -----------------------------------------------------------------------------------------


def _renumbered(text: str) -> str:
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
    line = _SLOT.sub("", line)
    line = _SPACE.sub(lambda found: _space(int(found[1])), line)
    line = _POINTER.sub(lambda found: f"ptr {_space(int(found[1] or 0))}".rstrip(), line)
    if "@llvm." in line:
        line = _SUFFIX.sub(lambda found: f"p{SPACES[int(found[1])]}", line)
    return line


def _space(number: int) -> str:
    return f"addrspace({SPACES[number]})" if SPACES[number] else ""
