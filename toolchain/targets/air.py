"""Apple GPUs: AIR, which is LLVM IR with Apple's triple, layout and metadata. LLVM has no back end for it.

`TARGETS` has the generations of the M series. AIR has no intrinsics for ids: a kernel that wants one declares a
further parameter with a metadata name; `SYSTEM_ARGUMENTS` gives that name by slot.
"""

from ktc.base.records import record
from ktc.targets.target import Target

LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32"
    "-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
"""Source: Apple's own metallibs, macOS 12 to 26."""

_VECTORS = (
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_threadgroup",
    "threadgroups_per_grid",
)
_SCALARS = ("thread_index_in_simdgroup", "simdgroup_index_in_threadgroup", "threads_per_simdgroup")

SYSTEM_ARGUMENTS: tuple[tuple[str, int], ...] = (
    *((f"air.{name}", dimension) for name in _VECTORS for dimension in range(3)),
    *((f"air.{name}", -1) for name in _SCALARS),
)
"""By slot: the metadata's name and which of the three dimensions, -1 for a scalar."""

SYSTEM_VALUES = {
    f"llvm.{name}.{'xyz'[dimension]}" if dimension >= 0 else f"llvm.{name}": slot
    for slot, (name, dimension) in enumerate(SYSTEM_ARGUMENTS)
}


@record
class Versions:
    """The versions that belong together, each (major, minor, patch).

    Source: Metal.jl, `version.jl`; checked on Apple's own metallibs.
    """

    system: tuple[int, int, int]
    air: tuple[int, int, int]
    metal: tuple[int, int, int]
    container: tuple[int, int, int]


_MACOS_15 = Versions((15, 0, 0), (2, 7, 0), (3, 2, 0), (1, 2, 8))
_MACOS_26 = Versions((26, 0, 0), (2, 8, 0), (4, 0, 0), (1, 2, 9))

# The fifth generation was first shipped with macOS 26. Older versions load on newer systems.
_GENERATIONS = ((1, _MACOS_15), (2, _MACOS_15), (3, _MACOS_15), (4, _MACOS_15), (5, _MACOS_26))

_BY_TRIPLE = {"air64-apple-macosx15.0.0": _MACOS_15, "air64_v28-apple-macosx26.0.0": _MACOS_26}


def versions(target: Target) -> Versions:
    """Return the versions of AIR, Metal and the container that `target` is compiled for."""
    return _BY_TRIPLE[target.triple]


def _target(generation: int, versions: Versions) -> Target:
    (triple,) = (triple for triple, row in _BY_TRIPLE.items() if row is versions)
    name = f"apple-m{generation}"
    return Target(
        name=name,
        vendor="apple",
        triple=triple,
        data_layout=LAYOUT,
        cpu=name,
        features="",
        spaces={0: 0, 1: 1, 3: 3, 4: 2, 5: 0},
        scopes={"": "", "gpu": "", "cluster": "", "block": "", "warp": ""},
        warp_lanes=32,
        shared_bytes=32 << 10,
        dynamic_shared_bytes=32 << 10,
        artefact="metallib",
        value_argument="ptr addrspace(2)",
        is_device=True,
        entry="metadata",
        system_values=SYSTEM_VALUES,
        global_spaces=(4, 1),
        has_wide_casts=False,
        has_vector_intrinsics=False,
        multiply_high="air.mul_hi.{}.i64",
        names_processor=False,
        is_convergent=True,
        has_f64=False,
        has_recursion=False,
        title=f"Apple M{generation} (macOS {versions.system[0]}, Metal {versions.metal[0]}.{versions.metal[1]})",
        aliases=(f"m{generation}", f"metal:{generation}", f"apple:m{generation}"),
    )


TARGETS = tuple(_target(generation, versions) for generation, versions in _GENERATIONS)
