"""Whether LLVM may have put accesses of one thread into a wrong order when it made vectors of a loop over threads.

Input: an optimised kernel of the CPU device. Loops over threads say that their turns do not depend on each other; LLVM
22 then looks for no dependences inside of a turn either, and moves the accesses of an interleaved group (`a[4 * i]`,
`a[4 * i + 1]`, …) to one place, a load past a store to the same element. Where a kernel has such groups and reads what
it writes, it is to be compiled without them.
"""

import re

_GROUPS = ("strided.vec", "interleaved.vec")
"""What LLVM calls the parts of a group."""
_DEFINED = re.compile(
    r"^  (%[-\w$.\"]+) = (getelementptr|select|phi|alloca|load|inttoptr|addrspacecast|freeze)\b(.*)$", re.MULTILINE
)
_POINTER = re.compile(r"ptr (?:nonnull |align \d+ |captures\(none\) )*([%@][-\w$.\"]+)")
_PLACE = r"(<\d+ x ptr>|ptr)[^%@\n]*([%@][-\w$.\"]+)"
_LOADED = re.compile(r" = (?:tail )?(?:load [^\n]*?, |call [^\n]*@llvm\.masked\.(?:load|gather)[^(\n]*\()" + _PLACE)
_STORED = re.compile(
    r"^  (?:store |(?:tail )?call void @llvm\.masked\.(?:store|scatter)[^(\n]*\()[^\n]*?, " + _PLACE, re.MULTILINE
)


def is_doubtful(text: str) -> bool:
    """Return whether a kernel with interleaved groups in loops over threads reads memory that it writes."""
    if not any(name in text for name in _GROUPS):
        return False
    for function in text.split("\ndefine ")[1:]:
        body = function[: function.index("\n}")] if "\n}" in function else function
        if any(name in body for name in _GROUPS) and _reads_what_it_writes(body):
            return True
    return False


def _reads_what_it_writes(body: str) -> bool:
    defined = {name: (op, rest) for name, op, rest in _DEFINED.findall(body)}
    loaded = {_root(defined, name, 0) for _, name in _LOADED.findall(body)}
    stored = {_root(defined, name, 0) for _, name in _STORED.findall(body)}
    own = {name for name, (op, _) in defined.items() if op == "alloca"}
    loaded, stored = loaded - own, stored - own
    return bool(loaded & stored) or ("" in loaded and bool(stored)) or ("" in stored and bool(loaded))


def _root(defined: dict[str, tuple[str, str]], name: str, depth: int) -> str:
    """Return what an address is computed from: an argument, a loaded pointer, memory of the function; "" if several."""
    while depth < 64:
        op, rest = defined.get(name, ("", ""))
        if op not in ("getelementptr", "addrspacecast", "freeze", "select", "phi"):
            return "" if op == "inttoptr" else name
        found = list(dict.fromkeys(_POINTER.findall(rest)))
        if op == "phi":
            found = list(dict.fromkeys(re.findall(r"\[ ([%@][-\w$.\"]+),", rest)))
        if op == "getelementptr" and not found:
            found = re.findall(r"<\d+ x ptr> ([%@][-\w$.\"]+)", rest)[:1]
        if len(found) != 1:
            roots = {_root(defined, one, depth + 16) for one in found}
            return roots.pop() if len(roots) == 1 else ""
        name, depth = found[0], depth + 1
    return ""
