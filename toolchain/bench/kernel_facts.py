"""Facts from a kernel's code: registers, spills, memory, instructions, and how many blocks fit.

Input: the text of a kernel and what ptxas says of it, or an AMD code object's metadata. Output: `KernelFacts`.
"""

import re
from collections.abc import Mapping
from dataclasses import field

from ktc.base.records import record
from ktc.targets.target import Target

BLOCK_SIZES = (64, 128, 256, 512, 1024)

_KINDS = (
    ("matrix", r"^(?:wgmma|mma|wmma|tcgen05|v_(?:mfma|wmma|smfmac))"),
    ("barrier", r"^(?:bar|barrier|membar|fence|mbarrier|s_barrier|s_waitcnt|buffer_(?:wb|inv|gl))"),
    ("atomic", r"^(?:atom|red)\b|_atomic"),
    ("global load", r"^(?:ld\.global|ldu|cp\.async|global_load|buffer_load|flat_load|ld\.(?:v\d\.)?[bfsu]\d)"),
    ("global store", r"^(?:st\.global|global_store|buffer_store|flat_store|st\.(?:v\d\.)?[bfsu]\d)"),
    ("shared", r"^(?:ld|st)\.shared|^ldmatrix|^stmatrix|^ds_"),
    ("local", r"^(?:ld|st)\.local|^scratch_"),
    ("parameters", r"^ld\.(?:param|const)|^s_load"),
    ("special", r"^(?:ex2|lg2|sin|cos|sqrt|rsqrt|rcp|div|tanh)\b|^v_(?:exp|log|sin|cos|sqrt|rsq|rcp|div)"),
    ("float", r"\.(?:rn\.)?(?:ftz\.)?(?:f16|bf16|f32|f64)(?:x2)?$|^v_\w*_(?:f16|f32|f64|bf16)"),
    ("control", r"^(?:bra|call|ret|exit|brx|s_(?:branch|cbranch|endpgm|setpc|swappc))"),
    ("move", r"^(?:mov|cvt|cvta|shfl|selp|v_mov|v_cndmask|s_mov|v_cvt)"),
)
_MIX = [(name, re.compile(pattern)) for name, pattern in _KINDS]
_OPCODE = re.compile(r"^\s+(?:@!?%p\d+\s+)?([a-z][\w.]*)", re.MULTILINE)

# Source: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute Capability".
_MULTIPROCESSORS: Mapping[str, tuple[int, int, int]] = {
    "75": (32, 16, 64), "80": (64, 32, 164), "86": (48, 16, 100), "87": (48, 16, 164), "88": (48, 16, 100),
    "89": (48, 24, 100), "90": (64, 32, 228), "100": (64, 32, 228), "103": (64, 32, 228), "110": (48, 24, 228),
    "120": (48, 24, 100), "121": (48, 24, 100),
}  # fmt: skip
"""By compute capability: warps, blocks and KiB of shared memory on a multiprocessor."""
_REGISTERS = 65536
_REGISTER_UNIT = 256
_RESERVED_SHARED = 1024

# Source: LLVM 22, AMDGPUBaseInfo.cpp, namespace IsaInfo; the RDNA rows are for two compute units together.
_AMD_UNITS: Mapping[str, tuple[int, int, int, int, int]] = {
    **dict.fromkeys(("gfx90a", "gfx942"), (8, 512, 8, 64, 16)),
    "gfx950": (8, 512, 8, 160, 16),
    **dict.fromkeys(("gfx1030", "gfx1102", "gfx1103", "gfx1150"), (16, 1024, 16, 128, 32)),
    **dict.fromkeys(("gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"), (16, 1536, 24, 128, 32)),
}
"""By processor: waves and vector registers of a SIMD, how many registers are given at a time, KiB of shared memory, and
blocks of more than one wave."""
_SIMDS = 4
_MANY_SCALARS = 100
"""More of them leave room for one wave less on a SIMD of CDNA."""


@record
class KernelFacts:
    """The resources of a kernel on a target; None where the target's tools do not say.

    Args:
        name: as the program has it. symbol: in the code.
        registers: of a thread. scalars: an AMD wave's scalar registers.
        spills: bytes that a thread stores to memory because there are too few registers.
        shared: bytes of a block, of known size. stack: bytes of a thread.
        mix: instructions by kind. occupancy: by threads of a block, which part of a multiprocessor's
            (an AMD compute unit's) warps is used.
    """

    name: str
    symbol: str
    target: str
    registers: int | None = None
    scalars: int | None = None
    spills: int | None = None
    shared: int | None = None
    stack: int | None = None
    mix: Mapping[str, int] = field(default_factory=dict)
    occupancy: Mapping[int, float] = field(default_factory=dict)


def instruction_mix(text: str) -> dict[str, int]:
    """Return how many instructions of each kind an assembly text has."""
    counts: dict[str, int] = {}
    for opcode in _OPCODE.findall(text):
        kind = next((name for name, pattern in _MIX if pattern.search(opcode)), "integer")
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items(), key=lambda one: -one[1]))


def occupancy(processor: str, registers: int, shared: int) -> dict[int, float]:
    """Return by block size which part of an NVIDIA multiprocessor's warps blocks of a kernel fill."""
    limits = _MULTIPROCESSORS.get(re.sub(r"\D", "", processor))
    if limits is None:
        return {}
    warps, blocks, kibibytes = limits
    found = {}
    for size in BLOCK_SIZES:
        of_block = -(-size // 32)
        of_warp = -(-max(registers, 1) * 32 // _REGISTER_UNIT) * _REGISTER_UNIT
        fitting = min(
            blocks,
            warps // of_block,
            _REGISTERS // (of_warp * of_block),
            (kibibytes << 10) // (shared + _RESERVED_SHARED),
        )
        found[size] = fitting * of_block / warps
    return found


def amd_occupancy(target: Target, registers: int, scalars: int, shared: int) -> dict[int, float]:
    """Return by block size which part of an AMD compute unit's waves blocks of a kernel fill."""
    unit = _AMD_UNITS.get(target.cpu)
    if unit is None:
        return {}
    most, of_simd, step, kibibytes, blocks = unit
    waves = min(most, of_simd // (-(-max(registers, 1) // step) * step))
    if target.warp_lanes == 64 and scalars > _MANY_SCALARS:
        waves = min(waves, most - 1)
    found = {}
    for size in BLOCK_SIZES:
        of_block = -(-size // target.warp_lanes)
        fitting = waves * _SIMDS // of_block
        if of_block > 1:
            fitting = min(fitting, blocks)
        if shared:
            fitting = min(fitting, (kibibytes << 10) // shared)
        found[size] = fitting * of_block / (most * _SIMDS)
    return found


def of_nvidia(name: str, symbol: str, target: Target, text: str, said: str) -> KernelFacts:
    """Return the facts of a kernel in PTX, of which `ptxas -v` said something."""

    def number(pattern: str) -> int:
        found = re.search(pattern, said)
        return int(found[1]) if found else 0

    registers, shared = number(r"Used (\d+) registers"), number(r"(\d+) bytes smem")
    return KernelFacts(
        name, symbol, target.name, registers, None, number(r"(\d+) bytes spill stores"), shared,
        number(r"(\d+) bytes stack frame"), instruction_mix(text), occupancy(target.cpu, registers, shared),
    )  # fmt: skip


def of_amd(name: str, symbol: str, target: Target, text: str) -> KernelFacts:
    """Return the facts of a kernel in AMD's assembly, with the metadata at its end."""

    def number(word: str) -> int:
        found = re.search(rf"\.{word}:\s+(\d+)", text)
        return int(found[1]) if found else 0

    code = text.partition(".amdgpu_metadata")[0].partition(".section\t.AMDGPU")[0]
    registers, scalars, shared = number("vgpr_count"), number("sgpr_count"), number("group_segment_fixed_size")
    return KernelFacts(
        name, symbol, target.name, registers, scalars, 4 * (number("vgpr_spill_count") + number("sgpr_spill_count")),
        shared, number("private_segment_fixed_size"), instruction_mix(code),
        amd_occupancy(target, registers, scalars, shared),
    )  # fmt: skip


def of_others(name: str, symbol: str, target: Target, text: str) -> KernelFacts:
    """Return the facts of a kernel of which only the text is known."""
    return KernelFacts(name, symbol, target.name, mix=instruction_mix(text))
