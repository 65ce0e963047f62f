"""Text of the loops over a block's threads: z, y and x, the last in lane groups or one by one.

Input: the prefix of names, and the label before. Output: lines before and after the code of a thread or a lane group.
"""

from ktc.emit.workgroups.lane_groups.segments import GROUP_LANES
from ktc.targets.cpu import LANE_SLOT, WARP_LANES, WARP_SLOT

_SHIFT = WARP_LANES.bit_length() - 1


def some(at: str) -> list[str]:
    """Return a question before the loops: whether threads of a row are between `at`.lo and `at`.hi. Then `at`.begin."""
    return [
        f"  %{at}.any = icmp ult i32 %{at}.lo, %{at}.hi",
        f"  br i1 %{at}.any, label %{at}.begin, label %{at}.over",
        f"{at}.begin:",
    ]


def rows(at: str, origin: str) -> list[str]:
    """Return the beginning of the loops over z and y; a row of threads in x follows, after the label `at`.y."""
    return [
        f"  br label %{at}.z",
        f"{at}.z:",
        f"  %{at}.s2 = phi i32 [ 0, %{origin} ], [ %{at}.z.next, %{at}.z.end ]",
        f"  %{at}.plane = mul nuw nsw i32 %{at}.s2, %s7",
        f"  br label %{at}.y",
        f"{at}.y:",
        f"  %{at}.s1 = phi i32 [ 0, %{at}.z ], [ %{at}.y.next, %{at}.y.end ]",
        f"  %{at}.rows = add nuw nsw i32 %{at}.plane, %{at}.s1",
        f"  %{at}.first = mul nuw nsw i32 %{at}.rows, %s6",
        f"  %{at}.first64 = zext nneg i32 %{at}.first to i64",
    ]


def rows_end(at: str, node: tuple[str, str]) -> list[str]:
    """Return the end of the loops over y and z, from the label `at`.y.end to `at`.over. `node`: their metadata."""
    return [
        f"{at}.y.end:",
        f"  %{at}.y.next = add nuw nsw i32 %{at}.s1, 1",
        f"  %{at}.y.more = icmp ult i32 %{at}.y.next, %s7",
        f"  br i1 %{at}.y.more, label %{at}.y, label %{at}.z.end, {node[0]}",
        f"{at}.z.end:",
        f"  %{at}.z.next = add nuw nsw i32 %{at}.s2, 1",
        f"  %{at}.z.more = icmp ult i32 %{at}.z.next, %s8",
        f"  br i1 %{at}.z.more, label %{at}.z, label %{at}.over, {node[1]}",
        f"{at}.over:",
    ]


def threads(at: str, first: str, origin: str) -> list[str]:
    """Return the beginning of the loop over x, from a first thread on."""
    return [
        f"  br label %{at}.x",
        f"{at}.x:",
        # lanes and warps count the threads of the whole block, x fastest, as GPUs do
        f"  %{at}.s0 = phi i32 [ {first}, %{origin} ], [ %{at}.x.next, %{at}.x.end ]",
        f"  %{at}.x64 = zext nneg i32 %{at}.s0 to i64",
        f"  %{at}.t = add nuw nsw i64 %{at}.first64, %{at}.x64",
        f"  %{at}.t32 = add nuw nsw i32 %{at}.first, %{at}.s0",
        f"  %{at}.s{LANE_SLOT} = and i32 %{at}.t32, {WARP_LANES - 1}",
        f"  %{at}.s{WARP_SLOT} = lshr i32 %{at}.t32, {_SHIFT}",
    ]


def threads_end(at: str, node: str, bound: str = "%s6", after: str = "") -> list[str]:
    """Return the end of the loop over x. `node`: its metadata. `after`: the label that follows."""
    return [
        f"{at}.x.end:",
        f"  %{at}.x.next = add nuw nsw i32 %{at}.s0, 1",
        f"  %{at}.x.more = icmp ult i32 %{at}.x.next, {bound}",
        f"  br i1 %{at}.x.more, label %{at}.x, label %{after or f'{at}.y.end'}{node}",
    ]


def lane_groups(at: str, first: str = "0", bound: str = "%s6") -> list[str]:
    """Return the beginning of the loop over the lane groups of a row; what a whole lane group does follows."""
    return [
        f"  br label %{at}..next",
        f"{at}..next:",
        f"  %{at}..x0 = phi i32 [ {first}, %{at}.y ], [ %{at}..x0.next, %{at}..strip.end ]",
        f"  %{at}..x064 = zext nneg i32 %{at}..x0 to i64",
        f"  %{at}..from64 = add nuw nsw i64 %{at}.first64, %{at}..x064",
        f"  %{at}..x0.next = add nuw nsw i32 %{at}..x0, {GROUP_LANES}",
        # the last group of a row may have fewer threads: these run one by one, for a vector needs all lanes
        f"  %{at}..whole = icmp ule i32 %{at}..x0.next, {bound}",
        f"  br i1 %{at}..whole, label %{at}..strip, label %{at}..single",
        f"{at}..strip:",
    ]


def singles(at: str, bound: str = "%s6") -> list[str]:
    """Return the beginning of the loop over threads of a lane group that are run one by one."""
    return [
        f"{at}..single:",
        f"  %{at}..to = call i32 @llvm.umin.i32(i32 %{at}..x0.next, i32 {bound})",
        *threads(at, f"%{at}..x0", f"{at}..single"),
    ]


def strips_end(at: str, nodes: tuple[str, str], bound: str = "%s6") -> list[str]:
    """Return the end of the loop over threads one by one and of that over lane groups. `nodes`: their metadata."""
    return [
        *threads_end(at, f", {nodes[0]}", f"%{at}..to", f"{at}..strip.end"),
        f"{at}..strip.end:",
        f"  %{at}..x0.more = icmp ult i32 %{at}..x0.next, {bound}",
        f"  br i1 %{at}..x0.more, label %{at}..next, label %{at}.y.end, {nodes[1]}",
    ]


def branch_on_conditions(at: str, place: str, continues_if: bool, is_idle: bool) -> list[str]:
    """Return where a lane group goes on when its threads' conditions, bytes at a place, are known."""
    # lanes that all take one way stay together; where they part, each thread goes its own way
    bits, none = f"i{GROUP_LANES}", f"{at}..strip.end" if is_idle else f"{at}..single"
    return [
        f"  %{at}..asked = load <{GROUP_LANES} x i8>, ptr {place}, align 64",
        f"  %{at}..yes = icmp {'ne' if continues_if else 'eq'} <{GROUP_LANES} x i8> %{at}..asked, zeroinitializer",
        f"  %{at}..bits = bitcast <{GROUP_LANES} x i1> %{at}..yes to {bits}",
        f"  %{at}..all = icmp eq {bits} %{at}..bits, -1",
        f"  br i1 %{at}..all, label %{at}..alike, label %{at}..some",
        f"{at}..some:",
        f"  %{at}..none = icmp eq {bits} %{at}..bits, 0",
        f"  br i1 %{at}..none, label %{none}, label %{at}..single",
        f"{at}..alike:",
    ]


def lanes(at: str, row: str, origin: str) -> list[str]:
    """Return the beginning of the loop over the lanes of a lane group. `row`: prefix of names of the loops around."""
    return [
        f"  br label %{at}.l",
        f"{at}.l:",
        f"  %{at}.l64 = phi i64 [ 0, %{origin} ], [ %{at}.l.next, %{at}.l.end ]",
        f"  %{at}..lane = trunc nuw nsw i64 %{at}.l64 to i32",
        f"  %{at}.s0 = add nuw nsw i32 %{row}..x0, %{at}..lane",
        f"  %{at}.t = add nuw nsw i64 %{row}..from64, %{at}.l64",
        f"  %{at}.t32 = add nuw nsw i32 %{row}.first, %{at}.s0",
        f"  %{at}.s{LANE_SLOT} = and i32 %{at}.t32, {WARP_LANES - 1}",
        f"  %{at}.s{WARP_SLOT} = lshr i32 %{at}.t32, {_SHIFT}",
    ]


def lanes_end(at: str, node: str) -> list[str]:
    """Return the end of the loop over the lanes of a lane group."""
    return [
        f"  %{at}.l.next = add nuw nsw i64 %{at}.l64, 1",
        f"  %{at}.l.more = icmp ult i64 %{at}.l.next, {GROUP_LANES}",
        f"  br i1 %{at}.l.more, label %{at}.l, label %{at}.over, {node}",
        f"{at}.over:",
    ]
