"""The processor as a device: kernels compiled for the host, a block's threads as loops or coroutines.

In: the host's target. Out: the target `cpu`. Its ids are no intrinsics: the launcher passes them as trailing i32
arguments, in the order of `system_values`.
"""

from ktc.base.records import replace
from ktc.diag.diagnostic import Bug
from ktc.targets.host import host_target
from ktc.targets.target import Target

_IDS = ("thread_idx", "block_idx", "block_dim", "grid_dim")

LANE_SLOT, WARP_SLOT = 12, 13
"""Slots of the thread's number within its warp and of the warp's within the block."""

SYSTEM_VALUES = {
    f"ktc.cpu.{name}.{dimension}": 3 * group + index
    for group, name in enumerate(_IDS)
    for index, dimension in enumerate("xyz")
} | {"ktc.cpu.lane": LANE_SLOT, "ktc.cpu.warp": WARP_SLOT}

WAIT_FOR_BLOCK, WAIT_FOR_WARP = "ktc.cpu.wait.block", "ktc.cpu.wait.warp"
"""Barriers of the block's threads and of a warp's lanes."""

EXCHANGE, EXCHANGED = "ktc.cpu.exchange", "ktc.cpu.exchanged"
"""Gives the warp's other lanes a word (i32) and waits for theirs; the result (i32) names this exchange. With that, a
lane's number and another word, the second returns the word of that lane, or the other word if it took no part."""

WARP_LANES = 32
"""As on the GPUs that most kernels are written for."""

THREAD_FORMS = ("auto", "loops", "coroutines")
"""How the threads of a block are run: as loops over the threads between their barriers, or each as a coroutine; "auto"
makes coroutines only of kernels that cannot be cut, and where a debugger is to follow one thread."""

SHARED_BYTES = 1 << 20


def cpu_target(host: Target | None = None) -> Target:
    """Return the processor of `host` (by default this machine's) as a device."""
    base = host or host_target()
    if base is None:
        raise Bug("this machine's processor is not one that ktc can compile for", "targets")
    return replace(
        base, name="cpu", is_device=True, artefact="native", warp_lanes=WARP_LANES, shared_bytes=SHARED_BYTES,
        dynamic_shared_bytes=SHARED_BYTES, entry="blocks", value_argument="ptr", system_values=SYSTEM_VALUES,
        waits=frozenset((WAIT_FOR_BLOCK, WAIT_FOR_WARP, EXCHANGE, EXCHANGED)), has_recursion=True,
        title=f"the processor ({base.cpu or 'generic'})", aliases=(),
    )  # fmt: skip
