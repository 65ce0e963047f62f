"""The routines that LLVM calls where a processor lacks an instruction: numbers of half, bfloat and i128, `powi`.

Input: a module's text. Output: their definitions, as text to put after it; "" if it needs none. Compilers of C link
them from a library of their own; an executable of ktc has only libc beside it. The names are those that LLVM calls.
They work on the bits, with one rounding, to nearest even. The linker keeps one copy of each that is called.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ktc.targets.target import Target


class _Float(NamedTuple):
    """A binary format: LLVM's name, the letters in the routines' names, its bits and those of its fraction."""

    name: str
    letters: str
    bits: int
    fraction: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def infinity(self) -> int:
        return (2 * self.bias + 1) << self.fraction


_HALF = _Float("half", "hf", 16, 10)
_BFLOAT = _Float("bfloat", "bf", 16, 7)
_SINGLE = _Float("float", "sf", 32, 23)
_DOUBLE = _Float("double", "df", 64, 52)


def routines(text: str, target: Target) -> str:
    """Return the definitions that a module of a processor may need.

    Args:
        text: the module. Only the types in it count: LLVM may convert where the text does not.
        target: the processor that it is compiled for.
    """
    found = list(_needed(text, target))
    if not found:
        return ""
    # LLVM removes unused functions before it turns instructions into calls of them.
    kept = ", ".join(f"ptr @{name}" for name, _ in found)
    used = f'@llvm.compiler.used = appending global [{len(found)} x ptr] [{kept}], section "llvm.metadata"\n'
    return _defined(found, target) + used


def _defined(found: list["_Routine"], target: Target) -> str:
    # Comdats: several objects of a program have them. Mach-O knows no comdats, and needs none for this.
    comdat = "" if "apple" in target.triple or "darwin" in target.triple else " comdat"
    lines = [f"${name} = comdat any" for name, _ in found if comdat]
    for name, (signature, body) in found:
        result, parameters = signature.split("(", 1)
        head = f"define linkonce_odr hidden {result}@{name}({parameters} nounwind{comdat}"
        lines += [f"{head} {{", *(f"  {line}" for line in body), "}"]
    return "\n".join(["", *lines, ""])


_Routine = tuple[str, tuple[str, list[str]]]


def _needed(text: str, target: Target) -> Iterator[_Routine]:
    half, bfloat = "half" in text, "bfloat" in text
    if half and "f16c" not in _present(target):
        yield "__extendhfsf2", ("float (half %x)", _extended())
        yield "__truncsfhf2", ("half (float %x)", _truncated(_SINGLE, _HALF))
    if half:
        yield "__truncdfhf2", ("half (double %x)", _truncated(_DOUBLE, _HALF))
    if bfloat:
        yield "__truncsfbf2", ("bfloat (float %x)", _truncated(_SINGLE, _BFLOAT))
        yield "__truncdfbf2", ("bfloat (double %x)", _truncated(_DOUBLE, _BFLOAT))
    if "@llvm.powi." in text:
        for kind in (_SINGLE, _DOUBLE):
            yield f"__powi{kind.letters}2", (f"{kind.name} ({kind.name} %x, i32 %n)", _power(kind))
    if "i128" not in text or not any(word in text for word in ("itofp", "fpto")):
        return
    for kind in (_SINGLE, _DOUBLE):
        yield f"__floatunti{kind.letters}", (f"{kind.name} (i128 %x)", _from_wide(kind))
        yield f"__floatti{kind.letters}", (f"{kind.name} (i128 %x)", _from_signed(kind))
        yield f"__fix{kind.letters}ti", (f"i128 ({kind.name} %x)", _to_wide(kind))
        yield f"__fixuns{kind.letters}ti", (f"i128 ({kind.name} %x)", _to_wide(kind))
    if half:
        yield "__floatuntihf", ("half (i128 %x)", _wide_to_half(_BOUNDED))
        yield "__floattihf", ("half (i128 %x)", _wide_to_half(_BOUNDED_BELOW, _BOUNDED_ABOVE))
        for name in ("__fixhfti", "__fixunshfti"):
            yield name, ("i128 (half %x)", _HALF_TO_WIDE)


def _power(kind: _Float) -> list[str]:
    """A power with a whole exponent by squaring; a negative one's is the reciprocal."""
    one, name = f"{kind.name} 1.0", kind.name
    return [
        "entry:",
        "%size = call i32 @llvm.abs.i32(i32 %n, i1 false)",
        "br label %turn",
        "turn:",
        "%rest = phi i32 [ %size, %entry ], [ %half, %turn ]",
        f"%square = phi {name} [ %x, %entry ], [ %next, %turn ]",
        f"%product = phi {name} [ 1.0, %entry ], [ %taken, %turn ]",
        "%bit = trunc i32 %rest to i1",
        f"%more = fmul {name} %product, %square",
        f"%taken = select i1 %bit, {name} %more, {name} %product",
        f"%next = fmul {name} %square, %square",
        "%half = lshr i32 %rest, 1",
        "%ends = icmp eq i32 %half, 0",
        "br i1 %ends, label %end, label %turn",
        "end:",
        f"%inverse = fdiv {one}, %taken",
        "%below = icmp slt i32 %n, 0",
        f"%result = select i1 %below, {name} %inverse, {name} %taken",
        f"ret {name} %result",
    ]


def _present(target: Target) -> set[str]:
    return {word[1:] for word in target.features.split(",") if word.startswith("+")}


def _truncated(wide: _Float, narrow: _Float) -> list[str]:
    """A float of fewer bits.

    The fraction is cut with a rounding; a carry out of it goes into the exponent, which is what is meant. Below the
    normal numbers of the result it is cut further, the leading bit with it.
    """
    w, n = f"i{wide.bits}", f"i{narrow.bits}"
    sign, one = 1 << (wide.bits - 1), 1 << wide.fraction
    cut, rebias = wide.fraction - narrow.fraction, wide.bias - narrow.bias
    end = (2 * narrow.bias + 1 + rebias) << wide.fraction
    quiet = narrow.infinity | 1 << (narrow.fraction - 1)
    lines = [
        f"%bits = bitcast {wide.name} %x to {w}",
        f"%size = and {w} %bits, {sign - 1}",
        f"%based = sub {w} %size, {rebias << wide.fraction}",
        f"%exponent = lshr {w} %size, {wide.fraction}",
        f"%part = and {w} %size, {one - 1}",
        f"%whole = or {w} %part, {one}",
        f"%missing = sub {w} {cut + rebias + 1}, %exponent",
        f"%shift = call {w} @llvm.umin.{w}({w} %missing, {w} {wide.fraction + 2})",
        f"%tiny = icmp ule {w} %exponent, {rebias}" if rebias else f"%tiny = icmp ult {w} %size, 0",
        f"%from = select i1 %tiny, {w} %whole, {w} %based",
        f"%by = select i1 %tiny, {w} %shift, {w} {cut}",
        f"%before = sub {w} %by, 1",
        f"%unit = shl {w} 1, %before",
        f"%down = sub {w} %unit, 1",
        f"%kept = lshr {w} %from, %by",
        f"%odd = and {w} %kept, 1",
        f"%up = add {w} %down, %odd",
        f"%raised = add {w} %from, %up",
        f"%rounded = lshr {w} %raised, %by",
        f"%large = icmp uge {w} %size, {end}",
        f"%bounded = select i1 %large, {w} {narrow.infinity}, {w} %rounded",
        f"%nan = icmp ugt {w} %size, {wide.infinity}",
        f"%payload = lshr {w} %part, {cut}",
        f"%quiet = or {w} %payload, {quiet}",
        f"%value = select i1 %nan, {w} %quiet, {w} %bounded",
        f"%high = lshr {w} %bits, {wide.bits - narrow.bits}",
        f"%signed = and {w} %high, {1 << (narrow.bits - 1)}",
        f"%all = or {w} %value, %signed",
        f"%short = trunc {w} %all to {n}",
        f"%result = bitcast {n} %short to {narrow.name}",
        f"ret {narrow.name} %result",
    ]
    return lines


def _extended() -> list[str]:
    """A half as a float: its bits are those of a float that is too small by a power of two."""
    scale = (2 * _SINGLE.bias - _HALF.bias) << _SINGLE.fraction
    return [
        "%bits = bitcast half %x to i16",
        "%wide = zext i16 %bits to i32",
        "%size = and i32 %wide, 32767",
        f"%moved = shl i32 %size, {_SINGLE.fraction - _HALF.fraction}",
        "%small = bitcast i32 %moved to float",
        f"%scale = bitcast i32 {scale} to float",
        "%value = fmul float %small, %scale",
        "%plain = bitcast float %value to i32",
        f"%over = icmp uge i32 %size, {_HALF.infinity}",
        f"%special = or i32 %moved, {_SINGLE.infinity}",
        "%either = select i1 %over, i32 %special, i32 %plain",
        "%high = and i32 %wide, 32768",
        "%sign = shl i32 %high, 16",
        "%all = or i32 %either, %sign",
        "%result = bitcast i32 %all to float",
        "ret float %result",
    ]


def _from_wide(kind: _Float) -> list[str]:
    """A float from an unsigned number: its first 64 bits, the last of them set if any after them is, scaled."""
    bits = f"i{kind.bits}"
    return [
        "%count = call i128 @llvm.ctlz.i128(i128 %x, i1 false)",
        "%by = and i128 %count, 127",
        "%left = shl i128 %x, %by",
        "%top = lshr i128 %left, 64",
        "%first = trunc i128 %top to i64",
        "%rest = trunc i128 %left to i64",
        "%some = icmp ne i64 %rest, 0",
        "%sticky = zext i1 %some to i64",
        "%number = or i64 %first, %sticky",
        f"%float = uitofp i64 %number to {kind.name}",
        f"%own = bitcast {kind.name} %float to {bits}",
        f"%zeros = trunc i128 %by to {bits}",
        f"%scale = sub {bits} 64, %zeros",
        f"%moved = shl {bits} %scale, {kind.fraction}",
        f"%sum = add {bits} %own, %moved",
        "%none = icmp eq i128 %x, 0",
        f"%all = select i1 %none, {bits} 0, {bits} %sum",
        f"%result = bitcast {bits} %all to {kind.name}",
        f"ret {kind.name} %result",
    ]


def _from_signed(kind: _Float) -> list[str]:
    return [
        "%negative = icmp slt i128 %x, 0",
        "%minus = sub i128 0, %x",
        "%size = select i1 %negative, i128 %minus, i128 %x",
        f"%value = uitofp i128 %size to {kind.name}",
        f"%below = fneg {kind.name} %value",
        f"%result = select i1 %negative, {kind.name} %below, {kind.name} %value",
        f"ret {kind.name} %result",
    ]


def _wide_to_half(*bounded: str) -> list[str]:
    """A half: numbers that are too large for it are made smaller first, and then a float holds them exactly."""
    return [
        *bounded,
        "%short = trunc i128 %held to i32",
        "%float = sitofp i32 %short to float",
        "%result = fptrunc float %float to half",
        "ret half %result",
    ]


_BOUNDED = "%held = call i128 @llvm.umin.i128(i128 %x, i128 100000)"
_BOUNDED_BELOW = "%low = call i128 @llvm.smax.i128(i128 %x, i128 -100000)"
_BOUNDED_ABOVE = "%held = call i128 @llvm.smin.i128(i128 %low, i128 100000)"
_HALF_TO_WIDE = ["%float = fpext half %x to float", "%result = fptosi float %float to i128", "ret i128 %result"]


def _to_wide(kind: _Float) -> list[str]:
    """A whole number, without the fraction; what does not fit has no value that counts."""
    bits = f"i{kind.bits}"
    return [
        f"%bits = bitcast {kind.name} %x to {bits}",
        f"%size = and {bits} %bits, {(1 << (kind.bits - 1)) - 1}",
        f"%exponent = lshr {bits} %size, {kind.fraction}",
        f"%part = and {bits} %size, {(1 << kind.fraction) - 1}",
        f"%whole = or {bits} %part, {1 << kind.fraction}",
        f"%wide = zext {bits} %whole to i128",
        f"%left = sub {bits} %exponent, {kind.bias + kind.fraction}",
        f"%right = sub {bits} {kind.bias + kind.fraction}, %exponent",
        f"%up.short = call {bits} @llvm.umin.{bits}({bits} %left, {bits} 127)",
        f"%down.short = call {bits} @llvm.umin.{bits}({bits} %right, {bits} 127)",
        f"%up = zext {bits} %up.short to i128",
        f"%down = zext {bits} %down.short to i128",
        "%grown = shl i128 %wide, %up",
        "%cut = lshr i128 %wide, %down",
        f"%grows = icmp sge {bits} %left, 0",
        "%number = select i1 %grows, i128 %grown, i128 %cut",
        "%minus = sub i128 0, %number",
        f"%negative = icmp slt {bits} %bits, 0",
        "%result = select i1 %negative, i128 %minus, i128 %number",
        "ret i128 %result",
    ]
