"""Kernels to images: PTX, AMD code objects, AIR, or code for the processor.

In: one `ModuleText` a kernel and the kinds that are wanted of it. Out: an `Image` a kernel. Kernels are compiled in
processes of their own, small ones together, for LLVM ends the process for code that it cannot translate. A function
that nobody defines is the user's mistake and is found before LLVM starts.
"""

from collections.abc import Callable, Mapping, Sequence, Set

from ktc.diag.diagnostic import Bug
from ktc.emit.module_text import ModuleText
from ktc.emit.workers import Job, Usage, Workers
from ktc.targets.target import Image

Batch = list[tuple[ModuleText, frozenset[str]]]
"""Kernels that one process compiles, each with the kinds that are wanted of it."""

Ended = Callable[[Usage, int], None]
"""Told what a process took, and how many kernels it compiled."""

_BATCH_CHARACTERS = 40_000
"""Of LLVM assembly: about 50 ms of LLVM's time, ten times that of a process."""

KINDS = ("asm", "llvm", "llvm-opt", "object", "image")
"""What can be asked for: assembly (PTX for NVIDIA), LLVM text as handed over, the same optimised, what a tool reads
(an ELF; for NVIDIA a cubin if ptxas is at hand, else PTX), what the driver loads."""


class UndefinedFunctions(Exception):
    """A kernel calls functions that do not exist on its target; the driver words the diagnostic.

    Fields: `kernel`, its symbol; `target`, its target's name; `functions`.
    """

    def __init__(self, kernel: str, target: str, functions: tuple[str, ...]) -> None:
        super().__init__(kernel, target, functions)
        self.kernel, self.target, self.functions = kernel, target, functions

    def __str__(self) -> str:
        called = ", ".join(f"'{name}'" for name in self.functions)
        return f"kernel '{self.kernel}' calls {called}, which {self.target} has not"


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
        ended: told of each process that has ended, and how many kernels it did.
        meanwhile: called when all work is handed out.

    Raises:
        UndefinedFunctions: before anything is compiled.
        Bug: LLVM refused a kernel or died of it.
    """
    if workers is None:
        with Workers(min(jobs, len(modules)) or 1) as own:
            return _images(modules, kinds, level, own, ptxas, ended, meanwhile)
    return _images(modules, kinds, level, workers, ptxas, ended, meanwhile)


def host_job(module: ModuleText, kind: str, level: int) -> Job:
    """Return the job that makes the host's "object" (bytes), "asm" or "llvm-opt" (text)."""
    functions = {"object": "object_file", "asm": "assembly", "llvm-opt": "llvm_text"}
    return Job("the host's code", f"ktc.emit.host:{functions[kind]}", (module, level), timed=kind == "object")


def data_job(target: object, constants: Mapping[str, bytes]) -> Job:
    """Return the job that makes an object of constants: see `host.data_object`."""
    return Job("the images", "ktc.emit.host:data_object", (target, dict(constants)), timed=True)


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
    work = [(module, frozenset(kinds.get(module.kernel, {"image"}))) for module in modules]
    tickets = [(batch, workers.submit(_job(batch, level, ptxas))) for batch in batches(work, workers.jobs)]
    if meanwhile is not None:
        meanwhile()
    made: dict[str, Image] = {}
    for batch, ticket in tickets:
        try:
            found = workers.result(ticket)
        except Bug:
            if len(batch) == 1:
                raise
            # One of them has ended the process; alone, each says so itself.
            found = [workers.result(workers.submit(_job([one], level, ptxas)))[0] for one in batch]
        if ended is not None:
            ended(workers.usage[ticket], len(batch))
        made |= {module.kernel: Image(module.kernel, data) for (module, _), data in zip(batch, found, strict=True)}
    return {module.kernel: made[module.kernel] for module in modules}


def _job(batch: Batch, level: int, ptxas: str) -> Job:
    names = ", ".join(f"'{module.kernel}'" for module, _ in batch)
    name = f"kernel{'s' if len(batch) > 1 else ''} {names}"
    return Job(name, "ktc.emit.kernel:emit_kernels", (batch, level, ptxas), timed=True)


def batches(work: Batch, jobs: int) -> list[Batch]:
    """Divide kernels among processes, the longest first, so that the last one to end is a short one.

    A process costs about as much as a small kernel: small ones share one, as long as each of the `jobs` has enough.
    """
    total = sum(len(module.text) for module, _ in work)
    size = min(_BATCH_CHARACTERS, total // max(1, 4 * jobs))
    found: list[Batch] = []
    room = 0
    for module, wanted in sorted(work, key=lambda pair: (-len(pair[0].text), pair[0].kernel)):
        if room < len(module.text):
            found.append([])
            room = size
        found[-1].append((module, wanted))
        room -= len(module.text)
    return found


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
