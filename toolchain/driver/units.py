"""Units to objects: lowering, the cache, and LLVM for the host and all kernels side by side.

Input: a checked program, or the modules of the per-kernel flow. Output: images and objects. The host's object does not
wait for the kernels: their images are in an object of their own.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import NoReturn

from ktc.base.cache import Key
from ktc.base.records import entity, replace
from ktc.codegen.globals import has_images, image_constants
from ktc.codegen.module import LlvmModule, lower_device, lower_host, lower_host_parts
from ktc.codegen.source_places import place_definitions
from ktc.codegen.values.constants import ImagesNeeded
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Label, Severity
from ktc.driver import build_cache, per_kernel
from ktc.driver.front_end.stages import name_of, passed, verified
from ktc.driver.library_archive import Archive, settled
from ktc.driver.session import Session
from ktc.emit import device, tools
from ktc.emit.job_steps import Usage, instructions
from ktc.emit.objects.ptx import with_code
from ktc.emit.outcomes import UNCUT
from ktc.emit.workers import Workers
from ktc.ir.interpreter.call_paths import HEAP_FUNCTIONS, external_call
from ktc.ir.nodes import ImageRef, Kernel, Program, Unit
from ktc.ir.verify import verify

Images = dict[tuple[int, str, str], bytes]
"""What was emitted: by index of the device unit, kernel and kind."""


@entity
class Part:
    """The object of one of the host's modules, finished or being made.

    Args:
        ticket: of the job that makes it, if it was not in the cache.
    """

    key: Key
    data: bytes | None
    ticket: int = -1


@entity
class Host:
    """The host's objects; a large host has several.

    Args:
        unit: what they are made of.
    """

    unit: Unit
    parts: list[Part]


@entity
class Ahead:
    """The host on its way through the passes and LLVM, while kernels are still elaborated.

    Args:
        archive: what is compiled of the library.
        unit: as it was elaborated. checked: after the passes.
        host: the object being made; None if something is wrong, or if it waits for its kernels.
    """

    session: Session
    workers: Workers
    archive: Archive | None = None
    unit: Unit | None = None
    checked: Unit | None = None
    host: Host | None = None

    def begin(self, unit: Unit, entry: str) -> None:
        """Take the host's unit; nothing is known to be wrong so far."""
        session = self.session
        self.unit, self.checked = unit, passed(session, settled(unit, session.config))
        if session.sink.mistake_count or not entry:
            return
        if self.archive is not None and self.checked.apart:
            with session.stage("lower", "library"):
                self.archive.compile(self.checked.apart, self.workers)
        if has_images(unit):
            self.workers.expect_kernels()
        try:
            self.host = start_host(session, self.checked, entry, None, self.workers)
        except ImagesNeeded:
            pass
        except Exception:
            verify(self.checked)  # which says better what is wrong with it
            raise

    def of(self, unit: Unit) -> Unit | None:
        """Return what the passes made of a unit, if it is the one that was taken."""
        return self.checked if unit is self.unit else None

    def object_of(self, unit: Unit) -> Host | None:
        """Return the object being made of a unit after the passes, if it is the one that was taken."""
        return self.host if unit is self.checked else None


def fail(session: Session, diagnostic: Diagnostic) -> NoReturn:
    """Report an error and end the build."""
    session.sink.report(diagnostic)
    raise CompileError(session.sink.diagnostics)


def compile_program(session: Session, program: Program, ahead: Ahead) -> tuple[bytes, ...]:
    """Return the host's object, one of the images if there are any, and those of kernels for the CPU."""
    workers, unit, entry = ahead.workers, program.host, program.entry
    if ahead.archive is not None:
        ahead.archive.compile(unit.apart, workers)
    try:
        host = ahead.object_of(unit) or start_host(session, unit, entry, None, workers)
    except ImagesNeeded:
        images, natives = compile_kernels(session, program, workers)
        return (*host_objects(session, start_host(session, unit, entry, images, workers), workers), *natives)
    images, natives = compile_kernels(session, program, workers)
    constants, places = image_constants(program.host, images), place_definitions(program.host)
    held: tuple[bytes, ...] = ()
    if constants or places:
        ticket = workers.submit(device.data_job(program.host.target, constants, places))
        held = (bytes(workers.result(ticket)),)
        session.timeline.job(workers.usage[ticket])
    return (*host_objects(session, host, workers), *held, *natives)


def start_host(
    session: Session, unit: Unit, entry: str, images: Images | None, workers: Workers, whole: bool = False
) -> Host:
    """Lower the host and have its objects made, but for those that the cache has.

    Args:
        whole: make one object, however large the host is.

    Raises:
        ImagesNeeded: without images, where a constant of the host holds the size of one.
    """
    with session.stage("lower", "host") as phase:
        modules = _host_modules(session, unit, images, entry, whole)
        phase.instructions = sum(instructions(module.text) for module in modules)
        parts = [Part(key, session.find(name, key)) for name, key in _host_keys(session, modules)]
        phase.misses = sum(part.data is None for part in parts)
        phase.hits = len(parts) - phase.misses
    for part, module in zip(parts, modules, strict=True):
        if part.data is None:
            part.ticket = workers.submit(device.host_job(module, "object", session.config.level))
    return Host(unit, parts)


def _host_modules(
    session: Session, unit: Unit, images: Images | None, entry: str, whole: bool = False
) -> tuple[LlvmModule, ...]:
    config = session.config
    if whole:
        return (lower_host(unit, images, entry, config.debug, config.level),)
    return lower_host_parts(unit, images, entry, config.debug, config.level)


def _host_keys(session: Session, modules: Sequence[LlvmModule]) -> Iterator[tuple[str, Key]]:
    """Give the name and the key of each of the host's modules."""
    stamp = session.emitter()
    for number, module in enumerate(modules, 1):
        name = f"the host, part {number} of {len(modules)}" if len(modules) > 1 else "the host"
        yield name, key_of(session, "host-object", module, "object", stamp)


def host_objects(session: Session, host: Host, workers: Workers) -> tuple[bytes, ...]:
    """Wait for the host's objects."""
    if any(part.data is None for part in host.parts):
        verified(session, host.unit)
    return tuple([_host_object(session, part, workers) for part in host.parts])


def _host_object(session: Session, part: Part, workers: Workers) -> bytes:
    if part.data is None:
        with session.stage("wait", "host"):
            part.data = bytes(workers.result(part.ticket))
        session.timeline.job(workers.usage[part.ticket])
        session.cache.put(part.key, part.data)
    return part.data


def compile_kernels(session: Session, program: Program, workers: Workers) -> tuple[Images, tuple[bytes, ...]]:
    """Compile the kernels; returns what the host embeds, and the objects to link with it."""
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
    """Look every unit up in the cache, and compile none."""
    for unit, modules, kinds in _kernels(session, program):
        for (kernel, kind), key in _keys(session, modules, kinds, _ptxas(modules, kinds)).items():
            session.find(_title(unit, kernel, kind), key)
    with suppress(ImagesNeeded):  # such a host is looked up only when its kernels are there
        for name, key in _host_keys(session, _host_modules(session, program.host, None, program.entry)):
            session.find(name, key)


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
        with session.stage("wait", name_of(unit)):
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


def key_of(session: Session, what: str, module: LlvmModule, kind: str, stamp: str) -> Key:
    """Return the key of one module in one form: what decides the result, and no path, time or line."""
    return Key.of(
        what, code=module.text + module.marked, target=build_cache.describe(module.target), kind=kind,
        level=str(session.config.level), compiler=stamp,
    )  # fmt: skip


def is_native(unit: Unit) -> bool:
    """Return whether a unit's kernels run on the CPU."""
    return unit.target.artefact == "native"  # type: ignore[attr-defined,no-any-return]
