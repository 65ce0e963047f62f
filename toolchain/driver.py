"""The pipeline: a main file to an executable, to objects that run at once, or to the text of any stage.

In: `Config`. Out: what was asked for. Every function here reads top to bottom in the order of the stages; `Session`
keeps what all of them share and knows which stage is running, for times and for reports of internal errors.
"""

import time
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from ktc import builds
from ktc import passes as passes_package
from ktc.cache import Cache, Key
from ktc.codegen.module import LlvmModule, lower_device, lower_host
from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError, Diagnostic, Sink, gate
from ktc.elaborate.elaborator import elaborate
from ktc.emit import device, tools
from ktc.emit.link import Executable, LinkFailed, find_link_tools, link
from ktc.emit.workers import Workers
from ktc.ir.nodes import ImageRef, Program, Unit
from ktc.ir.text import print_unit
from ktc.ir.verify import verify
from ktc.syntax.format import dump
from ktc.syntax.loader import Package, load

Images = dict[tuple[int, str, str], bytes]
"""What was emitted: by index of the device unit, kernel and kind."""

KINDS = ("ast", "ir", "llvm", "llvm-opt", "asm", "object")
"""What `emit` can show, in the order of the stages."""


@dataclass(slots=True)
class Session:
    """One run of the pipeline.

    Args:
        stages: name and seconds of each stage that has ended.
        current: the stage that runs.
        reads: files of the user that were read, as `syntax.loader.Package.reads`.
    """

    config: Config
    cache: Cache
    sink: Sink
    stages: list[tuple[str, float]] = field(default_factory=list)
    current: str = ""
    reads: dict[str, str | None] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage; its name stays in `current` when it fails."""
        self.current, start = name, time.perf_counter()
        yield
        self.stages.append((name, time.perf_counter() - start))
        self.current = ""


def build(session: Session) -> Executable:
    """Make the file that the config names: an executable, a library, an object, or text.

    Raises:
        CompileError: the program has errors; they are in the sink.
    """
    config = session.config
    if config.emit in ("exe", "shared-lib"):
        return _link(session, compile_objects(session))
    if config.emit == "object":
        with Workers(config.jobs) as workers:
            program, images, _ = _to_images(session, workers)
            return _write(session, _host_object(session, program, images, workers))
    return _write(session, emit(session, config.emit))


def compile_objects(session: Session) -> tuple[bytes, ...]:
    """Compile to what `link` and `jit` take: the host's object, then those of kernels for the processor."""
    with Workers(session.config.jobs) as workers:  # LLVM loads beside the stages before it
        program, images, natives = _to_images(session, workers)
        return (_host_object(session, program, images, workers), *natives)


def emit(session: Session, kind: str, kernel: str = "", on_device: bool = False) -> bytes:
    """Return what one stage made, of the host or of a kernel.

    Args:
        kind: one of `KINDS`.
        kernel: which one, where there are several; its symbol or its name.
        on_device: of the first accelerator's kernels, not of the host.

    Raises:
        CompileError: the program has errors, or the kernel cannot be chosen.
    """
    if kind == "ast":
        return dump(_load(session).root).encode()
    with Workers(session.config.jobs) as workers:
        program = _front(session)
        if on_device:
            unit = _device_unit(session, program)
            return print_unit(unit).encode() if kind == "ir" else _emit_kernel(session, unit, kernel, kind, workers)
        if kind == "ir":
            return print_unit(program.host).encode()
        images, _ = _images(session, program, workers)
        module = _lower_host(session, program, images)
        if kind == "llvm":
            return module.text.encode()
        if kind == "object":
            return _host_object(session, program, images, workers)
        ticket = workers.submit(device.host_job(module, kind, session.config.level))
        return str(workers.result(ticket)).encode()


def _load(session: Session) -> Package:
    config = session.config
    with session.stage("load"):
        package = load(
            config.root, config.search, config.stdlib, session.cache, session.sink, reads=session.reads
        )  # fmt: skip
    if package is None:
        raise CompileError(session.sink.diagnostics)
    return package


def _front(session: Session) -> Program:
    """Load, elaborate, and run the passes."""
    config, sink = session.config, session.sink
    if config.offload_mode != "all-kernel":
        _fail(session, Diagnostic(Code.UNSUPPORTED, None, f"offload mode '{config.offload_mode}' is not there yet"))
    package = _load(session)
    with session.stage("elaborate"):
        program = gate(elaborate(package, config, sink), sink)
    with session.stage("passes"):
        host = passes_package.run(program.host, config, sink)
        devices = tuple(passes_package.run(unit, config, sink) for unit in program.devices)
        program = gate(replace(program, host=host, devices=devices), sink)
    with session.stage("verify"):
        for unit in (program.host, *program.devices):
            verify(unit)
    return program


def _to_images(session: Session, workers: Workers) -> tuple[Program, Images, tuple[bytes, ...]]:
    program = _front(session)
    images, natives = _images(session, program, workers)
    return program, images, natives


def _images(session: Session, program: Program, workers: Workers) -> tuple[Images, tuple[bytes, ...]]:
    """Compile the kernels; returns what the host embeds, and the objects to link with it."""
    wanted = _wanted_images(program)
    images: Images = {}
    natives: list[bytes] = []
    for index, unit in enumerate(program.devices):
        with session.stage(f"lower {_name(unit)}"):
            modules = lower_device(unit, session.config.debug)
        with session.stage(f"emit {_name(unit)}"):
            kinds = {module.kernel: wanted.get((index, module.kernel), set()) for module in modules}
            if _is_native(unit):
                for chosen in kinds.values():
                    chosen.add("object")
            made = _emit_cached(session, unit, [module for module in modules if kinds[module.kernel]], kinds, workers)
        images |= {(index, kernel, kind): data for kernel, of in made.items() for kind, data in of.items()}
        if _is_native(unit):
            natives += [made[module.kernel]["object"] for module in modules]
    return images, tuple(natives)


def _wanted_images(program: Program) -> dict[tuple[int, str], set[str]]:
    """Return by unit and kernel the kinds that the host's globals hold."""
    wanted: dict[tuple[int, str], set[str]] = {}
    for variable in program.host.globals.values():
        if isinstance(variable.content, ImageRef):
            reference = variable.content
            wanted.setdefault((reference.unit, reference.kernel), set()).add(reference.kind)
    return wanted


def _emit_cached(
    session: Session, unit: Unit, modules: Sequence[LlvmModule], kinds: dict[str, set[str]], workers: Workers
) -> dict[str, dict[str, bytes]]:
    """Emit kernels, each kind of each one from the cache where it is there."""
    made: dict[str, dict[str, bytes]] = {}
    missing: dict[str, Set[str]] = {}
    ptxas = tools.find_ptxas() if any("object" in kinds[module.kernel] for module in modules) else ""
    stamp = builds.emitter_fingerprint()
    keys = {
        (module.kernel, kind): _key(session, "image", module, kind, stamp + (ptxas if kind == "object" else ""))
        for module in modules
        for kind in kinds[module.kernel]
    }
    for (kernel, kind), key in keys.items():
        data = session.cache.get(key)
        if data is None:
            missing[kernel] = {*missing.get(kernel, ()), kind}
        else:
            made.setdefault(kernel, {})[kind] = data
    try:
        todo = [module for module in modules if module.kernel in missing]
        new = device.images(todo, missing, session.config.level, workers=workers, ptxas=ptxas) if todo else {}
    except device.UndefinedFunctions as error:
        span = next((one.span for one in unit.kernels if one.symbol == error.kernel), None)
        _fail(session, Diagnostic(Code.UNSUPPORTED_ON_TARGET, span, str(error)))
    for kernel, image in new.items():
        for kind, data in image.data.items():
            session.cache.put(keys[kernel, kind], data)
            made.setdefault(kernel, {})[kind] = data
    return made


def _emit_kernel(session: Session, unit: Unit, kernel: str, kind: str, workers: Workers) -> bytes:
    """Emit one kernel of a device unit in one kind."""
    symbol = _choose_kernel(session, unit, kernel)
    with session.stage(f"lower {_name(unit)}"):
        module = next(one for one in lower_device(unit, session.config.debug) if one.kernel == symbol)
    with session.stage(f"emit {_name(unit)}"):
        return _emit_cached(session, unit, [module], {symbol: {kind}}, workers)[symbol][kind]


def _choose_kernel(session: Session, unit: Unit, wanted: str) -> str:
    """Return the symbol of the kernel that was asked for, by its symbol, its title, or its title without parameters."""
    listed = ", ".join(f"'{kernel.title}'" for kernel in unit.kernels)
    names = {kernel.symbol: (kernel.symbol, kernel.title, kernel.title.partition("[")[0]) for kernel in unit.kernels}
    fitting = [symbol for symbol, spelled in names.items() if not wanted or wanted in spelled]
    exact = [symbol for symbol, spelled in names.items() if wanted in spelled[:2]]
    if len(fitting) == 1 or len(exact) == 1:
        return (exact or fitting)[0]
    if not unit.kernels:
        _fail(session, Diagnostic(Code.BAD_KERNEL, None, f"the program has no kernel for {_name(unit)}"))
    if not fitting:
        message = f"the program has no kernel '{wanted}'"
        _fail(session, Diagnostic(Code.BAD_KERNEL, None, message, f"its kernels are {listed}"))
    message = f"the program has {len(fitting)} kernels" + (f" called '{wanted}'" if wanted else "")
    help = f"choose one with --kernel: {', '.join(repr(symbol) for symbol in fitting)}"
    _fail(session, Diagnostic(Code.BAD_KERNEL, None, message, help))


def _device_unit(session: Session, program: Program) -> Unit:
    name = session.config.accelerators[0].name
    unit = next((unit for unit in program.devices if _name(unit) == name), None)
    if unit is None:
        _fail(session, Diagnostic(Code.BAD_KERNEL, None, f"the program has no kernel for {name}"))
    return unit


def _lower_host(session: Session, program: Program, images: Images) -> LlvmModule:
    with session.stage("lower host"):
        return lower_host(program.host, images, program.entry, session.config.debug)


def _host_object(session: Session, program: Program, images: Images, workers: Workers) -> bytes:
    module = _lower_host(session, program, images)
    with session.stage("emit host"):
        key = _key(session, "host-object", module, "object", builds.emitter_fingerprint())
        data = session.cache.get(key)
        if data is None:
            data = bytes(workers.result(workers.submit(device.host_job(module, "object", session.config.level))))
            session.cache.put(key, data)
        return data


def _key(session: Session, what: str, module: LlvmModule, kind: str, stamp: str) -> Key:
    return Key.of(
        what, text=module.text, target=builds.describe(module.target), kind=kind,
        level=str(session.config.level), emitter=stamp,
    )  # fmt: skip


def _link(session: Session, objects: Sequence[bytes]) -> Executable:
    config = session.config
    with session.stage("link"):
        try:
            return link(
                objects, config.output, find_link_tools(),
                shared=config.emit == "shared-lib", debug=config.debug > 0,
            )  # fmt: skip
        except LinkFailed as error:
            said = " ".join(str(error).split())
            named = f"{error.command}: " if error.command else ""
            help = "" if error.command else "install a C compiler ('cc'), or 'pip install ziglang'"
            _fail(session, Diagnostic(Code.LINK, None, f"linking failed: {named}{said}", help))
        except OSError as error:
            builds.report_unwritable(session.config, error, session.sink)
            raise CompileError(session.sink.diagnostics) from error


def _write(session: Session, data: bytes) -> Executable:
    return gate(builds.write(session.config, data, session.sink), session.sink)


def _fail(session: Session, diagnostic: Diagnostic) -> NoReturn:
    session.sink.report(diagnostic)
    raise CompileError(session.sink.diagnostics)


def _name(unit: Unit) -> str:
    return unit.target.name  # type: ignore[attr-defined,no-any-return]


def _is_native(unit: Unit) -> bool:
    return unit.target.artefact == "native"  # type: ignore[attr-defined,no-any-return]
