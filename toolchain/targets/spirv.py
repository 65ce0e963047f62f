"""SPIR-V through LLVM's SPIR-V back end, for OpenCL: Intel's GPUs, and every device whose driver takes SPIR-V.

`TARGETS` has the generic target and Intel's generations. The driver makes machine code of all alike; the names differ
in facts (shared memory). LLVM has no pass for SPIR-V that finds the address space of a generic pointer,
so modules are optimised with the numbers of AMD's back end, which has one, and `emit/spirv` renumbers them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.targets.target import Target

TRIPLE = "spirv64v1.4-unknown-unknown"
"""SPIR-V 1.4: non-uniform group operations need 1.3."""

_VECTORS = "v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024"
LAYOUT = f"e-p5:64:64-i64:64-{_VECTORS}-n8:16:32:64-A5-G1"
"""Of modules before they are renumbered: stack slots are in space 5."""

FINAL_LAYOUT = f"e-i64:64-{_VECTORS}-n8:16:32:64-G1"
"""Source: LLVM 22, `SPIRVTargetMachine.cpp`."""

SPACES: Mapping[int, int] = MappingProxyType({0: 4, 1: 1, 3: 3, 4: 1, 5: 0})
"""The numbers in LLVM's SPIR-V by those before: generic, global, shared, constants (a generic pointer cannot point into
OpenCL's constant memory, so they are global), stack slots."""

SUBGROUP_LANES = 32
"""Every generation of Intel's GPUs since Xe has it, and Intel's processors. Kernels with matrix instructions have
sub-groups of as many lanes as these take; `emit/spirv/matrices.py` makes warps of several."""

_TARGETS = (
    # name, shared KiB a block, lanes of a matrix instruction, title, further names
    ("spirv", 32, 0, "SPIR-V 1.4 for OpenCL 3.0", ("opencl", "spirv64")),
    ("intel-xe-lpg", 64, 0, "Intel Xe-LPG (Meteor Lake, Arrow Lake)", ("intel:xe-lpg", "mtl", "arl")),
    ("intel-xe-hpg", 64, 8, "Intel Xe-HPG (Arc A-series, Flex)", ("intel:xe-hpg", "dg2", "acm")),
    ("intel-xe-hpc", 128, 16, "Intel Xe-HPC (Data Center GPU Max)", ("intel:xe-hpc", "pvc")),
    ("intel-xe2", 128, 16, "Intel Xe2 (Arc B-series, Lunar Lake)", ("intel:xe2", "bmg", "lnl")),
)
"""The least that OpenCL 3.0's full profile has; Intel's numbers from the compute runtime's hardware descriptions, the
lanes from the extension `cl_intel_subgroup_matrix_multiply_accumulate` (the least sub-group of a device)."""

_SCOPES = {"": "", "gpu": "device", "cluster": "device", "block": "workgroup", "warp": "subgroup"}
"""LLVM's names of SPIR-V's scopes."""

MAILBOX = "ktc.opencl.mailbox"
"""The function that gives the address of memory in which a kernel leaves texts and says that it failed: its first two
words of 32 bits are 1 after a failure, and the number of bytes that threads have taken, of which the third is the
most; the texts begin after the fourth."""

MATRIX = "_Z45__spirv_SubgroupMatrixMultiplyAccumulateINTEL"
"""The beginning of names of matrix instructions; the types of the arguments follow."""

EXTERNALS = frozenset(
    {
        *(
            f"{MATRIX}i{types}i"
            for types in (
                "Dv4_fDv8_fS0_",
                "Dv8_sDv8_iDv8_f",
                "Dv8_sDv8_iS0_",
                "Dv8_iS_Dv8_f",
                "Dv8_iS_S_",
            )
        ),
        "_Z22__spirv_ControlBarrierjjj",
        "_Z16sub_group_balloti",
        "_Z17sub_group_shufflejj",
    }
)
"""Built-in functions, by the names under which LLVM knows them."""


def _target(name: str, shared_kib: int, matrix_lanes: int, title: str, further: tuple[str, ...]) -> Target:
    return Target(
        name=name,
        vendor="opencl",
        triple=TRIPLE,
        data_layout=LAYOUT,
        cpu=name,
        features="",
        spaces={0: 0, 1: 1, 3: 3, 4: 4, 5: 5},
        alloca_space=5,
        kernel_convention="spir_kernel",
        scopes=_SCOPES,
        warp_lanes=SUBGROUP_LANES,
        matrix_lanes=matrix_lanes,
        shared_bytes=shared_kib << 10,
        dynamic_shared_bytes=shared_kib << 10,
        artefact="spirv",
        is_device=True,
        entry="words",
        value_argument="ptr addrspace(5) byval({type}) align {align}",
        value_space=5,
        global_spaces=(4, 1),
        has_recursion=False,
        has_wide_casts=False,
        has_vector_intrinsics=False,
        multiply_high="ktc.mul_hi.{}.i64",
        names_processor=False,
        is_convergent=True,
        is_inlined=True,
        device_externals=EXTERNALS,
        title=title,
        aliases=further,
    )


TARGETS = tuple(_target(*row) for row in _TARGETS)
