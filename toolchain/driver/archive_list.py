"""The functions that the library's archive may have: `python -m ktc.driver.archive_list` writes the list.

Input: the seeds (`stdlib/archive.kpy`, for devices `stdlib/archive_device.kpy`), elaborated for the usual settings.
Output: a text with the symbols, one a line. Functions that only debug information, assertions or checks reach have a
part of their own: elsewhere LLVM shall inline them into the programs that happen to call them.
"""

import sys
import tempfile
from pathlib import Path

from ktc import config as configs
from ktc.base.cache import Cache
from ktc.base.records import replace
from ktc.config import FULL_DEBUG, Config
from ktc.diag.diagnostic import Bug, Sink
from ktc.driver.front_end import kept_library
from ktc.elaborate.instances.library_archive import Seed
from ktc.elaborate.model.body_store import Listed
from ktc.elaborate.program import elaborate_seed
from ktc.syntax.loader import Files, load
from ktc.targets import checked

SEED = "archive.kpy"
DEVICE_SEED = "archive_device.kpy"

DEVICES = "cpu,sm_90,gfx942,spirv"
"""One of each kind: the list for one serves its relatives."""


def seed_of(config: Config, cache: Cache, is_device: bool = False) -> Seed:
    """Elaborate the seed for the config's host, or for its first device target.

    Raises:
        Bug: it has errors.
    """
    sink = Sink()
    targets = config.accelerators[:1] if is_device else ()
    root = config.stdlib / (DEVICE_SEED if is_device else SEED)
    own = replace(config, root=root, search=(), accelerators=targets)
    package = load(Files(own.root, (), own.stdlib, beside=False), cache, sink)
    seed = elaborate_seed(package, own, sink) if package is not None else None
    if seed is None or sink.error_count:
        raise Bug(f"the library's seed has errors: {sink.diagnostics[0].message}", "archive")
    return seed


def settings(cache: Cache) -> list[Config]:
    """Return the settings for which the seeds are elaborated; the usual ones first."""
    program, usual = Path("program.kpy"), configs.Options
    chosen = [
        usual(program, accelerators=DEVICES),
        usual(program, accelerators="cpu", debug=FULL_DEBUG),
        usual(program, accelerators="cpu", defines=("ASSERT=all",)),
        usual(program, accelerators="cpu", checks=checked.KINDS),
        usual(program, accelerators="sm_90,cpu", checks=checked.INLINE),
        usual(program, accelerators="sm_90,cpu", checks=(*checked.KINDS, checked.REPLAY)),
    ]
    sink = Sink()
    made = [configs.resolve(options, sink, cache) for options in chosen]
    if sink.error_count:
        raise Bug(sink.diagnostics[0].message, "archive")
    return [one for one in made if one is not None]


def made(cache: Cache) -> tuple[Listed, Listed]:
    """Return the list for the usual settings, and the one for all."""
    all_settings = settings(cache)
    hosts = [seed_of(config, cache).listed() for config in all_settings]
    devices = [
        seed_of(replace(config, accelerators=(target,)), cache, is_device=True).listed()
        for config in all_settings for target in config.accelerators
    ]  # fmt: skip
    everything = Listed(
        frozenset().union(*(one.functions for one in hosts)),
        frozenset().union(*(one.variables for one in hosts)),
        frozenset().union(*(one.bodies for one in (*hosts, *devices))),
        tuple(sorted({name for one in (*hosts, *devices) for name in one.defines})),
    )
    return replace(everything, functions=hosts[0].functions), everything


def text(usual: Listed, everything: Listed) -> str:
    """Return the list as the file has it."""
    parts = {
        "defines": everything.defines,
        "variables": sorted(everything.variables),
        "functions": sorted(usual.functions),
        kept_library.MORE: sorted(everything.functions - usual.functions),
        "bodies": sorted(everything.bodies - everything.functions),
    }
    return "\n".join(f"[{name}]\n" + "".join(f"{symbol}\n" for symbol in symbols) for name, symbols in parts.items())


def main() -> None:
    """Write the list."""
    sys.setrecursionlimit(10_000)
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        stdlib = settings(cache)[0].stdlib
        (stdlib / kept_library.LIST).write_text(text(*made(cache)), "utf-8")


if __name__ == "__main__":
    main()
