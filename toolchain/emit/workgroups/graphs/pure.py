"""Instructions without effect: which may be done again or elsewhere, and what they give for each lane of a warp."""

import re
from collections.abc import Callable, Mapping

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.workgroups.graphs.graph import Graph
from ktc.targets.cpu import EXCHANGED, LANE_SLOT, WARP_LANES

_PLAIN = frozenset(
    [
        "add",
        "sub",
        "mul",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "icmp",
        "fcmp",
        "zext",
        "sext",
        "trunc",
        "fptrunc",
        "fpext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "bitcast",
        "ptrtoint",
        "inttoptr",
        "getelementptr",
        "select",
        "fneg",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "extractvalue",
        "insertvalue",
        "extractelement",
        "insertelement",
        "shufflevector",
    ]
)
_DIVISIONS = frozenset({"udiv", "sdiv", "urem", "srem"})
_INTRINSICS = frozenset(
    [
        "fabs",
        "sqrt",
        "fma",
        "fmuladd",
        "minnum",
        "maxnum",
        "minimum",
        "maximum",
        "minimumnum",
        "maximumnum",
        "umin",
        "umax",
        "smin",
        "smax",
        "abs",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "roundeven",
        "copysign",
        "ctpop",
        "ctlz",
        "cttz",
        "bswap",
        "bitreverse",
        "fshl",
        "fshr",
        "sadd",
        "uadd",
        "ssub",
        "usub",
        "smul",
        "umul",
        "sshl",
        "ushl",
        "exp",
        "exp2",
        "log",
        "log2",
        "log10",
        "sin",
        "cos",
        "pow",
        "powi",
        "vector",
        "fptoui",
        "fptosi",
        "is",
        "canonicalize",
        "ldexp",
        "usub",
    ]
)
_BOUNDS = tuple(f"__ktc_check_{name}" for name in ("start", "size", "added", "block", "own", "shared_own", "base"))
"""Functions of the library that `emit/checks` calls and whose results do not change while a kernel runs."""
_DIVISION_COST = 3


def is_pure(one: Instruction) -> bool:
    """Return whether an instruction has no effect and reads no memory."""
    if one.op in _PLAIN or one.op == "freeze" or one.op in _DIVISIONS or one.op == "frem":
        return True
    return one.callee in _BOUNDS or (one.callee.startswith("llvm.") and one.callee.split(".")[1] in _INTRINSICS)


def has_effect(one: Instruction) -> bool:
    """Return whether an instruction must be done where it stands, used or not."""
    if one.op == "load":
        return one.is_volatile or one.is_atomic
    return not is_pure(one) and one.op != "alloca" and one.callee != EXCHANGED


def recomputation_cost(one: Instruction) -> int:
    """Return the cost of an instruction done once more, at any place, in simple instructions; 0: it cannot be."""
    if one.op in _PLAIN:
        return 1
    if one.op in _DIVISIONS:
        return _DIVISION_COST if one.values[1].isdigit() and one.values[1] != "0" else 0
    return 2 if one.callee and is_pure(one) else 0


def lanes_of(graph: Graph, text: str) -> tuple[int, ...] | None:
    """Return the values of an i32 in the lanes of a warp, if they follow from the lane's number alone."""
    known: dict[str, list[int] | None] = {f"%s{LANE_SLOT}": list(range(WARP_LANES))}
    found = _lanes(graph, text, known)
    return tuple(found) if found and all(0 <= lane < WARP_LANES for lane in found) else None


def _lanes(graph: Graph, text: str, known: dict[str, list[int] | None]) -> list[int] | None:
    if text in ("true", "false"):
        return [int(text == "true")] * WARP_LANES
    if not text.startswith("%"):
        return [int(text)] * WARP_LANES if text.lstrip("-").isdigit() else None
    if text not in known:
        known[text] = None
        _, one = graph.values.get(text, ("", None))
        if isinstance(one, Instruction):
            known[text] = _computed(graph, one, known)
    return known[text]


def _computed(graph: Graph, one: Instruction, known: dict[str, list[int] | None]) -> list[int] | None:
    kind = one.type
    if not re.fullmatch(r"i\d+", kind):
        return None
    bits = int(kind[1:])
    if one.op == "select":
        parts = [_lanes(graph, value, known) for value in one.values]
        if None in parts:
            return None
        return [yes if test else no for test, yes, no in zip(*parts, strict=True)]
    if one.op in ("zext", "trunc"):
        value = _lanes(graph, one.values[0], known)
        return None if value is None else [lane & (1 << bits) - 1 for lane in value]
    if one.op not in _FOLDS and one.predicate not in _COMPARISONS:
        return None
    left, right = (_lanes(graph, value, known) for value in one.values)
    if left is None or right is None:
        return None
    pairs = [(a, b) for a, b in zip(left, right, strict=True)]
    if one.op == "icmp":
        return [int(_COMPARISONS[one.predicate](a, b)) for a, b in pairs]
    mask = (1 << bits) - 1
    return [_FOLDS[one.op](a, b) & mask for a, b in pairs]


_FOLDS: Mapping[str, Callable[[int, int], int]] = {
    "add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "and": int.__and__, "or": int.__or__,
    "xor": int.__xor__, "shl": int.__lshift__, "lshr": int.__rshift__,
}  # fmt: skip
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__, "ne": int.__ne__, "ult": int.__lt__, "ule": int.__le__, "ugt": int.__gt__, "uge": int.__ge__,
}  # fmt: skip
