"""What a kernel's code says about it: registers, spills, memory, instructions, and how many blocks fit.

In: the text of a kernel and what ptxas says of it, or an AMD code object's metadata. Out: `KernelFacts`.
"""

import re
from collections.abc import Mapping
from dataclasses import field

from ktc.records import record
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


@record
class KernelFacts:
    """What is known of a kernel for a target; None where the target's tools do not say.

    Args:
        name: as the program has it. symbol: in the code.
        registers: of a thread. scalars: an AMD wave's scalar registers.
        spills: bytes that a thread stores to memory for want of registers.
        shared: bytes of a block, of known size. stack: bytes of a thread.
        mix: instructions by kind. occupancy: by threads of a block, which part of a multiprocessor's warps is used.
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
    return KernelFacts(
        name, symbol, target.name, number("vgpr_count"), number("sgpr_count"),
        4 * (number("vgpr_spill_count") + number("sgpr_spill_count")), number("group_segment_fixed_size"),
        number("private_segment_fixed_size"), instruction_mix(code),
    )  # fmt: skip


def of_others(name: str, symbol: str, target: Target, text: str) -> KernelFacts:
    """Return the facts of a kernel of which only the text is known."""
    return KernelFacts(name, symbol, target.name, mix=instruction_mix(text))
