"""Compile the library ahead, for a wheel: `python -m ktc.driver.prebuilt FOLDER` fills a store that ktc then reads.

What comes out serves this Python; the host's code is for this processor, what is parsed and what is kept for GPUs
serves on all. The first build with other settings compiles the library for them, once.
"""

import sys
from pathlib import Path

from ktc import config as configs
from ktc.base.cache import Cache
from ktc.diag.diagnostic import Sink
from ktc.driver import library_archive
from ktc.emit.workers import Workers

ACCELERATORS = "cpu,sm_80,sm_86,sm_89,sm_90,sm_90a,sm_100a,gfx942"


def main() -> None:
    """Make what a first build of a program would, at the usual level and without debug information."""
    cache, sink = Cache(Path(sys.argv[1])), Sink()
    options = configs.Options(Path("program.kpy"), accelerators=ACCELERATORS)
    config = configs.resolve(options, sink, cache)
    if config is None:
        sys.exit(f"ktc.driver.prebuilt: {sink.diagnostics[0].message}")
    with Workers(config.jobs) as workers:
        archive = library_archive.find(config, cache, workers.start())
        if archive is not None:
            archive.finished(cache, workers)
    for name in ("archive.lock", "swept"):
        Path(sys.argv[1], name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
