"""One run of the pipeline: its configuration, where its errors go, and how far it is."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, NoReturn

from ktc.base.cache import Cache, Key
from ktc.base.fingerprints import emitter_fingerprint
from ktc.base.records import entity, record
from ktc.config import Config
from ktc.diag.diagnostic import CompileError, Diagnostic, Sink
from ktc.diag.source import Source
from ktc.driver.timing.timeline import Phase, Timeline
from ktc.emit.job_steps import Usage
from ktc.emit.workers import Workers
from ktc.ir.exports import Exports
from ktc.ir.nodes import Program
from ktc.syntax import ast
from ktc.syntax.loader import Package

if TYPE_CHECKING:
    from ktc.driver.watching.prepared_build import PreparedBuild


@record
class Unit:
    """Whether the cache had one unit of LLVM: a kernel in one form, or the host.

    Args:
        name: for people: "kernel saxpy for sm_90 (image)".
        key: under which the cache has it. hit: it was there.
    """

    name: str
    key: Key
    hit: bool


@entity
class Session:
    """One run of the pipeline.

    Args:
        timeline: the stages that have ended, and the one that runs.
        reads: files of the user that were read, as `syntax.loader.Package.reads`.
        overlays: texts that stand for files, as `syntax.loader.Package.overlays`.
        tree: of the main file's text, if that was parsed before.
        observe: receives what the elaborator finds out, as `Elaboration.observe`.
        package: the modules, once the main file is read.
        units: the units that were looked up in the cache.
        slicer: in the per-kernel flow, elaborates one kernel alone.
        notes: remarks for a user who asks for times.
        tunables: the choices that the program declares, once it is elaborated.
        exports: the functions that C can call, once the program is elaborated.
        done: kernels that are compiled, and how many there are, for the progress line.
        program: the elaborated program, after the passes.
        prepared: an elaboration that an earlier build of the program has prepared for this one.
        workers: processes with LLVM that an earlier build has left; the build's own are closed at its end.
        library_done: the same of functions of the library that no program has needed before.
    """

    config: Config
    cache: Cache
    sink: Sink
    timeline: Timeline = field(default_factory=Timeline)
    reads: dict[str, str | None] = field(default_factory=dict)
    observe: Callable[[Any, Any, Any], None] | None = None
    package: Package | None = None
    overlays: dict[str, Source] = field(default_factory=dict)
    tree: ast.Module | None = None
    units: list[Unit] = field(default_factory=list)
    slicer: Any = None
    notes: list[str] = field(default_factory=list)
    done: tuple[int, int] = (0, 0)
    library_done: tuple[int, int] = (0, 0)
    tunables: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    exports: Exports = field(default_factory=Exports)
    prepared: "PreparedBuild | None" = None
    workers: Workers | None = None
    program: Program | None = None
    _emitter: str = ""

    @property
    def current(self) -> str:
        """The stage that runs, or that failed."""
        return self.timeline.current

    def note_library(self, done: int, of: int, usage: Usage | None) -> None:
        """Note how many functions of the library are compiled, and the times of a job for some of them."""
        self.library_done = (done, of)
        if usage is not None:
            self.timeline.job(usage)

    def emitter(self) -> str:
        """Return a digest of the code that makes images and objects; the cache keeps it for each state of ktc."""
        if not self._emitter:
            key = Key.of("emitter", toolchain=self.config.toolchain)
            kept = self.cache.get(key) if self.config.toolchain else None
            self._emitter = kept.decode() if kept is not None else emitter_fingerprint()
            if kept is None and self.config.toolchain:
                self.cache.put(key, self._emitter.encode())
        return self._emitter

    @contextmanager
    def stage(self, name: str, unit: str = "") -> Iterator[Phase]:
        """Time a stage; its name stays in `current` when it fails."""
        with self.timeline.phase(name, unit) as phase:
            yield phase

    def find(self, name: str, key: Key) -> bytes | None:
        """Return a unit from the cache, None if it is not there; `units` notes which."""
        data = self.cache.get(key)
        self.units.append(Unit(name, key, data is not None))
        return data


def fail(session: Session, diagnostic: Diagnostic) -> NoReturn:
    """Report an error and end the build."""
    session.sink.report(diagnostic)
    raise CompileError(session.sink.diagnostics)
