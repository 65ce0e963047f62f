"""Whether LLVM may have put accesses of one thread into a wrong order when it made vectors of a loop over threads.

Input: an optimised kernel of the CPU device. Loops over threads say that their turns do not depend on each other; LLVM
22 then looks for no dependences inside of a turn either, and moves the accesses of an interleaved group (`a[4 * i]`,
`a[4 * i + 1]`, …) to one place, a load past a store to the same element. Where a kernel has such groups and reads what
it writes, it is to be compiled without them.
"""

import re

from ktc.emit.llvm_text.functions import Function
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import GLOBAL, LOCAL

_GROUPS = ("strided.vec", "interleaved.vec")
"""LLVM's names for the parts of a group."""
_NAME = re.compile(f"{LOCAL}|{GLOBAL}")
_PASSING = ("getelementptr", "addrspacecast", "freeze", "select", "phi")
_MASKED_LOADS = ("llvm.masked.load.", "llvm.masked.gather.")
_MASKED_STORES = ("llvm.masked.store.", "llvm.masked.scatter.")


def is_doubtful(text: str) -> bool:
    """Return whether a kernel with interleaved groups in loops over threads reads memory that it writes."""
    if not any(name in text for name in _GROUPS):
        return False
    module = Module(text)
    for at, _ in module.definitions():
        if any(name in module.entities[at] for name in _GROUPS) and _reads_what_it_writes(module.at(at)):
            return True
    return False


def _reads_what_it_writes(function: Function) -> bool:
    defined = {one.name: one for one in function.instructions() if one.name}
    loaded, stored = set[str](), set[str]()
    for one in function.instructions():
        if one.op == "load" or one.callee.startswith(_MASKED_LOADS):
            loaded.add(_root(defined, _name(one.values[0]), 0))
        elif one.op == "store" or one.callee.startswith(_MASKED_STORES):
            stored.add(_root(defined, _name(one.values[1]), 0))
    own = {name for name, one in defined.items() if one.op == "alloca"}
    loaded, stored = loaded - own, stored - own
    return bool(loaded & stored) or ("" in loaded and bool(stored)) or ("" in stored and bool(loaded))


def _name(value: str) -> str:
    """Return the name that a value is or is computed from, "" for none."""
    found = _NAME.search(value)
    return found[0] if found else ""


def _root(defined: dict[str, Instruction], name: str, depth: int) -> str:
    """Return the base of an address: an argument, a loaded pointer, memory of the function; "" if there are several."""
    while depth < 64:
        one = defined.get(name)
        if one is None or one.op not in _PASSING:
            return "" if one is not None and one.op == "inttoptr" else name
        pointers = [value for kind, value, _ in one.operands if kind == "ptr" or one.op == "phi"]
        if one.op == "getelementptr" and not pointers:
            pointers = [one.values[0]]  # a vector of them
        found = list(dict.fromkeys(named for value in pointers if (named := _name(value))))
        if len(found) != 1:
            roots = {_root(defined, one, depth + 16) for one in found}
            return roots.pop() if len(roots) == 1 else ""
        name, depth = found[0], depth + 1
    return ""
