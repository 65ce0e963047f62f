"""Limits of launches: the most blocks, threads and bytes of shared memory that drivers take.

Input: a target. Output: `Limits`. Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability"; HIP's `hipDeviceProp_t` of gfx9 to gfx12; Metal Feature Set Tables.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.base.records import record
from ktc.targets.target import Target

_MANY = 0x7FFFFFFF
_GRIDS: Mapping[str, tuple[tuple[int, int, int], tuple[int, int, int]]] = MappingProxyType(
    {
        "nvidia": ((_MANY, 65_535, 65_535), (1024, 1024, 64)),
        "amd": ((_MANY, 65_535, 65_535), (1024, 1024, 1024)),
        "opencl": ((_MANY, _MANY, _MANY), (1024, 1024, 1024)),
        "apple": ((_MANY, _MANY, _MANY), (1024, 1024, 1024)),
        "cpu": ((_MANY, _MANY, _MANY), (1024, 1024, 1024)),
    }
)
"""The most blocks of a grid and the most threads of a block in x, y and z."""
_CLUSTER_BLOCKS = 16
_CPU_SHARED_BYTES = 1 << 20


@record
class Limits:
    """The limits of one target.

    Args:
        name: of the target.
        grid, block: the most blocks, and the most threads of a block, in x, y and z.
        block_threads: the most threads of a block. shared_bytes: the most shared memory of a block.
        static_shared_bytes: the most of it that a kernel may declare itself.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    block_threads: int
    shared_bytes: int
    static_shared_bytes: int

    def of(self, dimension: str) -> tuple[int, int, int]:
        """Return the limits of `grid_dim`, `block_dim` or `cluster_dim`."""
        if dimension == "grid_dim":
            return self.grid
        return self.block if dimension == "block_dim" else (_CLUSTER_BLOCKS,) * 3


def limits_of(target: Target) -> Limits:
    """Return a target's limits."""
    grid, block = _GRIDS[target.vendor]
    shared = max(target.shared_bytes, target.dynamic_shared_bytes) or _MANY
    if target.vendor == "cpu":
        # A kernel's arrays lie on the stack of the thread that runs its block.
        return Limits(target.name, grid, block, target.max_block_threads, _CPU_SHARED_BYTES, _MANY)
    static = target.shared_bytes or shared
    return Limits(target.name, grid, block, target.max_block_threads, shared, min(static, shared))
