"""Whether the processor that loads a library has the instructions that it was built with.

Input: the library's target. Output: LLVM text of a condition. Only x86-64 is checked, by `cpuid` (leaf 7). There is no
text for a target that needs no more than every processor of its architecture has.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.targets.target import Target

# The register of leaf 7 (1: ebx, 2: ecx, 3: edx) and its bit.
_BITS: Mapping[str, tuple[int, int]] = MappingProxyType({
    "bmi": (1, 3), "avx2": (1, 5), "bmi2": (1, 8), "avx512f": (1, 16), "avx512dq": (1, 17), "avx512ifma": (1, 21),
    "avx512cd": (1, 28), "avx512bw": (1, 30), "avx512vl": (1, 31), "avx512vbmi": (2, 1), "avx512vbmi2": (2, 6),
    "gfni": (2, 8), "vaes": (2, 9), "vpclmulqdq": (2, 10), "avx512vnni": (2, 11), "avx512bitalg": (2, 12),
    "avx512vpopcntdq": (2, 14), "avx512vp2intersect": (3, 8), "amx-bf16": (3, 22), "avx512fp16": (3, 23),
    "amx-tile": (3, 24), "amx-int8": (3, 25),
})  # fmt: skip
_LEVEL_3 = ("avx2", "bmi", "bmi2")
_LEVEL_4 = (*_LEVEL_3, "avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl")
_RAPIDS = (*_LEVEL_4, "avx512fp16", "amx-tile", "amx-int8", "amx-bf16")
_NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    **dict.fromkeys(("x86-64-v3", "haswell", "broadwell", "skylake", "alderlake", "raptorlake"), _LEVEL_3),
    **dict.fromkeys(("znver1", "znver2", "znver3"), _LEVEL_3),
    **dict.fromkeys(("x86-64-v4", "skylake-avx512", "cascadelake", "cooperlake", "cannonlake"), _LEVEL_4),
    **dict.fromkeys(("icelake-client", "icelake-server", "tigerlake", "rocketlake", "znver4", "znver5"), _LEVEL_4),
    **dict.fromkeys(("sapphirerapids", "emeraldrapids", "graniterapids"), _RAPIDS),
})  # fmt: skip
"""Features of processors by name, as LLVM calls them."""


def needed(target: Target) -> tuple[str, ...]:
    """Return the features of a target that not every processor of its architecture has, as far as they are known."""
    if not target.triple.startswith("x86_64"):
        return ()
    found = dict.fromkeys(_NEEDS.get(target.cpu, ()), True)
    for word in target.features.split(","):
        if word[1:] in _BITS:
            found[word[1:]] = word[0] == "+"
    return tuple(name for name, is_on in found.items() if is_on)


def condition(target: Target) -> tuple[list[str], str]:
    """Return instructions, and the name of the truth that they compute: whether the processor has what is needed."""
    names = needed(target)
    if not names:
        return [], "true"
    lines = [
        '%leaf = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 7, i32 0)',
    ]
    lacks = "0"
    for register in (1, 2, 3):
        mask = sum(1 << _BITS[name][1] for name in names if _BITS[name][0] == register)
        if mask:
            signed = mask - (1 << 32) if mask >> 31 else mask
            lines += [
                f"%register.{register} = extractvalue {{ i32, i32, i32, i32 }} %leaf, {register}",
                f"%has.{register} = and i32 %register.{register}, {signed}",
                f"%lacks.{register} = xor i32 %has.{register}, {signed}",
                f"%any.{register} = or i32 %lacks.{register}, {lacks}",
            ]
            lacks = f"%any.{register}"
    return [*lines, f"%fits = icmp eq i32 {lacks}, 0"], "%fits"
