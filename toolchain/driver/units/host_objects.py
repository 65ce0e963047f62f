"""The host to objects: lowered as soon as it is elaborated, in parts if it is large.

It does not wait for the kernels: their images are in an object of their own.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ktc.base.cache import Key
from ktc.base.records import entity
from ktc.codegen.globals import has_images
from ktc.codegen.module import LlvmModule, lower_host, lower_host_parts
from ktc.codegen.values.constants import ImagesNeeded
from ktc.driver import build_cache
from ktc.driver.front_end.stages import passed, verified
from ktc.driver.library_archive import Archive, settled
from ktc.driver.session import Session
from ktc.emit import device
from ktc.emit.job_steps import instructions
from ktc.emit.workers import Workers
from ktc.ir.nodes import Unit
from ktc.ir.verify import verify

Images = dict[tuple[int, str, str], bytes]
"""Emitted code by the index of the device unit, the kernel's symbol and the kind."""


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
        unit: the host's unit.
    """

    unit: Unit
    parts: list[Part]


@entity
class EarlyHost:
    """The host on its way through the passes and LLVM, while kernels are still elaborated.

    Args:
        archive: the compiled library.
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
            self.host = start(session, self.checked, entry, None, self.workers)
        except ImagesNeeded:
            pass
        except Exception:
            verify(self.checked)  # which says better what is wrong with it
            raise

    def of(self, unit: Unit) -> Unit | None:
        """Return a unit after the passes, if it is the one that was taken."""
        return self.checked if unit is self.unit else None

    def object_of(self, unit: Unit) -> Host | None:
        """Return the object being made of a unit after the passes, if it is the one that was taken."""
        return self.host if unit is self.checked else None


def start(
    session: Session, unit: Unit, entry: str, images: Images | None, workers: Workers, whole: bool = False
) -> Host:
    """Lower the host and have its objects made, but for those that the cache has.

    Args:
        whole: make one object, however large the host is.

    Raises:
        ImagesNeeded: without images, where a constant of the host holds the size of one.
    """
    with session.stage("lower", "host") as phase:
        modules = _modules(session, unit, images, entry, whole)
        phase.instructions = sum(instructions(module.text) for module in modules)
        parts = [Part(key, session.find(name, key)) for name, key in _keys(session, modules)]
        phase.misses = sum(part.data is None for part in parts)
        phase.hits = len(parts) - phase.misses
    for part, module in zip(parts, modules, strict=True):
        if part.data is None:
            part.ticket = workers.submit(device.host_job(module, "object", session.config.level))
    return Host(unit, parts)


def _modules(
    session: Session, unit: Unit, images: Images | None, entry: str, whole: bool = False
) -> tuple[LlvmModule, ...]:
    config = session.config
    if whole:
        return (lower_host(unit, images, entry, config.debug, config.level),)
    return lower_host_parts(unit, images, entry, config.debug, config.level)


def _keys(session: Session, modules: Sequence[LlvmModule]) -> Iterator[tuple[str, Key]]:
    """Give the name and the key of each of the host's modules."""
    stamp = session.emitter()
    for number, module in enumerate(modules, 1):
        name = f"the host, part {number} of {len(modules)}" if len(modules) > 1 else "the host"
        yield name, key_of(session, "host-object", module, "object", stamp)


def finish(session: Session, host: Host, workers: Workers) -> tuple[bytes, ...]:
    """Wait for the host's objects, and return them."""
    if any(part.data is None for part in host.parts):
        verified(session, host.unit)
    return tuple([_object(session, part, workers) for part in host.parts])


def _object(session: Session, part: Part, workers: Workers) -> bytes:
    if part.data is None:
        with session.stage("await LLVM", "host"):
            part.data = bytes(workers.result(part.ticket))
        session.timeline.job(workers.usage[part.ticket])
        session.cache.put(part.key, part.data)
    return part.data


def look_up(session: Session, unit: Unit, entry: str) -> None:
    """Look the host's modules up in the cache, and compile none; one that needs sizes of images is left out."""
    with suppress(ImagesNeeded):
        for name, key in _keys(session, _modules(session, unit, None, entry)):
            session.find(name, key)


def key_of(session: Session, what: str, module: LlvmModule, kind: str, stamp: str) -> Key:
    """Return the key of one module in one form: of all that decides the result, and of no path, time or line."""
    return Key.of(
        what, code=module.text + module.marked, target=build_cache.describe(module.target), kind=kind,
        level=str(session.config.level), compiler=stamp,
    )  # fmt: skip
