"""The pipeline: a main file to an executable, to objects that run at once, or to the text of any stage.

Input: `Config`. Output: the form of the program that the options request. Every function here reads top to bottom in
the order of the stages; `Session` keeps what all of them share and knows which stage is running, for times and for
reports of internal errors; `units` has the objects of the host and the images of kernels, `per_kernel` the flow of one
kernel at a time.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from ktc.base.records import replace
from ktc.codegen.globals import image_constants
from ktc.codegen.module import lower_device, lower_host
from ktc.codegen.source_places import place_definitions
from ktc.codegen.values.constants import ImagesNeeded
from ktc.config import LIBRARIES, Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, gate
from ktc.driver import build_cache, library_archive, per_kernel
from ktc.driver.front_end import kept_library
from ktc.driver.front_end.stages import elaborated, load_package, passed, verified
from ktc.driver.front_end.stages import name_of as unit_name
from ktc.driver.session import Session, fail
from ktc.driver.units import host_objects, kernel_images
from ktc.driver.units.host_objects import EarlyHost
from ktc.elaborate.instances.library_archive import Library
from ktc.emit import device
from ktc.emit.linking.commands import LinkOptions
from ktc.emit.linking.link import Executable, LinkFailed, link, run_linker
from ktc.emit.linking.tools import find_link_tools, how_to_link
from ktc.emit.workers import Workers
from ktc.ir.exports import Exports
from ktc.ir.nodes import Kernel, Program, Unit
from ktc.syntax.loader import Package
from ktc.targets.target import Target

__all__ = ("Session", "assemble", "build", "compile_objects", "emit", "look_up")

KINDS = ("ast", "ir", "llvm", "llvm-opt", "asm", "object")
"""The forms that `emit` can show, in the order of the stages."""


def build(session: Session) -> Executable:
    """Make the file that the config names: an executable, a library, an object, or text.

    Raises:
        CompileError: the program has errors; they are in the sink.
    """
    config = session.config
    if config.emit in ("exe", "shared-lib", "python-extension"):
        return _link(session, compile_objects(session))
    if config.emit in ("object", "static-lib"):
        with _workers(session) as workers:
            data = _whole_object(session, _front(session, library=_bodies(session)), workers)
        if config.emit == "static-lib":
            from ktc.interop.static_library import archive  # late: only with some options

            data = archive(data, [one.name for one in session.exports.functions])
        return _write(session, data)
    return _write(session, emit(session, config.emit))


def compile_objects(session: Session) -> tuple[bytes, ...]:
    """Compile to the input of `link` and `jit`: the host's object, those of kernels for the CPU, the library's."""
    with _workers(session) as workers:  # LLVM loads beside the stages before it
        package = load_package(session)
        with session.stage("archive"):
            prepared = session.prepared
            archive = prepared.fresh_archive() if prepared else library_archive.find(session.config, session.cache)
        early = EarlyHost(session, workers, archive)
        program = _front(session, package, archive.library if archive else None, early)
        session.program = program
        objects = _compile_program(session, program, early)
        if archive is None:
            return objects
        with session.stage("await LLVM", "library"):
            archive.finished(session.cache, workers, session.note_library)
        return (*objects, *archive.objects(program.host))


def _compile_program(session: Session, program: Program, early: EarlyHost) -> tuple[bytes, ...]:
    """Return the host's object, one of the images if there are any, and those of kernels for the CPU."""
    workers, unit, entry = early.workers, program.host, program.entry
    if early.archive is not None:
        early.archive.compile(unit.apart, workers)
    try:
        started = early.object_of(unit) or host_objects.start(session, unit, entry, None, workers)
    except ImagesNeeded:
        images, natives = kernel_images.compile_kernels(session, program, workers)
        started = host_objects.start(session, unit, entry, images, workers)
        return (*host_objects.finish(session, started, workers), *natives)
    images, natives = kernel_images.compile_kernels(session, program, workers)
    constants, places = image_constants(program.host, images), place_definitions(program.host)
    held: tuple[bytes, ...] = ()
    if constants or places:
        ticket = workers.submit(device.data_job(program.host.target, constants, places))
        held = (bytes(workers.result(ticket)),)
        session.timeline.job(workers.usage[ticket])
    return (*host_objects.finish(session, started, workers), *held, *natives)


def look_up(session: Session) -> None:
    """Look every unit of the program up in the cache and compile none; `session.units` has the answers."""
    program = _front(session, library=kept_library.kept(session.config, session.cache))
    kernel_images.look_up(session, program)
    host_objects.look_up(session, program.host, program.entry)


def emit(
    session: Session, kind: str, kernel: str | Callable[[Sequence[Kernel]], str] = "", on_device: bool = False,
    is_whole: bool = True, shows_library: bool = True,
) -> bytes:  # fmt: skip
    """Return the output of one stage for the host or a kernel.

    Args:
        kind: one of `KINDS`.
        kernel: which one, where there are several: its symbol, its name, or a function that chooses one.
        on_device: of the first accelerator's kernels, not of the host.
        is_whole: the host has all of its code; otherwise it calls what is compiled of the library, as in a build.
        shows_library: assembly of the host has all functions, not the program's alone.

    Raises:
        CompileError: the program has errors, or the kernel cannot be chosen.
    """
    if kind == "ast":
        from ktc.syntax.format import dump  # late: only for some commands

        return dump(load_package(session).root).encode()
    with _workers(session) as workers:
        library = _bodies(session) if is_whole else kept_library.kept(session.config, session.cache)
        program = _front(session, library=library)
        from ktc.ir.text import print_unit  # late: only for some commands

        if on_device:
            unit, name = _device_unit(session, program, kernel)
            return print_unit(unit).encode() if kind == "ir" else _emit_kernel(session, unit, name, kind, workers)
        if kind == "ir":
            return print_unit(program.host).encode()
        if kind == "object":
            return _whole_object(session, program, workers)
        images, _ = kernel_images.compile_kernels(session, program, workers)
        with session.stage("lower", "host"):
            module = lower_host(program.host, images, program.entry, session.config.debug, session.config.level)
        if kind == "llvm":
            return module.text.encode()
        ticket = workers.submit(device.host_job(module, kind, session.config.level))
        text = str(workers.result(ticket))
        if kind == "asm" and not shows_library:
            from ktc.emit.objects.assembly_text import functions  # late: only for some commands

            text = functions(text, _programs_own(program), "'--all' shows them")
        return text.encode()


def _programs_own(program: Program) -> Callable[[str], bool]:
    """Return whether a symbol is a function of the program, or the entry point, in which `main` may be inlined."""
    own = {
        symbol for symbol, function in program.host.functions.items()
        if function.span is not None and not function.span.source.is_library
    }  # fmt: skip
    return lambda symbol: symbol == "main" or symbol in own


def kernel_texts(session: Session) -> list[tuple[Target, str, str, bytes]]:
    """Return the assembly of every kernel of the program's GPUs: its target, its title, its symbol, and the text.

    Raises:
        CompileError: the program has errors.
    """
    found: list[tuple[Target, str, str, bytes]] = []
    with _workers(session) as workers:
        library = kept_library.kept(session.config, session.cache)
        for unit in _front(session, library=library).devices:
            if kernel_images.is_native(unit):
                continue
            modules = lower_device(unit, session.config.debug, session.config.level)
            made = kernel_images.emit_cached(session, unit, modules, {one.kernel: {"asm"} for one in modules}, workers)
            titles = {kernel.symbol: kernel.title for kernel in unit.kernels}
            found += [(one.target, titles[one.kernel], one.kernel, made[one.kernel]["asm"]) for one in modules]
    return found


def assemble(session: Session) -> int:
    """Assemble every kernel of the program for its targets; return how many there are.

    Raises:
        CompileError: the program has errors.
        Bug: an assembler refuses a kernel.
    """
    with _workers(session) as workers:
        program, count = _front(session, library=kept_library.kept(session.config, session.cache)), 0
        for unit in program.devices:
            if not kernel_images.is_native(unit):
                modules = lower_device(unit, session.config.debug, session.config.level, session.config.cpu_threads)
                kernel_images.emit_cached(session, unit, modules, {one.kernel: {"object"} for one in modules}, workers)
                count += len(modules)
        return count


def _front(
    session: Session,
    package: Package | None = None,
    library: Library | None = None,
    early: EarlyHost | None = None,
) -> Program:
    """Load, elaborate, and run the passes.

    Args:
        early: takes the host's unit as soon as it is there, and verifies later; without it units are verified here.
    """
    sink = session.sink
    ready = early.begin if early is not None else None
    slices = partial(per_kernel.elaborate, session) if session.config.offload_mode == "per-kernel" else None
    program = elaborated(session, package or load_package(session), library, ready, slices)
    host = early.of(program.host) if early is not None else None
    host = host or passed(session, library_archive.settled(program.host, session.config))
    devices = program.devices
    if session.slicer is None:
        devices = tuple(passed(session, unit) for unit in devices)
    program = gate(replace(program, host=host, devices=devices), sink)
    if early is None:
        for unit in (host, *devices) if session.slicer is None else (host,):
            verified(session, unit)
    return program


def _bodies(session: Session) -> Library:
    """Return the kept library, for units that contain all of their code."""
    return kept_library.kept(session.config, session.cache).inlined()


def _whole_object(session: Session, program: Program, workers: Workers) -> bytes:
    """Return the host's object with the images in it, and with the code of kernels for the CPU."""
    images, natives = kernel_images.compile_kernels(session, program, workers)
    host = host_objects.start(session, program.host, program.entry, images, workers, whole=True)
    objects = (*host_objects.finish(session, host, workers), *natives)
    if len(objects) == 1:
        return objects[0]
    with session.stage("link"):
        try:
            joined = run_linker(objects, find_link_tools(session.config.host.triple), LinkOptions(is_joined=True))
        except LinkFailed as error:
            _link_failed(session, error)
    from ktc.interop.static_library import with_locals  # late: only with some options

    names = {one.name for one in session.exports.functions}
    return with_locals(joined, {*names, "main"} if program.entry else names)


def _emit_kernel(session: Session, unit: Unit, kernel: str, kind: str, workers: Workers) -> bytes:
    """Emit one kernel of a device unit in one kind."""
    symbol = _choose_kernel(session, unit, kernel)
    with session.stage("lower", unit_name(unit)):
        modules = lower_device(unit, session.config.debug, session.config.level, session.config.cpu_threads)
        module = next(one for one in modules if one.kernel == symbol)
    return kernel_images.emit_cached(session, unit, [module], {symbol: {kind}}, workers)[symbol][kind]


def _choose_kernel(session: Session, unit: Unit, name: str) -> str:
    """Return the symbol of the requested kernel, by its symbol, its title, or its title without parameters."""
    listed = ", ".join(f"'{kernel.title}'" for kernel in unit.kernels)
    names = {kernel.symbol: (kernel.symbol, kernel.title, kernel.title.partition("[")[0]) for kernel in unit.kernels}
    fitting = [symbol for symbol, spelled in names.items() if not name or name in spelled]
    exact = [symbol for symbol, spelled in names.items() if name in spelled[:2]]
    if len(fitting) == 1 or len(exact) == 1:
        return (exact or fitting)[0]
    if not unit.kernels:
        fail(session, Diagnostic(Code.INVALID_KERNEL, None, f"the program has no kernel for {unit_name(unit)}"))
    if not fitting:
        message = f"the program has no kernel '{name}'"
        fail(session, Diagnostic(Code.INVALID_KERNEL, None, message, f"its kernels are {listed}"))
    message = f"the program has {len(fitting)} kernels" + (f" called '{name}'" if name else "")
    titles = [kernel.title for kernel in unit.kernels]
    offered = [names[symbol][titles.count(names[symbol][1]) == 1] for symbol in fitting]
    help = f"choose one with --kernel: {', '.join(map(repr, sorted(offered)))}"
    fail(session, Diagnostic(Code.INVALID_KERNEL, None, message, help))


def _device_unit(
    session: Session, program: Program, kernel: str | Callable[[Sequence[Kernel]], str]
) -> tuple[Unit, str]:
    """Return the first accelerator's unit and the kernel's name; in the per-kernel flow it holds this one alone."""
    name = session.config.accelerators[0].name
    index = next((index for index, unit in enumerate(program.devices) if unit_name(unit) == name), None)
    if index is None:
        fail(session, Diagnostic(Code.INVALID_KERNEL, None, f"the program has no kernel for {name}"))
    unit = program.devices[index]
    chosen = kernel if isinstance(kernel, str) else kernel(unit.kernels)
    if session.slicer is None:
        return unit, chosen
    symbol = _choose_kernel(session, unit, chosen)
    return per_kernel.unit(session, index, next(one for one in unit.kernels if one.symbol == symbol)), symbol


def _link(session: Session, objects: Sequence[bytes]) -> Executable:
    config = session.config
    with session.stage("link"):
        try:
            return link(
                objects, config.output, find_link_tools(config.host.triple), link_options(config, session.exports)
            )
        except LinkFailed as error:
            _link_failed(session, error)
        except OSError as error:
            build_cache.report_unwritable(session.config, error, session.sink)
            raise CompileError(session.sink.diagnostics) from error


def link_options(config: Config, exports: Exports) -> LinkOptions:
    """Return the linker's options: the kind of its output, the exported names, the libraries."""
    is_library = config.emit in LIBRARIES
    names = tuple([one.name for one in exports.functions]) if is_library else None
    if exports.module:
        names = (f"PyInit_{exports.module.rpartition('.')[2]}",)
    return LinkOptions(
        is_library, config.debug > 0, names, config.soname, config.symbol_version, config.libraries,
        config.library_folders,
    )  # fmt: skip


def _link_failed(session: Session, error: LinkFailed) -> NoReturn:
    said = " ".join(str(error).split())
    named = f"{error.command}: " if error.command else ""
    help = "" if error.command else how_to_link(session.config.host.triple)
    fail(session, Diagnostic(Code.LINK_FAILED, None, f"linking failed: {named}{said}", help))


def _workers(session: Session) -> Workers:
    config = session.config
    return session.workers or device.workers_for(config.jobs, config.accelerators)


def _write(session: Session, data: bytes) -> Executable:
    return gate(build_cache.write(session.config, data, session.sink), session.sink)
