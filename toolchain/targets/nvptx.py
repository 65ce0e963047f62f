"""NVIDIA GPUs through LLVM's NVPTX back end. The artefact is PTX text, which the driver compiles when it loads it.

`TARGETS` has every processor that ptxas 13 accepts. A PTX version asks for a driver of at least that age, so each
processor names the lowest version that has what stdlib/ uses there, not the newest.
"""

from ktc.targets.target import Target

LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""Source: LLVM 22, `NVPTXTargetMachine.cpp`."""

_STATIC_SHARED_BYTES = 48 << 10
"""ptxas refuses more than this without a launch-time request.
Source: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute Capability"."""

_PROCESSORS = (
    # name, PTX version, dynamic shared KiB a block, title, further names
    ("sm_75", 65, 64, "NVIDIA Turing (T4, RTX 20)", ("t4",)),
    ("sm_80", 74, 163, "NVIDIA Ampere (A100, A30)", ("a100", "cuda")),
    ("sm_86", 74, 99, "NVIDIA Ampere (A10, A40, RTX 30)", ("a10",)),
    ("sm_87", 74, 163, "NVIDIA Ampere (Jetson Orin)", ("orin",)),
    ("sm_88", 90, 99, "NVIDIA Ampere (sm_88)", ()),
    ("sm_89", 84, 99, "NVIDIA Ada (L4, L40, RTX 40)", ("l4",)),
    ("sm_90", 84, 227, "NVIDIA Hopper (H100, H200)", ()),
    ("sm_90a", 84, 227, "NVIDIA Hopper (H100, H200), wgmma", ("h100", "h200")),
    ("sm_100", 86, 227, "NVIDIA Blackwell (B100, B200)", ()),
    ("sm_100a", 86, 227, "NVIDIA Blackwell (B100, B200), tcgen05", ("b100", "b200")),
    ("sm_103", 88, 227, "NVIDIA Blackwell (B300)", ()),
    ("sm_103a", 88, 227, "NVIDIA Blackwell (B300), tcgen05", ("b300",)),
    ("sm_110", 90, 227, "NVIDIA Blackwell (Jetson Thor)", ()),
    ("sm_110a", 90, 227, "NVIDIA Blackwell (Jetson Thor), tcgen05", ("thor",)),
    ("sm_120", 87, 99, "NVIDIA Blackwell (RTX 50, RTX PRO 6000)", ("rtx5090",)),
    ("sm_120a", 87, 99, "NVIDIA Blackwell (RTX 50), block-scaled mma", ()),
    ("sm_121", 88, 99, "NVIDIA Blackwell (DGX Spark)", ("spark",)),
    ("sm_121a", 88, 99, "NVIDIA Blackwell (DGX Spark), block-scaled mma", ()),
)

# Their numbers alone (`nvidia:90`, `100`) name the target with its generation's instructions, as in the reference.
_IN_FULL = frozenset({"90", "100", "120"})

# Functions that the driver's own device library defines at load time.
_DRIVER_FUNCTIONS = frozenset({"vprintf", "__assertfail", "malloc", "free"})

_BOUNDS = {
    "threads": '"nvvm.maxntid"="{}"',
    "resident_blocks": '"nvvm.minctasm"="{}"',
    "registers": '"nvvm.maxnreg"="{}"',
    "cluster": '"nvvm.cluster_dim"="{}"',
}


def _numbers(number: str) -> tuple[str, ...]:
    """Return the names of a target that are made of its number."""
    spelled: tuple[str, ...] = () if number in _IN_FULL else (number,)
    if number.endswith("a") and number[:-1] in _IN_FULL:
        spelled = (number, number[:-1])
    return tuple(word for one in spelled for word in (f"nvidia:{one}", f"nvidia:sm_{one}", f"cuda:{one}", one))


def _target(name: str, ptx: int, shared_kib: int, title: str, further: tuple[str, ...]) -> Target:
    number = name.removeprefix("sm_")
    generation = int(number.rstrip("a"))
    cluster = "cluster" if generation >= 90 else "block"
    return Target(
        name=name,
        vendor="nvidia",
        triple="nvptx64-nvidia-cuda",
        data_layout=LAYOUT,
        cpu=name,
        features=f"+ptx{ptx}",
        spaces={0: 0, 1: 1, 3: 3, 4: 4, 5: 5},
        kernel_convention="ptx_kernel",
        bounded_kernel_attributes=_BOUNDS,
        scopes={"": "", "gpu": "device", "cluster": cluster, "block": "block", "warp": "block"},
        warp_lanes=32,
        shared_bytes=_STATIC_SHARED_BYTES,
        dynamic_shared_bytes=shared_kib << 10,
        artefact="ptx",
        value_argument='ptr byval({type}) align {align} "nvvm.grid_constant"',
        global_spaces=(1, 1),
        has_wide_casts=False,
        narrow_float8="llvm.nvvm.ff.to.{}.rn" if generation >= 89 else "",
        widen_float8="llvm.nvvm.{}.to.f16x2.rn" if generation >= 89 else "",
        saturating_cast="llvm.nvvm.{}2{}.rz",
        packs_narrow_only=True,
        atomics_are_relaxed=True,
        is_convergent=True,
        line_tables="DebugDirectivesOnly",  # with the other kinds NVIDIA's assembler does not optimise
        is_device=True,
        device_externals=_DRIVER_FUNCTIONS,
        title=title,
        aliases=(*_numbers(number), *further),
    )


NAMES = frozenset(row[0] for row in _PROCESSORS)
TARGETS = tuple(_target(*row) for row in _PROCESSORS)
