"""The processor as a device: the entry of a kernel is a loop over blocks and their threads.

In: a lowered kernel. Out: text of `void K(ptr args, ptr launch, i64 first, i64 last)`: `args` points to pointers to the
argument values, `launch` to seven i32 (grid x y z, block x y z, bytes of shared memory that the launch adds); it runs
the blocks `first` to `last` - 1, counted with x fastest. The threads of a block are turns of a loop that LLVM may run
in any order or side by side, or coroutines where they wait for one another (`coroutine_kernels`).
"""

from ktc.codegen import coroutine_kernels
from ktc.codegen.constants import symbol
from ktc.codegen.context import Context
from ktc.codegen.functions import FunctionText
from ktc.codegen.implicit_arguments import SHARED_ALIGN
from ktc.codegen.operations import Operations
from ktc.ir.types import align_of

_SHARED_BYTES = 6
"""Where in `launch` the bytes of shared memory are that it adds."""

_BLOCKS = """\
  %any = icmp slt i64 %first, %last
  br i1 %any, label %block, label %done
block:
  %b = phi i64 [ %first, %entry ], [ %b.next, %block.end ]
  %gx = zext nneg i32 %s9 to i64
  %gy = zext nneg i32 %s10 to i64
  %bx = urem i64 %b, %gx
  %row = udiv i64 %b, %gx
  %by = urem i64 %row, %gy
  %bz = udiv i64 %row, %gy
  %s3 = trunc nuw nsw i64 %bx to i32
  %s4 = trunc nuw nsw i64 %by to i32
  %s5 = trunc nuw nsw i64 %bz to i32"""

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
  %more = icmp slt i64 %b.next, %last
  br i1 %more, label %block, label %done"""

_DONE = """\
done:
  ret void
}"""

METADATA = (
    "!1 = distinct !{}",
    "!2 = !{i32 1, i32 -2147483648}",
    "!3 = distinct !{!3, !4}",
    '!4 = !{!"llvm.loop.parallel_accesses", !1}',
)
"""The access group of a thread's accesses, the range of a size of grid or block, the loop over x."""


def entry(context: Context, kernel: FunctionText) -> str:
    """Return the kernel's entry."""
    types, function = context.types, kernel.function
    body = Operations(context, function.symbol)
    for place, slot in enumerate((9, 10, 11, 6, 7, 8)):
        body.lines.append(f"  %launch{place} = getelementptr inbounds i32, ptr %launch, i64 {place}")
        body.lines.append(f"  %s{slot} = load i32, ptr %launch{place}, align 4, !range !2")
    passed = []
    kinds = [(at, kind) for at, (_, kind) in enumerate(function.params) if not types.is_empty(kind)]
    for index, (at, kind) in enumerate(kinds):
        place_name = body.new(f"getelementptr inbounds ptr, ptr %args, i64 {index}")
        held = body.new(f"load ptr, ptr {place_name}, align 8")
        if at in function.values:
            passed.append(f"ptr {held}")
            continue
        text = body.new(f"load {types.memory(kind)}, ptr {held}, align {align_of(kind)}")
        passed.append(f"{types.value(kind)} {body.from_memory(text, kind)}")
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
    callee = symbol(context.body_name(function.symbol))
    head = f"define void {symbol(function.symbol)}(ptr %args, ptr %launch, i64 %first, i64 %last) #6 {{\nentry:"
    if kernel.waits:
        room = coroutine_kernels.room(context.target.max_block_threads)
        turns = coroutine_kernels.turns(callee, [*passed, *context.trailing.parameters(function.symbol)])
        return "\n".join([head, *shared, *body.lines, *room, _BLOCKS, turns, _NEXT_BLOCK, coroutine_kernels.FREE])
    call = f"  call void {callee}({', '.join([*passed, *kernel.trailing])})"
    return "\n".join([head, *shared, *body.lines, _BLOCKS, _THREADS, call, _NEXT_THREAD, _NEXT_BLOCK, _DONE])
