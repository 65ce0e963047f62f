"""Whole builds that are kept: the output, and the digest of every file that it depends on.

Input: a `Config`. Output: the output of an earlier build with it, if no file has changed since. A build with nothing to
do runs only this module, so it imports neither the compiler nor LLVM.
"""

import os
import pickle
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from ktc.base import unpickling
from ktc.base.cache import Cache, Key, digest
from ktc.base.records import record
from ktc.config import LIBRARIES, Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.emit.linking.link import Executable, install
from ktc.emit.tools import find_ptxas, stamp_of_ptxas
from ktc.targets.target import Target


@record
class CachedBuild:
    """The result of a build: its bytes (an executable, an object, a text), its warnings, and the files that it read."""

    data: bytes
    warnings: tuple[Diagnostic, ...] = ()
    reads: Mapping[str, str | None] = field(default_factory=dict)


def find(config: Config, form: str, cache: Cache) -> CachedBuild | None:
    """Return the output of the same build before, or None if any of its files is different now.

    Args:
        form: the form of the output ("exe", "objects", "asm").
    """
    raw = cache.get(index_key(config, form))
    if raw is None:
        return None
    index = unpickling.loads(raw)
    if not isinstance(index, tuple):
        return None
    reads, result, warnings = index
    if any(_digest_file(path) != before for path, before in reads.items()):
        return None
    data = cache.get(result)
    if data is None:
        return None
    kept = cache.get(warnings) if warnings else b""
    if kept is None:
        return None
    shown = unpickling.loads(kept) if kept else ()
    return CachedBuild(data, shown, reads) if isinstance(shown, tuple) else None


def keep(
    config: Config,
    form: str,
    cache: Cache,
    *,
    reads: Mapping[str, str | None],
    data: bytes,
    warnings: tuple[Diagnostic, ...] = (),
) -> None:
    """Keep the output of a build from the files `reads` (path to digest, None for a file that was not there)."""
    result, shown = digest("result", data), ""
    cache.put(result, data)
    if warnings:
        pickled = pickle.dumps(warnings)
        shown = digest("warnings", pickled)
        cache.put(shown, pickled)
    cache.put(index_key(config, form), pickle.dumps((dict(reads), result, shown)))


def write(config: Config, data: bytes, sink: Sink, is_executable: bool | None = None) -> Executable:
    """Write a build's output to the path that the config names; it appears whole or not at all.

    Args:
        is_executable: by default as `config.emit` says.

    Reports: FILE_ERROR.
    """
    output = config.output
    if is_executable is None:
        is_executable = config.emit in ("exe", "shared-lib", "python-extension")
    try:
        install(data, output)
        if not is_executable and output.is_file():
            output.chmod(output.stat().st_mode & ~0o111)
    except OSError as error:
        report_unwritable(config, error, sink)
    return Executable(output, len(data))


def report_unwritable(config: Config, error: OSError, sink: Sink) -> None:
    """Report that the output could not be written."""
    reason = (error.strerror or str(error)).lower()
    sink.report(Diagnostic(Code.FILE_ERROR, None, f"cannot write '{config.output}': {reason}"))


def describe(target: Target) -> str:
    """Return the facts of a target that a user can choose; the rest is ktc's own and in the fingerprints."""
    facts = (target.name, target.triple, target.cpu, target.features, str(target.floats), str(target.is_hardened))
    return "\n".join((*facts, *target.checks))


def index_key(config: Config, form: str) -> Key:
    """Return the key of a whole build, but for the files that it reads."""
    defines = [f"{name}={value}" for name, value in sorted(config.defines.items())]
    return Key.of(
        "build",
        form=form,
        file=os.path.abspath(config.root),
        shown=str(config.root),  # warnings and debug information name the file as the user did
        search="\n".join(os.path.abspath(folder) for folder in config.search),
        defines="\n".join(defines),
        level=str(config.level),
        debug=str(config.debug),
        host=describe(config.host),
        accelerators="\n\n".join(describe(target) for target in config.accelerators),
        offload=config.offload_mode,
        embeds=f"{config.embed_cubin} {stamp_of_ptxas(find_ptxas()) if config.embed_cubin else ''}",
        threads=config.cpu_threads,
        places=str(config.places),
        links="\n".join(("-l", *config.libraries, "-L", *map(os.path.abspath, config.library_folders))),
        names=f"{config.soname} {config.symbol_version} {config.emit in LIBRARIES} {config.module}",
        edition=config.edition.value if config.edition is not None else "",
        installed="\n".join(f"{one.name} {one}" for one in config.installed),
        toolchain=config.toolchain,
    )


def _digest_file(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
