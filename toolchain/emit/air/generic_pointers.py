"""Generic pointers that a kernel loads, as what they are: AIR has no generic accesses.

Input and output: text of an optimised module, with the numbers of address spaces that AMD's back end has.

A pointer from a kernel's arguments or from global memory is a global one, for other memory is gone when a kernel has
ended. One from shared memory or from the stack is a global one where the kernel keeps addresses of nothing else.
"""

import re

_FROM_GLOBAL = re.compile(r"^(\s*)(%\S+) = load ptr, (ptr addrspace\([12]\) .*)$", re.MULTILINE)
_FROM_ANYWHERE = re.compile(r"^(\s*)(%\S+) = load ptr, (ptr .*)$", re.MULTILINE)
_OTHER_SPACE = re.compile(r"addrspacecast \(?ptr addrspace\((?!1\))\d+\)")
_LOCAL = r"%(?:[\w.$-]+|\"[^\"]*\")"
_PLACED = re.compile(rf"^\s*({_LOCAL}) = alloca ", re.MULTILINE)
_DERIVED = re.compile(rf"^\s*({_LOCAL}) = (?:getelementptr|phi ptr|select|freeze ptr) .*$", re.MULTILINE)
_KEPT = re.compile(
    rf"^\s*(?:store ptr ({_LOCAL}), .*|.* (?:insertelement|insertvalue|ptrtoint|atomicrmw xchg|cmpxchg) .*|"
    r".*\bcall (?!void @llvm\.).*)$",
    re.MULTILINE,
)


def as_global(text: str) -> str:
    """Return the module with loads of global pointers instead of generic ones; the same text where there are none."""
    loads = _FROM_ANYWHERE if _FROM_ANYWHERE.search(text) and not _keeps_other_addresses(text) else _FROM_GLOBAL
    return loads.sub(
        r"\1\2.global = load ptr addrspace(1), \3\n\1\2 = addrspacecast ptr addrspace(1) \2.global to ptr", text
    )


def _keeps_other_addresses(text: str) -> bool:
    """Return whether an address of shared memory or of the stack may be in memory."""
    if _OTHER_SPACE.search(text):
        return True
    places = {found[1] for found in _PLACED.finditer(text)}
    derived = list(_DERIVED.finditer(text))
    count = -1
    while places and count != len(places):
        count = len(places)
        places |= {found[1] for found in derived if places & set(re.findall(_LOCAL, found[0])[1:])}
    for found in _KEPT.finditer(text):
        names = {found[1]} if found[1] else set(re.findall(_LOCAL, found[0]))
        if places & names:
            return True
    return False
