"""Targets whose code looks for the program's mistakes (`--check`), and the limits that launches are compared with.

Input: targets and the words after `--check`. Output: targets with `Target.checks`, and names for the library
(`sys.param_env`).
"""

from collections.abc import Sequence

from ktc.base.records import replace
from ktc.targets.cpu import BLOCKING_INTRINSICS
from ktc.targets.launch_limits import limits_of
from ktc.targets.target import Target

KINDS = ("bounds", "memory", "races", "threads", "arithmetic")
"""The checks unless the command line chooses: bounds, memory that was freed or never written, races, threads that do
not come together, and arithmetic."""
ON_REQUEST = ("leaks",)
"""Checks that must be named: a program may keep memory until it ends."""
REPLAY = "replay"
"""A launch that fails on a GPU runs again on the CPU device, with all the checks."""
MODES = ("keep-going", REPLAY)
"""Modes of checking, off unless they are named."""
GPUS = ("nvidia", "amd")
"""Vendors whose kernels can look at bounds."""

INLINE = ("bounds",)
"""Checks that kernels of the CPU device make in their own code, as loops over threads, if no others are requested."""

SUBSCRIPTS = frozenset(("__getitem__", "__setitem__"))
"""Methods of a program that a subscript calls: inlined, and the subscript is the place of their accesses."""
UNCHECKED = "ktc.unchecked"
"""The debug information of a function whose accesses are not looked at has this annotation."""
UNWATCHED_SHARED = "shared$ktc."
"""How the names of shared variables begin in which the library's lanes exchange words: no program sees them, and only
what is written there is looked at."""
REFERENCE = "ktc.reference"
"""An argument of a call that is the address of a value has this attribute, with the value's size."""

ENTRY = "threads"
"""`Target.entry`: a function that runs one thread; the library has the others run."""


def parse(text: str) -> tuple[str, ...] | str:
    """Return the checks that a text requests, or the first word that names none."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in (*KINDS, *ON_REQUEST, *MODES, "all"):
            return word
    chosen = [kind for kind in (*KINDS, *ON_REQUEST) if kind in words]
    if not chosen or "all" in words:
        chosen = [*KINDS, *(kind for kind in ON_REQUEST if kind in words)]
    return (*chosen, *(mode for mode in MODES if mode in words))


def runs_on_gpus(checks: tuple[str, ...]) -> bool:
    """Return whether kernels for GPUs look for anything, so that the program has them."""
    return checks == INLINE or REPLAY in checks


def checked(target: Target, checks: tuple[str, ...]) -> Target:
    """Return a target with checks in its code, on a GPU bounds; how faults are reported is not a matter of the code."""
    if target.vendor in GPUS:
        return replace(target, checks=INLINE)
    is_inline = checks == INLINE
    checks = tuple([one for one in checks if one in KINDS]) or checks
    if not checks or target.vendor != "cpu":
        return target
    if target.is_device and not is_inline:
        return replace(target, checks=checks, entry=ENTRY, blocking_intrinsics=frozenset())
    return replace(target, checks=checks)


def in_loops(target: Target) -> Target:
    """Return the target of the form of a checked kernel that is tried first: loops over threads."""
    return replace(target, entry="blocks", blocking_intrinsics=BLOCKING_INTRINSICS)


def defines(checks: Sequence[str], targets: Sequence[Target], is_json: bool) -> dict[str, str]:
    """Return the names that the library asks for."""
    if not checks:
        return {}
    found = {"KTC_CHECK": "1", **{f"KTC_CHECK_{word}": "1" for word in checks}}
    if tuple(checks) == INLINE:
        found["KTC_CHECK_INLINE"] = "1"
    compared = [target for target in targets if target.vendor != "cpu"] or targets
    found["KTC_CHECK_LIMITS"] = "".join([_limits(target) for target in compared])
    if is_json:
        found["KTC_CHECK_JSON"] = "1"
    return found


def _limits(target: Target) -> str:
    known = limits_of(target)
    numbers = (*known.grid, *known.block, known.block_threads, known.shared_bytes, known.static_shared_bytes)
    return f"{target.name}:{''.join([f'{number},' for number in numbers])};"
