"""Kernels to images: PTX, AMD code objects, AIR, or code for the CPU.

Input: one `ModuleText` a kernel and its requested kinds. Output: an `Image` a kernel. Kernels are compiled
in other processes, for LLVM ends the process for code that it cannot translate. An undefined function is the user's
mistake and is found before LLVM starts; so is more shared memory than there is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from ktc.base.records import replace
from ktc.emit.job_steps import Usage
from ktc.emit.module_text import ModuleText
from ktc.emit.outcomes import LACKS, REFUSED
from ktc.emit.workers import Job, Workers
from ktc.targets.target import Image, Target

Ended = Callable[[Usage], None]
"""Told what a kernel took."""

KINDS = ("asm", "llvm", "llvm-opt", "object", "image")
"""The kinds of a kernel's code: assembly (PTX for NVIDIA), LLVM text as handed over, the same optimised, the file for
tools (an ELF; for NVIDIA a cubin if ptxas is at hand, else PTX), the image that the driver loads."""


_LONG = 8_000
"""Lines of a GPU's module from which on LLVM leaves out what takes the square of its length."""

_LOADED = {
    "native": ("ktc.emit.workgroups",),
    "ptx": ("ktc.emit.loops.rewriting",),
    "hsaco": ("ktc.emit.loops.rewriting",),
    "metallib": ("ktc.emit.air.images",),
    "spirv": ("ktc.emit.spirv.images", "ktc.emit.spirv.routines"),
}
"""The modules that kernels need, by artefact."""


class UndefinedFunctions(Exception):
    """A kernel calls functions that do not exist on its target; the driver words the diagnostic.

    Fields: `kernel`, its symbol; `target`, its target's name; `functions`.
    """

    def __init__(self, kernel: str, target: str, functions: tuple[str, ...]) -> None:
        super().__init__(kernel, target, functions)
        self.kernel, self.target, self.functions = kernel, target, functions

    def __str__(self) -> str:
        called = ", ".join(f"'{name}'" for name in self.functions)
        return f"kernel '{self.kernel}' calls {called}, which {self.target} does not have"


class Refused(Exception):
    """A kernel does what its target cannot do.

    Fields: `kernel`, its symbol; `target`, its target's name; `words`, what follows that name, with `{}` for the name
    of the kernel.
    """

    def __init__(self, kernel: str, target: str, words: str) -> None:
        super().__init__(kernel, target, words)
        self.kernel, self.target, self.words = kernel, target, words


class LacksRoom(Exception):
    """A kernel has more shared memory of known size than a block of its target.

    Fields: `kernel`, its symbol; `size`, what it has, in bytes; `target`.
    """

    def __init__(self, kernel: str, size: int, target: Target) -> None:
        super().__init__(kernel, size, target)
        self.kernel, self.size, self.target = kernel, size, target

    def __str__(self) -> str:
        most = self.target.shared_bytes
        return f"{self.size} bytes of shared memory; {self.target.name} has {most} for what is of known size"


def workers_for(jobs: int, targets: Iterable[Target]) -> Workers:
    """Return processes for kernels of these targets; what kernels need is loaded once, before the first."""
    found = {"ktc.emit.kernel": None}
    for target in targets:
        found |= dict.fromkeys(_LOADED[target.artefact])
        if target.checks:
            found["ktc.emit.checks.kernel_variants" if target.vendor == "cpu" else "ktc.emit.checks.gpu"] = None
    return Workers(jobs, for_kernels=tuple(found))


def images(
    modules: Sequence[ModuleText],
    kinds: Mapping[str, Set[str]],
    level: int,
    *,
    jobs: int = 1,
    workers: Workers | None = None,
    ptxas: str = "",
    ended: Ended | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> dict[str, Image]:
    """Compile each kernel; returns images by kernel.

    Args:
        kinds: by kernel; a kernel that is not in it gets its "image".
        level: -O0 to -O3.
        jobs: processes at once, if `workers` is not given.
        workers: processes that run already; they stay open.
        ptxas: NVIDIA's assembler, for the kind "object".
        ended: called for each kernel that is done.
        meanwhile: called when all work is handed out.

    Raises:
        UndefinedFunctions: before anything is compiled.
        LacksRoom: before anything is compiled.
        Refused: a kernel for Metal has numbers that Metal does not have, or one for OpenCL does what OpenCL cannot do.
        Bug: LLVM refused a kernel or died of it.
    """
    if workers is None:
        with Workers(min(jobs, len(modules)) or 1) as own:
            return _images(modules, kinds, level, own, ptxas, ended, meanwhile)
    return _images(modules, kinds, level, workers, ptxas, ended, meanwhile)


def host_job(module: ModuleText, kind: str, level: int) -> Job:
    """Return the job that makes the host's "object" (bytes), "asm" or "llvm-opt" (text)."""
    functions = {"object": "object_file", "asm": "assembly", "llvm-opt": "llvm_text"}
    name = f"ktc.emit.host:{functions[kind]}"
    return with_fallback(Job("the host's code", name, (module, level), timed=kind == "object"))


def library_job(modules: Sequence[ModuleText], level: int) -> Job:
    """Return the job that makes an object of each of the library's functions; LLVM may die of one of them."""
    return Job("the library", "ktc.emit.host:object_files", (tuple(modules), level), timed=True)


def with_fallback(job: Job) -> Job:
    """Return a processor's job that is tried again, without LLVM's vectorisers, if LLVM dies of it."""
    again = Job(job.name, "ktc.emit.host:in_single_steps", (job.function, job.arguments), job.timed, last=True)
    return replace(job, fallback=again)


def data_job(target: object, constants: Mapping[str, bytes], lines: Sequence[str] = ()) -> Job:
    """Return the job that makes an object of constants: see `host.data_object`."""
    return Job("the images", "ktc.emit.host:data_object", (target, dict(constants), tuple(lines)), timed=True)


def _images(
    modules: Sequence[ModuleText],
    kinds: Mapping[str, Set[str]],
    level: int,
    workers: Workers,
    ptxas: str,
    ended: Ended | None,
    meanwhile: Callable[[], None] | None = None,
) -> dict[str, Image]:
    for module in modules:
        _require_defined(module)
        if 0 < module.target.shared_bytes < module.shared_bytes:
            raise LacksRoom(module.kernel, module.shared_bytes, module.target)
    # The longest first, so that the last one to end is a short one.
    order = sorted(modules, key=lambda module: (-len(module.text), module.kernel))
    tickets = {}
    if order:
        workers.expect_kernels()
    for module in order:
        requested = frozenset(kinds.get(module.kernel, {"image"}))
        is_long = module.target.vendor != "cpu" and module.text.count("\n") > _LONG
        arguments = (module, requested, level, ptxas, is_long)
        job = Job(f"kernel '{module.kernel}'", "ktc.emit.kernel:emit_kernel", arguments, timed=True, last=is_long)
        tickets[module.kernel] = workers.submit(with_fallback(job) if module.target.vendor == "cpu" else job)
    if meanwhile is not None:
        meanwhile()
    made: dict[str, Image] = {}
    targets = {module.kernel: module.target.name for module in modules}
    for kernel, ticket in tickets.items():
        made[kernel] = Image(kernel, workers.result(ticket))
        if LACKS in made[kernel].data:
            words = f"has no numbers of type {made[kernel].data[LACKS].decode()}, and '{{}}' computes with them"
            raise Refused(kernel, targets[kernel], words)
        if REFUSED in made[kernel].data:
            raise Refused(kernel, targets[kernel], made[kernel].data[REFUSED].decode())
        if ended is not None:
            ended(workers.usage[ticket])
    return {module.kernel: made[module.kernel] for module in modules}


def _require_defined(module: ModuleText) -> None:
    if module.target.vendor == "cpu":
        return
    missing = tuple(name for name in module.undefined if not _is_supplied(name, module))
    if missing:
        raise UndefinedFunctions(module.kernel, module.target.name, missing)


def _is_supplied(name: str, module: ModuleText) -> bool:
    if name.startswith("llvm.") or name in module.target.device_externals:
        return True
    return module.target.vendor == "apple" and name.startswith("air.")
