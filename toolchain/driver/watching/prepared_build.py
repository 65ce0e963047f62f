"""Preparations for the next build of a program, made by a watching process while nobody waits.

Input: a config whose program was built just now. Output: a `PreparedBuild`, with which the next build of this program
takes a third of the time. The processes with LLVM stay for later builds, too.
"""

from collections.abc import Callable

from ktc.base.cache import Cache
from ktc.base.records import entity, replace
from ktc.config import FULL_DEBUG, Config
from ktc.diag.diagnostic import Sink
from ktc.driver import library_archive
from ktc.driver.library_archive import Archive
from ktc.elaborate.prepared import Prepared
from ktc.emit import device
from ktc.emit.workers import Workers
from ktc.syntax.loader import Files, load

_OFFLOAD_MODE = "all-kernel"


@entity
class PreparedBuild:
    """One build that is prepared: its config, the compiled library, and the elaboration that waits."""

    config: Config
    archive: Archive
    elaboration: Prepared

    def fresh_archive(self) -> Archive:
        """Return the compiled library, for one build."""
        return replace(self.archive, new={}, needs={}, modules={}, jobs=[])


def prepare(
    config: Config, cache: Cache, observe: Callable[[object, object, object], None] | None = None
) -> PreparedBuild | None:
    """Prepare the next build; None if it is to begin with nothing.

    Args:
        observe: as `Session.observe`.
    """
    if config.debug >= FULL_DEBUG or config.offload_mode != _OFFLOAD_MODE:  # debug information lists all types
        return None
    files = Files(config.root, config.search, config.stdlib, edition=config.edition, installed=config.installed)
    package = load(files, cache, Sink())
    if package is None:
        return None
    archive = library_archive.find(config, cache)
    elaboration = Prepared(package, config, archive.library, observe)
    return PreparedBuild(config, archive, elaboration) if elaboration.is_sound else None


def workers_of(config: Config) -> Workers:
    """Return processes with LLVM for all later builds of a program: the first kernel of each takes twice as long."""
    workers = device.workers_for(config.jobs, config.accelerators)
    workers.stays = True
    return workers
