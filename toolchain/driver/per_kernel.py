"""The per-kernel flow: each kernel through the whole pipeline alone, from the resolved program on.

Input: the program, whose host is elaborated. Output: an `LlvmModule` a kernel. Each kernel is elaborated, checked and
lowered in a copy of the process, several at once; nothing that one kernel made serves another.
"""

from collections.abc import Callable
from functools import partial

from ktc import passes as passes_package
from ktc.base.records import entity
from ktc.codegen.module import LlvmModule, lower_device
from ktc.diag.diagnostic import CompileError, Diagnostic, gate
from ktc.driver import forks
from ktc.driver.session import Session
from ktc.driver.timing.timeline import Phase, peak_bytes
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.per_kernel import PerKernel
from ktc.elaborate.program import Keep, Ready
from ktc.emit.job_steps import instructions
from ktc.ir import nodes
from ktc.ir.verify import verify

Modules = dict[int, tuple[LlvmModule, ...]]
"""By index of the device unit."""


@entity
class _Slice:
    """The result of a process that elaborates and lowers one kernel."""

    module: LlvmModule | None
    phases: list[Phase]
    diagnostics: list[Diagnostic]


def elaborate(
    session: Session, package: object, library: Library | None, ready: Ready | None, keep: Keep | None
) -> nodes.Program:
    """Elaborate the host; the device units have kernels and no functions."""
    session.slicer = slicer = PerKernel(package, session.config, session.sink, library)  # type: ignore[arg-type]
    return slicer.host(ready, keep)


def unit(session: Session, index: int, kernel: nodes.Kernel) -> nodes.Unit:
    """Return one kernel's unit, checked; only once in a process."""
    config, sink, name = session.config, session.sink, kernel.title
    with session.stage("elaborate", name):
        made = gate(session.slicer.kernel(index, kernel.symbol), sink)
    with session.stage("passes", name):
        made = gate(passes_package.run(made, config, sink), sink)
    with session.stage("verify", name):
        verify(made)
    return made


def modules(session: Session, program: nodes.Program) -> Modules:
    """Take every kernel through the pipeline as far as LLVM.

    Raises:
        CompileError: kernels have errors.
    """
    work = [(index, kernel) for index, device in enumerate(program.devices) for kernel in device.kernels]
    calls: list[Callable[[], _Slice]] = [partial(_child, session, index, kernel) for index, kernel in work]
    made: Modules = {index: () for index in range(len(program.devices))}
    with session.stage("slices"):
        found = forks.run(calls, session.config.jobs)
    for (index, _), piece in zip(work, found, strict=True):
        session.timeline.phases += piece.phases
        for diagnostic in piece.diagnostics:
            session.sink.report(diagnostic)
        if piece.module is not None:
            made[index] += (piece.module,)
    if session.sink.error_count:
        raise CompileError(session.sink.diagnostics)
    return made


def _child(session: Session, index: int, kernel: nodes.Kernel) -> _Slice:
    """Do one kernel; runs in a copy of the process."""
    reported, phases = len(session.sink.diagnostics), len(session.timeline.phases)
    module = None
    try:
        alone = unit(session, index, kernel)
        with session.stage("lower", kernel.title) as phase:
            (module,) = lower_device(alone, session.config.debug, session.config.level, session.config.cpu_threads)
            phase.instructions = instructions(module.text)
    except CompileError:
        pass
    made = session.timeline.phases[phases:]
    for phase in made:
        phase.peak_bytes = peak_bytes()
    return _Slice(module, made, list(session.sink.diagnostics[reported:]))
