"""The processor as a device: kernels compiled for the host, a block's threads as loops or coroutines.

In: the host's target. Out: the target `cpu`. Its ids are no intrinsics: the launcher passes them as trailing i32
arguments, in the order of `system_values`.
"""

from ktc.diag.diagnostic import Bug
from ktc.records import replace
from ktc.targets.host import host_target
from ktc.targets.target import Target

_IDS = ("thread_idx", "block_idx", "block_dim", "grid_dim")

SYSTEM_VALUES = {
    f"ktc.cpu.{name}.{dimension}": 3 * group + index
    for group, name in enumerate(_IDS)
    for index, dimension in enumerate("xyz")
}

WAIT_FOR_BLOCK, WAIT_FOR_WARP, WARP_RECORD = "ktc.cpu.wait.block", "ktc.cpu.wait.warp", "ktc.cpu.warp"
"""A barrier of the block's threads, one of a warp's, and the address of the memory that a warp's lanes share."""

WARP_LANES = 32
"""As on the GPUs that most kernels are written for; a warp is 32 coroutines of one task."""

SHARED_BYTES = 1 << 20


def cpu_target(host: Target | None = None) -> Target:
    """Return the processor of `host` (by default this machine's) as a device."""
    base = host or host_target()
    if base is None:
        raise Bug("this machine's processor is not one that ktc can compile for", "targets")
    return replace(
        base, name="cpu", is_device=True, artefact="native", warp_lanes=WARP_LANES, shared_bytes=SHARED_BYTES,
        dynamic_shared_bytes=SHARED_BYTES, entry="blocks", value_argument="ptr", system_values=SYSTEM_VALUES,
        waits=frozenset((WAIT_FOR_BLOCK, WAIT_FOR_WARP, WARP_RECORD)), has_recursion=True,
        title=f"the processor ({base.cpu or 'generic'})", aliases=(),
    )  # fmt: skip
