"""Generic pointers that a kernel loads, as what they are: AIR has no generic accesses.

Input and output: text of an optimised module, with the numbers of address spaces that AMD's back end has.

A pointer from a kernel's arguments or from global memory is a global one, for other memory is gone when a kernel has
ended. One from shared memory or from the stack is a global one where the kernel keeps addresses of nothing else.
"""

import re
from collections.abc import Iterator

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import locals_in, named, spelled

_GLOBAL_SPACES = ("ptr addrspace(1)", "ptr addrspace(2)")
_OTHER_SPACE = re.compile(r"addrspacecast \(?ptr addrspace\((?!1\))\d+\)")
_DERIVING = ("getelementptr", "phi", "select", "freeze")
_KEEPING = ("insertelement", "insertvalue", "ptrtoint", "cmpxchg")


def as_global(text: str) -> str:
    """Return the module with loads of global pointers instead of generic ones; the same text where there are none."""
    if " = load ptr, " not in text:
        return text
    is_any = not _keeps_other_addresses(text)
    lines = text.split("\n")
    for at, line in enumerate(lines):
        one = Instruction(line) if " = load ptr, " in line else None
        if one is not None and one.op == "load" and (is_any or one.operands[0].type in _GLOBAL_SPACES):
            made = named(f"{spelled(one.name)}.global")
            place = one.rest.removeprefix("ptr, ")
            lines[at] = (
                f"  {made} = load ptr addrspace(1), {place}{one.attachments}\n"
                f"  {one.name} = addrspacecast ptr addrspace(1) {made} to ptr"
            )
    return "\n".join(lines)


def _keeps_other_addresses(text: str) -> bool:
    """Return whether an address of shared memory or of the stack may be in memory."""
    if _OTHER_SPACE.search(text):
        return True
    found = [one for function in Module(text).functions() for one in function.instructions()]
    places = {one.name for one in found if one.op == "alloca"}
    derived = [one for one in found if one.op in _DERIVING]
    count = -1
    while places and count != len(places):
        count = len(places)
        places |= {one.name for one in derived if not places.isdisjoint(one.uses)}
    return any(not places.isdisjoint(_kept(one)) for one in found)


def _kept(one: Instruction) -> Iterator[str]:
    """Give the values that an instruction may put into memory, or hand on to where that happens."""
    if one.op == "store" and one.operands[0].type == "ptr":
        yield one.values[0]
    elif one.op in _KEEPING or _is_exchange(one) or _is_handed_on(one):
        yield from locals_in(one.rest)


def _is_exchange(one: Instruction) -> bool:
    return one.op == "atomicrmw" and one.operation == "xchg"


def _is_handed_on(one: Instruction) -> bool:
    return one.op == "call" and not (one.type == "void" and one.callee.startswith("llvm."))
