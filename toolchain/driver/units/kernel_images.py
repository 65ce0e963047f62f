"""Kernels to images and to objects of the CPU device: the requested kinds of each, from the cache or from LLVM."""

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial

from ktc.base.cache import Key
from ktc.base.records import replace
from ktc.codegen.module import LlvmModule, lower_device
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Severity
from ktc.driver import per_kernel
from ktc.driver.front_end.stages import name_of, verified
from ktc.driver.session import Session, fail
from ktc.driver.units.host_objects import Images, key_of
from ktc.emit import device, tools
from ktc.emit.job_steps import Usage, instructions
from ktc.emit.objects.ptx import with_code
from ktc.emit.outcomes import UNCUT
from ktc.emit.workers import Workers
from ktc.ir.interpreter.call_paths import HEAP_FUNCTIONS, external_call
from ktc.ir.nodes import ImageRef, Kernel, Program, Unit


def compile_kernels(session: Session, program: Program, workers: Workers) -> tuple[Images, tuple[bytes, ...]]:
    """Compile the kernels; returns the images that the host embeds, and the objects to link with it."""
    images: Images = {}
    natives: list[bytes] = []
    for index, (unit, modules, kinds) in enumerate(_kernels(session, program)):
        used = [module for module in modules if kinds[module.kernel]]
        embeds = _embeds(session, unit)
        if embeds:
            for chosen in kinds.values():
                chosen.update({"object"} if "image" in chosen else ())
        made = emit_cached(session, unit, used, kinds, workers)
        if embeds:
            made = {kernel: _with_code(of) for kernel, of in made.items()}
        images |= {(index, kernel, kind): data for kernel, of in made.items() for kind, data in of.items()}
        if is_native(unit):
            natives += [made[module.kernel]["object"] for module in modules]
    return images, tuple(natives)


def _embeds(session: Session, unit: Unit) -> bool:
    """Return whether a unit's images get machine code."""
    vendor = unit.target.vendor  # type: ignore[attr-defined]
    if unit.target.checks:  # type: ignore[attr-defined]
        return False  # a header stands before the text
    return session.config.embed_cubin and vendor == "nvidia" and bool(tools.find_ptxas())


def _with_code(made: dict[str, bytes]) -> dict[str, bytes]:
    return {**made, "image": with_code(made["image"], made["object"])} if "image" in made else made


def look_up(session: Session, program: Program) -> None:
    """Look all kernels up in the cache, and compile none."""
    for unit, modules, kinds in _kernels(session, program):
        for (kernel, kind), key in _keys(session, modules, kinds, _ptxas(modules, kinds)).items():
            session.find(_title(unit, kernel, kind), key)


def _kernels(session: Session, program: Program) -> Iterator[tuple[Unit, tuple[LlvmModule, ...], dict[str, set[str]]]]:
    """Give each device unit, its kernels' modules, and the kinds that are requested of each."""
    requested = _requested_images(program)
    sliced = per_kernel.modules(session, program) if session.slicer is not None else None
    for index, unit in enumerate(program.devices):
        modules = sliced[index] if sliced is not None else _lower(session, unit)
        kinds = {module.kernel: requested.get((index, module.kernel), set()) for module in modules}
        if is_native(unit):
            for chosen in kinds.values():
                chosen.add("object")
        yield unit, modules, kinds


def _lower(session: Session, unit: Unit) -> tuple[LlvmModule, ...]:
    with session.stage("lower", name_of(unit)) as phase:
        modules = lower_device(unit, session.config.debug, session.config.level, session.config.cpu_threads)
        phase.instructions = sum(instructions(module.text) for module in modules)
    return modules


def _requested_images(program: Program) -> dict[tuple[int, str], set[str]]:
    """Return by unit and kernel the kinds that the host's globals hold."""
    requested: dict[tuple[int, str], set[str]] = {}
    for variable in program.host.globals.values():
        if isinstance(variable.content, ImageRef):
            reference = variable.content
            requested.setdefault((reference.unit, reference.kernel), set()).add(reference.kind)
    return requested


def emit_cached(
    session: Session, unit: Unit, modules: Sequence[LlvmModule], kinds: dict[str, set[str]], workers: Workers
) -> dict[str, dict[str, bytes]]:
    """Emit kernels, each kind of each one from the cache where it is there."""
    made: dict[str, dict[str, bytes]] = {}
    missing: dict[str, Set[str]] = {}
    ptxas = _ptxas(modules, kinds)
    with session.stage("look up", name_of(unit)) as phase:
        keys = _keys(session, modules, kinds, ptxas)
        for (kernel, kind), key in keys.items():
            data = session.find(_title(unit, kernel, kind), key)
            if data is None:
                missing[kernel] = {*missing.get(kernel, ()), kind}
            else:
                made.setdefault(kernel, {})[kind] = data
        phase.misses = sum(map(len, missing.values()))
        phase.hits = len(keys) - phase.misses
    todo = [module for module in modules if module.kernel in missing]
    if not todo:
        _report_uncut(session, unit, modules, {})
        return made
    session.done = (session.done[0], session.done[1] + len(todo))
    try:
        with session.stage("await LLVM", name_of(unit)):
            new = device.images(
                todo, missing, session.config.level, workers=workers, ptxas=ptxas, ended=_ended(session, unit),
                meanwhile=partial(verified, session, unit),
            )  # fmt: skip
    except device.Refused as error:
        found = _kernel_of(unit, error.kernel)
        text = f"{error.target} {error.words.format(found.title if found else error.kernel)}"
        fail(session, Diagnostic(Code.UNSUPPORTED_ON_TARGET, found.span if found else None, text))
    except device.LacksRoom as error:
        found = _kernel_of(unit, error.kernel)
        text = f"'{found.title if found else error.kernel}' has {error}"
        help = "make its tiles smaller"
        if error.size <= error.target.dynamic_shared_bytes:
            help = "let the launch give it: 'external_memory' in the kernel and 'shared_mem_bytes=' at its launch"
        fail(session, Diagnostic(Code.UNSUPPORTED_ON_TARGET, found.span if found else None, text, help=help))
    except device.UndefinedFunctions as error:
        found = _kernel_of(unit, error.kernel)
        name, span = external_call(unit, error.kernel, HEAP_FUNCTIONS)
        text = f"a kernel cannot take memory from the heap: {error.target} has no '{name}'"
        help = "use 'InlineArray' or 'stack_allocation'; make lists and strings on the host" if name else ""
        if name not in error.functions:
            name, span = external_call(unit, error.kernel, error.functions)
            text = f"'{name or error.functions[0]}' cannot be called in a kernel: {error.target} has no such function"
        notes = (Label(found.span, f"in this kernel: {found.title}"),) if found and found.span and span else ()
        span = span or (found.span if found else None)
        fail(session, Diagnostic(Code.UNSUPPORTED_ON_TARGET, span, text, help, notes))
    for kernel, image in new.items():
        for kind, data in image.data.items():
            if kind == UNCUT:
                continue
            session.cache.put(keys[kernel, kind], data)
            made.setdefault(kernel, {})[kind] = data
    _report_uncut(session, unit, modules, {kernel: image.data.get(UNCUT, b"") for kernel, image in new.items()})
    return made


def _report_uncut(session: Session, unit: Unit, modules: Sequence[LlvmModule], new: Mapping[str, bytes]) -> None:
    """Say which kernels of the CPU device could not be cut into loops; what is not new is in the cache."""
    for module in modules:
        if not module.marked:
            continue
        key = key_of(session, "uncut", module, UNCUT, session.emitter())
        why = new.get(module.kernel)
        if why:
            session.cache.put(key, why)
        elif why is None:
            why = session.cache.get(key)
        if why:
            number, _, reason = why.decode().partition(" ")
            found = _kernel_of(unit, module.kernel)
            title = found.title if found else module.kernel
            place = module.stops[int(number)] if 0 <= int(number) < len(module.stops) else None
            span = place or (found.span if found else None)
            text = f"the threads of kernel '{title}' are coroutines: {reason}"
            session.sink.report(Diagnostic(Code.COROUTINE_KERNEL, span, text, severity=Severity.WARNING))
            where = f" ({span.source.path}:{span.source.position(span.start)[0]})" if span else ""
            session.notes.append(text + where)


def _keys(
    session: Session, modules: Sequence[LlvmModule], kinds: dict[str, set[str]], ptxas: str
) -> dict[tuple[str, str], Key]:
    """Return the key of each kernel in each kind that is requested of it."""
    stamp = session.emitter()
    assembler = tools.stamp_of_ptxas(ptxas)
    return {
        (module.kernel, kind): key_of(session, "image", module, kind, stamp + (assembler if kind == "object" else ""))
        for module in modules
        for kind in sorted(kinds[module.kernel])
    }


def _ptxas(modules: Sequence[LlvmModule], kinds: dict[str, set[str]]) -> str:
    needs_ptxas = any(module.target.vendor == "nvidia" and "object" in kinds[module.kernel] for module in modules)
    return tools.find_ptxas() if needs_ptxas else ""


def _kernel_of(unit: Unit, symbol: str) -> Kernel | None:
    return next((one for one in unit.kernels if one.symbol == symbol), None)


def _title(unit: Unit, kernel: str, kind: str) -> str:
    found = _kernel_of(unit, kernel)
    return f"kernel {found.title if found else kernel} for {name_of(unit)} ({kind})"


def _ended(session: Session, unit: Unit) -> device.Ended:
    titles = {kernel.symbol: kernel.title for kernel in unit.kernels}

    def ended(usage: Usage) -> None:
        steps = tuple((step[0], titles.get(step[1], step[1]), *step[2:]) for step in usage.steps)
        session.timeline.job(replace(usage, steps=steps))
        session.done = (session.done[0] + 1, session.done[1])

    return ended


def is_native(unit: Unit) -> bool:
    """Return whether a unit's kernels run on the CPU."""
    return unit.target.artefact == "native"  # type: ignore[attr-defined,no-any-return]
