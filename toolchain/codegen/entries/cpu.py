"""The processor as a device: the entry of a kernel is a loop over blocks and their threads.

Input: a lowered kernel. Output: text of `void K(ptr args, ptr launch, i64 first, i64 last)`: `args` points to pointers
to the argument values, `launch` to ten i32 (grid x y z, block x y z, bytes of shared memory that the launch adds,
cluster x y z or zeros); it runs the blocks `first` to `last` - 1, counted with x fastest. The threads of a block are
turns of a loop that LLVM may run in any order or side by side, or coroutines where they wait for one another
(`coroutine_kernels`, `block_groups`). In the third form (`marked`) the kernel's function is whole, and `emit` makes
loops over its parts (`emit/workgroups`).
"""

from ktc.codegen.context import Context
from ktc.codegen.entries import block_groups, checked, coroutine_kernels, kernel_arguments
from ktc.codegen.functions import FunctionText
from ktc.codegen.implicit_arguments import SHARED_ALIGN
from ktc.codegen.values.constants import symbol
from ktc.codegen.values.operations import Operations
from ktc.ir.nodes import Function
from ktc.targets.cpu import LANE_SLOT, SYSTEM_VALUES, WARP_LANES, WARP_SLOT

_SHARED_BYTES = 6
"""Where in `launch` the bytes of shared memory are that it adds."""

_BLOCKS = """\
  %any = icmp slt i64 %first, %last
  br i1 %any, label %blocks, label %done
blocks:
  %gx = zext nneg i32 %s9 to i64
  %gy = zext nneg i32 %s10 to i64
  %from.x = urem i64 %first, %gx
  %row = udiv i64 %first, %gx
  %from.y = urem i64 %row, %gy
  %from.z = udiv i64 %row, %gy
  %x.from = trunc nuw nsw i64 %from.x to i32
  %y.from = trunc nuw nsw i64 %from.y to i32
  %z.from = trunc nuw nsw i64 %from.z to i32
  br label %block
block:
  %b = phi i64 [ %first, %blocks ], [ %b.next, %block.end ]
  %s3 = phi i32 [ %x.from, %blocks ], [ %s3.next, %block.end ]
  %s4 = phi i32 [ %y.from, %blocks ], [ %s4.next, %block.end ]
  %s5 = phi i32 [ %z.from, %blocks ], [ %s5.next, %block.end ]"""
"""Only the first block's indices are divisions: one of 64 bits costs as much as a small block."""

_THREADS = """\
  br label %z
z:
  %s2 = phi i32 [ 0, %block ], [ %z.next, %z.end ]
  br label %y
y:
  %s1 = phi i32 [ 0, %z ], [ %y.next, %y.end ]
  br label %x
x:
  %s0 = phi i32 [ 0, %y ], [ %x.next, %x ]"""

_NUMBERS = f"""\
  %rows = mul i32 %s2, %s7
  %full.row = add i32 %rows, %s1
  %before = mul i32 %full.row, %s6
  %number = add i32 %before, %s0
  %s{LANE_SLOT} = and i32 %number, {WARP_LANES - 1}
  %s{WARP_SLOT} = lshr i32 %number, {WARP_LANES.bit_length() - 1}"""

_NEXT_THREAD = """\
  %x.next = add nuw nsw i32 %s0, 1
  %x.more = icmp ult i32 %x.next, %s6
  br i1 %x.more, label %x, label %y.end, !llvm.loop !3
y.end:
  %y.next = add nuw nsw i32 %s1, 1
  %y.more = icmp ult i32 %y.next, %s7
  br i1 %y.more, label %y, label %z.end
z.end:
  %z.next = add nuw nsw i32 %s2, 1
  %z.more = icmp ult i32 %z.next, %s8
  br i1 %z.more, label %z, label %block.end"""

_NEXT_BLOCK = """\
block.end:
  %b.next = add nsw i64 %b, 1
  %s3.one = add nuw nsw i32 %s3, 1
  %x.over = icmp eq i32 %s3.one, %s9
  %s3.next = select i1 %x.over, i32 0, i32 %s3.one
  %s4.one = add nuw nsw i32 %s4, 1
  %s4.new = select i1 %x.over, i32 %s4.one, i32 %s4
  %y.over = icmp eq i32 %s4.new, %s10
  %s4.next = select i1 %y.over, i32 0, i32 %s4.new
  %s5.one = add nuw nsw i32 %s5, 1
  %s5.next = select i1 %y.over, i32 %s5.one, i32 %s5
  %more = icmp slt i64 %b.next, %last
  br i1 %more, label %block, label %done"""

_NUMBERED = (f"%s{LANE_SLOT}", f"%s{WARP_SLOT}")
"""System values that are computed of the others."""
_OWN = ("%s0", *_NUMBERED)
"""Values that differ between the threads of a row."""

_RANGES = (*[(0, 1024)] * 3, *[(0, (1 << 31) - 1)] * 3, *[(1, 1025)] * 3, *[(1, 1 << 31)] * 3, (0, 32), (0, 32))
"""From which number on and below which one the values of slots are."""

BODY_PARAMETERS = (
    *(f"i32 range(i32 {_RANGES[slot][0]}, {_RANGES[slot][1]}) %s{slot}" for slot in sorted(SYSTEM_VALUES.values())),
    "ptr %shared",
)
"""Parameters after the arguments of a kernel that is to be cut."""

BLOCK_PARAMETERS = (*(f"i32 %s{slot}" for slot in range(3, 12)), "ptr %shared")
"""Parameters after the arguments of the function that runs one block of it."""

_DONE = """\
done:
  ret void
}"""

METADATA = (
    "!1 = distinct !{}",
    "!2 = !{i32 1, i32 -2147483648}",
    "!3 = distinct !{!3, !4}",
    '!4 = !{!"llvm.loop.parallel_accesses", !1}',
    '!5 = !{!"llvm.loop.unroll.disable"}',
    "!6 = distinct !{!6, !4, !5}",
)
"""The access group of a thread's accesses, the range of a size of grid or block, the loop over x, and that loop where
threads of a row do the same: there are few of them then."""


def entry(context: Context, kernel: FunctionText) -> str:
    """Return the kernel's entry."""
    function = kernel.function
    if kernel.is_grouped:
        return block_groups.entry(context, kernel)
    body = Operations(context, function.symbol)
    for place, slot in enumerate((9, 10, 11, 6, 7, 8)):
        body.lines.append(f"  %launch{place} = getelementptr inbounds i32, ptr %launch, i64 {place}")
        body.lines.append(f"  %s{slot} = load i32, ptr %launch{place}, align 4, !range !2")
    passed = kernel_arguments.loaded(body, function)
    shared = []
    size = context.trailing.shared_bytes
    if function.symbol in context.trailing.shared and context.trailing.is_sized:
        shared += [
            f"  %launch6 = getelementptr inbounds i32, ptr %launch, i64 {_SHARED_BYTES}",
            "  %added = load i32, ptr %launch6, align 4",
            f"  %shared.bytes = add i32 %added, {size}",
            f"  %shared = alloca i8, i32 %shared.bytes, align {SHARED_ALIGN}",
        ]
    elif function.symbol in context.trailing.shared:
        shared.append(f"  %shared = alloca [{size} x i8], align {SHARED_ALIGN}")
    elif context.marks:
        shared.append("  %shared = alloca i8, align 1")
    callee = symbol(context.body_name(function.symbol))
    head = f"define void {symbol(function.symbol)}(ptr %args, ptr %launch, i64 %first, i64 %last) #6 {{\nentry:"
    if context.marks:
        call = f"  call void {block_symbol(function)}({', '.join([*passed, *BLOCK_PARAMETERS])})\n  br label %block.end"
        return "\n".join([head, *shared, *body.lines, _BLOCKS, call, _NEXT_BLOCK, _DONE])
    if kernel.is_coroutine:
        room = coroutine_kernels.room(context.target.max_block_threads)
        turns = coroutine_kernels.turns(callee, [*passed, *context.trailing.parameters(function.symbol)])
        return "\n".join([head, *shared, *body.lines, *room, _BLOCKS, turns, _NEXT_BLOCK, coroutine_kernels.FREE])
    call = f"  call void {callee}({', '.join([*passed, *kernel.trailing])})"
    numbers = [_NUMBERS] if any(name.split()[-1] in _NUMBERED for name in kernel.trailing) else []
    is_same = not any(name.split()[-1] in _OWN for name in kernel.trailing)
    next_thread = _NEXT_THREAD.replace("!llvm.loop !3", "!llvm.loop !6") if is_same else _NEXT_THREAD
    parts = [head, *shared, *body.lines, _BLOCKS, _THREADS, *numbers, call, next_thread, _NEXT_BLOCK, _DONE]
    return "\n".join(parts)


def marked_body(context: Context, kernel: FunctionText) -> str:
    """Return the whole function of a kernel to be cut, and the declaration of the function that runs a block."""
    name = symbol(context.body_name(kernel.function.symbol))
    given = [kind for kind, _ in kernel.parameters]
    listed = ", ".join([*(f"{kind} {name}" for kind, name in kernel.parameters), *BODY_PARAMETERS])
    kinds = ", ".join([*given, *(one.split()[0] for one in BLOCK_PARAMETERS)])
    block = f"declare void {block_symbol(kernel.function)}({kinds}) nounwind"
    return f"{block}\n\n{checked.variables(context)}define void {name}({listed}) #0{kernel.scope} {{\n{kernel.body}\n}}"


def block_symbol(function: Function) -> str:
    """Return the name of the function that runs one block of a kernel that is cut."""
    return symbol(f"{function.symbol}.block")
