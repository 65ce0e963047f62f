"""The entry of a kernel on the CPU device in a checked build: one thread of it.

Input: a lowered kernel. Output: text of `void K(ptr args, ptr thread, i64 what, i64)`: `args` points to pointers to the
argument values, `thread` to the record of a thread, of which it reads the launch's shape and the thread's own place in
it (`stdlib/_check/state.kpy`). With a negative `what` it stores the address of the kernel's description at `args`
instead: its title, its file, its line, the bytes of shared memory of all kernels and of this one, how many variables
they are, the address of what `emit/checks/fast_path` makes of the kernel, and the extents of its clusters; then the
place and the size of each variable, 0 for the one that the launch sizes.
"""

from ktc.codegen.context import Context
from ktc.codegen.entries import kernel_arguments
from ktc.codegen.functions import FunctionText
from ktc.codegen.values.constants import quoted, symbol
from ktc.codegen.values.operations import Operations
from ktc.ir.types import size_of
from ktc.passes.frame_inlining import owner_prefix
from ktc.targets.checked import UNWATCHED_SHARED

_WORDS = {9: 0, 10: 1, 11: 2, 6: 3, 7: 4, 8: 5, 0: 8, 1: 9, 2: 10, 3: 11, 4: 12, 5: 13, 12: 38, 13: 7}
"""By slot of a system value, which 32-bit word of the thread's record it is."""
_SHARED_PLACE = 56
"""Where in the record the address of the block's shared memory is."""


SCREEN = "@ktc.screen"
NO_SCREEN = f"{SCREEN} = internal global [4 x i64] zeroinitializer, align 8"
"""Defines the constant that marks a kernel without a form in loops."""


def variables(context: Context) -> str:
    """Return comments for `emit/checks`: places and bytes of variables in shared memory, "own" after the library's."""
    if not context.target.checks:
        return ""
    held = context.unit.globals
    return "".join([
        f"; ktc.shared {at} {size_of(held[name].type)}{' own' if name.startswith(UNWATCHED_SHARED) else ''}\n"
        for name, at in context.trailing.offsets.items()
    ])  # fmt: skip


def entry(context: Context, kernel: FunctionText) -> str:
    """Return the kernel's entry, and the constant that describes the kernel."""
    function = kernel.function
    name = function.symbol
    body = Operations(context, name)
    for slot, place in _WORDS.items():
        body.lines.append(f"  %place{slot} = getelementptr inbounds i32, ptr %thread, i64 {place}")
        body.lines.append(f"  %s{slot} = load i32, ptr %place{slot}, align 4")
    passed = kernel_arguments.loaded(body, function)
    body.lines += [
        f"  %shared.place = getelementptr inbounds i8, ptr %thread, i64 {_SHARED_PLACE}",
        "  %shared = load ptr, ptr %shared.place, align 8",
    ]
    callee = symbol(context.body_name(name))
    call = f"  call void {callee}({', '.join([*passed, *kernel.trailing])})"
    described = symbol(f"{name}.description")
    head = f"define void {symbol(name)}(ptr %args, ptr %thread, i64 %what, i64 %none) #6 {{\nentry:"
    ask = "  %asks = icmp slt i64 %what, 0\n  br i1 %asks, label %tell, label %run\ntell:"
    tell = f"  store ptr {described}, ptr %args, align 8\n  ret void\nrun:"
    return variables(context) + "\n".join(
        [_description(context, kernel), head, ask, tell, *body.lines, call, "  ret void\n}"]
    )


def _description(context: Context, kernel: FunctionText) -> str:
    function = kernel.function
    name = function.symbol
    used = sorted(
        (offset, size_of(context.unit.globals[held].type)) for held, offset in context.trailing.offsets.items()
    )
    if name not in context.trailing.shared:
        used = []
    file, line = "", 0
    if function.span is not None:
        file, line = function.span.source.path, function.span.source.position(function.span.start)[0]
    title, path = _text(f"{name}.title", function.title), _text(f"{name}.file", file)
    bytes_of_all = context.trailing.shared_bytes if used else 0
    own = sum(
        size_of(context.unit.globals[held].type)
        for held in context.trailing.offsets if held.startswith(owner_prefix(name))
    )  # fmt: skip
    numbers = [line, bytes_of_all, own, len(used)]
    cluster = function.bounds.get("cluster", (1, 1, 1))
    places = [number for pair in used for number in pair]
    fields = [
        f"ptr {symbol(f'{name}.title')}", f"ptr {symbol(f'{name}.file')}", *(f"i64 {number}" for number in numbers),
        f"ptr {SCREEN}", *(f"i64 {number}" for number in cluster), *(f"i64 {number}" for number in places),
    ]  # fmt: skip
    kinds = ", ".join([field.split()[0] for field in fields])
    described = f"{symbol(f'{name}.description')} = internal constant {{ {kinds} }} {{ {', '.join(fields)} }}, align 8"
    return f"{title}\n{path}\n{NO_SCREEN}\n{described}\n"


def _text(name: str, text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return f'{symbol(name)} = internal constant [{len(data) + 1} x i8] c"{quoted(data)}\\00"'
