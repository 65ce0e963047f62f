"""Compile the library ahead, for a wheel: `python -m ktc.driver.prebuilt FOLDER` fills a store that ktc then reads.

The store serves this Python. Its code for the host is for this processor; its trees and its bodies for GPUs serve on
all. With other settings, each program compiles the library functions that it is the first to need.
"""

import sys
from pathlib import Path

from ktc import config as configs
from ktc.base.cache import Cache
from ktc.base.records import replace
from ktc.config import Config
from ktc.diag.diagnostic import Sink
from ktc.driver import library_archive
from ktc.driver.archive_list import seed_of
from ktc.driver.front_end import kept_library
from ktc.elaborate.program import contents
from ktc.emit.workers import Workers
from ktc.ir.nodes import Unit
from ktc.ir.verify import verify
from ktc.syntax.ahead import parse_library

ACCELERATORS = "cpu,sm_80,sm_86,sm_89,sm_90,sm_90a,sm_100a,gfx942"


def fill(config: Config, cache: Cache, workers: Workers) -> None:
    """Put all that the library's archive may have into a store, for the config's host and device targets.

    Raises:
        Bug: the library has errors.
    """
    listed = kept_library.listed(config)
    seed = seed_of(config, cache)
    packed, units = contents(seed, listed)
    made = library_archive.settled(Unit(config.host, apart=units), config)
    for one in made.apart.values():
        verify(one)
    archive = library_archive.find(config, cache)
    archive.compile(made.apart, workers)
    bodies = {"": packed}
    for target in config.accelerators:
        bodies[target.name], _ = contents(seed_of(replace(config, accelerators=(target,)), cache, True), listed)
    kept_library.keep_bodies(config, cache, bodies, kept_library.packed_modules(seed.elab.modules.package, set()))
    archive.finished(cache, workers)


def main() -> None:
    """Fill the store as first builds of programs would, at the usual level and without debug information."""
    cache, sink = Cache(Path(sys.argv[1])), Sink()
    options = configs.Options(Path("program.kpy"), accelerators=ACCELERATORS)
    config = configs.resolve(options, sink, cache)
    if config is None:
        sys.exit(f"ktc.driver.prebuilt: {sink.diagnostics[0].message}")
    with Workers(config.jobs) as workers:
        parse_library(config.stdlib, cache)
        fill(config, cache, workers.start())
    for name in ("library.lock", "swept"):
        Path(sys.argv[1], name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
