"""Compile the library ahead: `python -m ktc.driver.prebuilt FOLDER [PROGRAM ...]` fills a store that ktc then reads.

With programs, the store has the part of the library that they need, without checks and with them: the installation
runs this (`setup.py`), so that first builds need not compile it. Without, it has all of the library
for the usual settings, as wheels for one machine do.

The store serves this Python. Its code for the host is for this processor; its trees and its bodies for GPUs serve on
all. With other settings, each program compiles the library functions that it is the first to need.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ktc import config as configs
from ktc.base.cache import Cache, Key
from ktc.base.records import replace
from ktc.config import Config
from ktc.diag.diagnostic import Bug, CompileError, Sink
from ktc.driver import library_archive
from ktc.driver.archive_list import seed_of
from ktc.driver.front_end import kept_library
from ktc.driver.pipeline import compile_objects
from ktc.driver.session import Session
from ktc.elaborate.program import contents
from ktc.emit.workers import Workers
from ktc.ir.nodes import Unit
from ktc.ir.verify import verify
from ktc.syntax.ahead import parse_library
from ktc.targets import checked

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


def fill_for(programs: Sequence[Path], store: Cache, folder: Path) -> None:
    """Build programs as users do, and put the part of the library that they need into a store.

    Args:
        folder: for what else the builds keep.

    Raises:
        Bug: a program has errors.
    """
    cache, sink = Cache(folder, spare=store.folder), Sink()
    found: dict[Key, Config] = {}
    for program in programs:
        plain = configs.Options(program, accelerators="cpu,sm_90")
        for options in (plain, replace(plain, accelerators="cpu", checks=checked.KINDS)):
            config = configs.resolve(options, sink, cache)
            if config is None:
                raise Bug(sink.diagnostics[0].message, "archive")
            try:
                compile_objects(Session(config, cache, sink))
            except CompileError as error:
                raise Bug(f"{program}: {sink.diagnostics[0].message}", "archive") from error
            targets = (None, *config.accelerators)
            for key in (kept_library.code_key(config), *[kept_library.bodies_key(config, one) for one in targets]):
                found[key] = config
    for key in found:
        if (data := cache.get(key)) is not None:
            store.put(key, data)


def main() -> None:
    """Fill the store as first builds of programs would, at the usual level and without debug information."""
    store, sink = Cache(Path(sys.argv[1])), Sink()
    options = configs.Options(Path("program.kpy"), accelerators=ACCELERATORS)
    config = configs.resolve(options, sink, store)
    if config is None:
        sys.exit(f"ktc.driver.prebuilt: {sink.diagnostics[0].message}")
    parse_library(config.stdlib, store)
    if len(sys.argv) > 2:
        with tempfile.TemporaryDirectory(prefix="ktc-prebuilt-") as folder:
            fill_for([Path(one) for one in sys.argv[2:]], store, Path(folder))
    else:
        with Workers(config.jobs) as workers:
            fill(config, store, workers.start())
    for name in ("library.lock", "swept"):
        Path(sys.argv[1], name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
