"""The processor as a device: kernels compiled for the host, a block's threads as loops or coroutines.

Input: the host's target. Output: the target `cpu`. Its ids are no intrinsics: the launcher passes them as trailing i32
arguments, in the order of `system_values`.
"""

from ktc.base.records import replace
from ktc.diag.diagnostic import Bug
from ktc.targets import triples
from ktc.targets.host import host_target
from ktc.targets.target import Target

_IDS = ("thread_idx", "block_idx", "block_dim", "grid_dim")

LANE_SLOT, WARP_SLOT = 12, 13
"""Slots of the thread's number within its warp and of the warp's within the block."""

SYSTEM_VALUES = {
    f"ktc.cpu.{name}.{dimension}": 3 * group + index
    for group, name in enumerate(_IDS)
    for index, dimension in enumerate("xyz")
} | {"ktc.cpu.lane": LANE_SLOT, "ktc.cpu.warp": WARP_SLOT}

WAIT_FOR_BLOCK, WAIT_FOR_WARP = "ktc.cpu.wait.block", "ktc.cpu.wait.warp"
"""Barriers of the block's threads and of a warp's lanes."""

EXCHANGE, EXCHANGED = "ktc.cpu.exchange", "ktc.cpu.exchanged"
"""Gives the warp's other lanes a word (i32) and waits for theirs; the result (i32) names this exchange. With that, a
lane's number and another word, the second returns the word of that lane, or the other word if it took no part."""

YIELD, GROUP_RECORD = "ktc.cpu.yield", "ktc.cpu.group.record"
"""Lets the other threads go on before this one; and the address of the block's record (`stdlib/gpu/_cpu/barriers.kpy`),
by which the blocks of a cluster find each other."""

SPIN = "ktc.cpu.spin"
"""Lets other threads go on, as the first one, in a loop, and does nothing elsewhere: the thread may wait for memory."""

SUSPECT = "ktc.check.doubt"
"""Takes an i1, in the fast path of checked kernels: something in this block may be wrong."""

GROUPING_INTRINSICS = frozenset((YIELD, GROUP_RECORD))
"""A kernel with one of these runs the blocks of a cluster at the same time."""

RECORD_BYTES = 2048
"""Size of a block's record."""

BLOCKING_INTRINSICS = frozenset((WAIT_FOR_BLOCK, WAIT_FOR_WARP, EXCHANGE, EXCHANGED, YIELD, GROUP_RECORD, SPIN))
"""`Target.blocking_intrinsics` of this device."""

_ON_WINDOWS = {
    "declare ptr @aligned_alloc(i64, i64)": """declare ptr @_aligned_malloc(i64, i64)
define internal ptr @aligned_alloc(i64 %align, i64 %size) {
  %made = call ptr @_aligned_malloc(i64 %size, i64 %align)
  ret ptr %made
}""",
    "declare i64 @clock()": """declare i64 @_time64(ptr)
define internal i64 @clock() {
  %seconds = call i64 @_time64(ptr null)
  %microseconds = mul i64 %seconds, 1000000
  ret i64 %microseconds
}""",
    "declare void @free(ptr)": """declare void @_aligned_free(ptr)
define internal void @free(ptr %made) {
  call void @_aligned_free(ptr %made)
  ret void
}""",
}
"""Windows's substitutes for C11's `aligned_alloc` and for POSIX's `clock` in microseconds."""


def with_system_memory(text: str, target: Target) -> str:
    """Return a kernel's module with the functions that its system has for aligned memory."""
    if triples.parsed(target.triple).system == triples.WINDOWS:
        for declared, defined in _ON_WINDOWS.items():
            text = text.replace(declared, defined)
    return text


WARP_LANES = 32
"""As on the GPUs that most kernels are written for."""

THREAD_FORMS = ("auto", "loops", "coroutines")
"""How the threads of a block are run: as loops over the threads between their barriers, or each as a coroutine; "auto"
makes coroutines only of kernels that cannot be cut, and where a debugger is to follow one thread."""

SHARED_BYTES = 1 << 20

LACKS_NAME = "ktc.cpu.lacks.memory"
LACKS = "ktc: there is too little memory for what the threads of a block keep of their own\n"
LACKS_TEXT = f'@{LACKS_NAME} = private unnamed_addr constant [{len(LACKS)} x i8] c"{LACKS[:-1]}\\0A", align 1'
"""The message of a program that ends for want of memory; the name of its constant, and its definition for LLVM."""

STUCK_NAME = "ktc.cpu.stuck"
STUCK = "ktc: the threads of this kernel wait for what none of them writes: a deadlock\n"
STUCK_TEXT = f'@{STUCK_NAME} = private unnamed_addr constant [{len(STUCK)} x i8] c"{STUCK[:-1]}\\0A", align 1'
"""The same where threads wait for ever."""

GIVE_UP = (
    f"  call i64 @write(i32 2, ptr @{LACKS_NAME}, i64 {len(LACKS)})",
    "  call void @abort()",
    "  unreachable",
)
"""How that is done."""

GIVE_UP_WAITING = (f"  call i64 @write(i32 2, ptr @{STUCK_NAME}, i64 {len(STUCK)})", *GIVE_UP[1:])


def cpu_target(host: Target | None = None) -> Target:
    """Return the CPU of `host` (by default this machine's) as a device."""
    base = host or host_target()
    if base is None:
        raise Bug("this machine's processor is not one that ktc can compile for", "targets")
    return replace(
        base, name="cpu", is_device=True, artefact="native", warp_lanes=WARP_LANES, shared_bytes=SHARED_BYTES,
        dynamic_shared_bytes=SHARED_BYTES, entry="blocks", value_argument="ptr", system_values=SYSTEM_VALUES,
        blocking_intrinsics=BLOCKING_INTRINSICS, has_recursion=True,
        title=f"the processor ({base.cpu or 'generic'})", aliases=(),
    )  # fmt: skip
