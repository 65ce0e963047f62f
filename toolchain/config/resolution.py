"""Options to one `Config`: every field concrete, targets as objects."""

import os
from collections.abc import Mapping
from pathlib import Path

from ktc import targets
from ktc.base.cache import Cache, Key
from ktc.base.fingerprints import toolchain_fingerprint
from ktc.base.library import stdlib_folder
from ktc.base.records import replace
from ktc.config import tuned as tuning_files
from ktc.config.environment import import_path, processors, project_file
from ktc.config.machine import installed_packages, local_gpus, processor
from ktc.config.options import (
    CHECKED_LEVEL,
    DEBUG_LEVELS,
    DEFAULT_LEVEL,
    LIBRARIES,
    OFFLOAD_MODES,
    SUFFIXES,
    Config,
    Options,
)
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.targets import checked, float_modes, triples
from ktc.targets import host as hosts
from ktc.targets.cpu import THREAD_FORMS
from ktc.targets.target import Target

_LEVEL_NAME = "__OPTIMIZATION_LEVEL"  # what sys.compile reads, with the values of the build
_DEBUG_NAME = "__DEBUG_LEVEL"


def resolve(options: Options, sink: Sink, cache: Cache, environment: Mapping[str, str] = os.environ) -> Config | None:
    """Make every option concrete; None if one of them cannot be.

    Reports: UNKNOWN_TARGET, FILE_ERROR, INVALID_PROJECT.
    """
    host = _host(options, sink, cache)
    if host is None:
        return None
    root = _program(options.root, sink)
    include = _included(options.root, sink)
    accelerators = _accelerators(options.accelerators, host, sink, cache, environment)
    accelerators = _with_options(accelerators, options, sink)
    emit = options.emit or "exe"
    suffix = _suffix(emit, host)
    output = options.output or (Path(options.program + suffix) if options.program else _output(options.root, suffix))
    if options.writes:
        _check_output(output, options.root, sink)
    if sink.error_count:
        return None
    level, debug = DEFAULT_LEVEL if options.level is None else options.level, options.debug or 0
    checks: dict[str, str] = {}
    if options.checks:
        level, debug = level if options.level is not None else CHECKED_LEVEL, max(debug, 1)
        host = checked.checked(host, options.checks)
        kept = _checked_devices(accelerators, options.checks, host)
        if options.level is None and any(target.vendor in checked.GPUS for target in kept):
            level = DEFAULT_LEVEL  # so that what a GPU takes longer is the checks'
        checks = checked.defines(options.checks, accelerators or kept, options.json)
        accelerators = tuple([checked.checked(target, options.checks) for target in kept])
    if options.hardened:
        host = replace(host, is_hardened=True)
        accelerators = tuple([replace(one, is_hardened=one.vendor == "cpu") for one in accelerators])
    defines = {_LEVEL_NAME: str(level), _DEBUG_NAME: DEBUG_LEVELS[debug]}
    defines |= dict(define.partition("=")[::2] for define in options.defines) | checks
    defines |= _tuned(options, root, accelerators, sink)
    if sink.error_count:
        return None
    stdlib = stdlib_folder()
    return Config(
        root=root, host=host, accelerators=accelerators, output=output, stdlib=stdlib,
        toolchain=toolchain_fingerprint(stdlib), search=(*options.search, *include, *import_path(environment)),
        defines=defines, emit=emit, debug=debug, level=level,
        jobs=options.jobs or processors(), offload_mode=options.offload_mode or OFFLOAD_MODES[0],
        embed_cubin=options.embed_cubin,
        cpu_threads=options.cpu_threads or THREAD_FORMS[0],
        places=options.debug != 0 and emit not in LIBRARIES,
        libraries=options.libraries, library_folders=tuple([str(folder) for folder in options.library_folders]),
        module=options.module or output.name.partition(".")[0] if emit == "python-extension" else "",
        soname=options.soname, symbol_version=options.symbol_version, edition=options.edition,
        installed=installed_packages(cache, environment),
    )  # fmt: skip


def _included(root: Path, sink: Sink) -> tuple[Path, ...]:
    """Return the folders in which a program's project has imports looked for."""
    file = project_file(root)
    if file is None:
        return ()
    from ktc.config.project import BadProject, read  # late: only in a project

    try:
        return read(file).include
    except BadProject as error:
        sink.report(error.diagnostic)
        return ()


def _checked_devices(accelerators: tuple[Target, ...], checks: tuple[str, ...], host: Target) -> tuple[Target, ...]:
    """Return the targets of a checked program: GPUs whose kernels look for anything, and the CPU if it is needed."""
    vendors = ("cpu", *checked.GPUS) if checked.runs_on_gpus(checks) else ("cpu",)
    kept = tuple([target for target in accelerators if target.vendor in vendors])
    if any(target.vendor == "cpu" for target in kept) or (kept and checked.REPLAY not in checks):
        return kept
    return (*kept, *[target for target in (targets.find("cpu", host),) if target is not None])


def _tuned(options: Options, root: Path, accelerators: tuple[Target, ...], sink: Sink) -> dict[str, str]:
    """Return the values of a tuning file as defines."""
    if options.tuned is None:
        return {}
    try:
        names = [target.name for target in accelerators]
        return tuning_files.defines(options.tuned, root, names, options.tuned_device)
    except tuning_files.BadTuningFile as error:
        sink.report(Diagnostic(Code.FILE_ERROR, None, str(error), "'ktc tune' creates one"))
        return {}


def _with_options(targets: tuple[Target, ...], options: Options, sink: Sink) -> tuple[Target, ...]:
    """Return the targets with the options that are for some of them; one that none of them knows is an error."""
    named = ", ".join(target.name for target in targets)
    if options.embed_cubin and not any(target.vendor == "nvidia" for target in targets):
        text = f"--embed-cubin is for NVIDIA GPUs, and the targets are {named}"
        sink.report(Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text))
    if not options.fp_mode:
        return targets
    if not any(target.vendor in float_modes.VENDORS for target in targets):
        text = f"--fp-mode is for NVIDIA and AMD GPUs, and the targets are {named}"
        sink.report(Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, text))
    return tuple(
        replace(target, floats=options.fp_mode) if target.vendor in float_modes.VENDORS else target
        for target in targets
    )


def _program(root: Path, sink: Sink) -> Path:
    """Return the file of a program: of a folder its `__main__`."""
    if not root.is_dir():
        return root
    for suffix in SUFFIXES:
        if (root / f"__main__{suffix}").is_file():
            return root / f"__main__{suffix}"
    message = f"'{root}' is a folder, and no program: it has no file '__main__{SUFFIXES[0]}'"
    sink.report(Diagnostic(Code.FILE_ERROR, None, message, "name the file with 'main' in it"))
    return root


def _output(root: Path, suffix: str) -> Path:
    """Return the default output: the program's name, with another ending for a folder's."""
    if not root.is_dir():
        return Path(root.stem + suffix)
    name = root.resolve().name
    return Path(name + (suffix or (".out" if Path(name).is_dir() else "")))


def _accelerators(
    requested: str | None, host: Target, sink: Sink, cache: Cache, environment: Mapping[str, str]
) -> tuple[Target, ...]:
    if requested is None:
        names = [name for name in local_gpus(cache, environment) if targets.find(name, host) is not None][:1]
        names.append("cpu")
    else:
        names = [name.strip() for name in requested.split(",")]
    found: dict[str, Target] = {}
    for name in names:
        target = targets.find(name, host)
        if target is not None:
            found.setdefault(target.name, target)
            continue
        near = targets.nearest(name)
        help = f"did you mean {_listed(near)}?" if near else "'ktc targets' lists them"
        sink.report(Diagnostic(Code.UNKNOWN_TARGET, None, f"there is no target '{name}'", help))
    return tuple(found.values())


def _listed(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _host(options: Options, sink: Sink, cache: Cache) -> Target | None:
    triple, cpu, features = options.triple or "", options.cpu or "", options.features or ""
    host = hosts.host_target(triple, cpu, features, processor(cache))
    if host is None:
        known = ", ".join(hosts.supported_architectures())
        name = triple or processor(cache).triple
        message = f"ktc cannot compile host code for '{name}'"
        sink.report(Diagnostic(Code.UNKNOWN_TARGET, None, message, f"its architecture must be one of {known}"))
    elif cpu or features:
        _check_processor(host.triple, cpu, features, sink, cache)
    return host


def _check_processor(triple: str, cpu: str, features: str, sink: Sink, cache: Cache) -> None:
    key = Key.of("unknown-words", triple=triple, cpu=cpu, features=features)
    kept = cache.get(key)
    unknown = tuple(kept.decode().split()) if kept is not None else hosts.unknown_words(triple, cpu, features)
    if kept is None:
        cache.put(key, " ".join(unknown).encode())
    for word in unknown:
        what, option = ("processor", "--target-cpu") if word == cpu else ("feature", "--target-features")
        text = f"'{triple}' has no {what} '{word}'"
        sink.report(Diagnostic(Code.UNKNOWN_TARGET, None, text, f"give {option} a name that LLVM knows"))


def _suffix(emit: str, host: Target) -> str:
    system = triples.parsed(host.triple).system
    shared = {triples.MACOS: ".dylib", triples.WINDOWS: ".dll"}.get(system, ".so")
    return {
        "exe": ".exe" if system == triples.WINDOWS else "", "shared-lib": shared, "static-lib": ".a",
        "python-extension": ".abi3.so", "object": ".o", "llvm": ".ll", "asm": ".s",
    }[emit]  # fmt: skip


def _check_output(output: Path, root: Path, sink: Sink) -> None:
    """Find out before the work what cannot be written after it."""
    reason = ""
    if root.is_dir():
        return  # reading the file reports it
    if output.is_dir():
        reason = "it is a folder"
    elif not output.parent.is_dir():
        reason = f"the folder '{output.parent}' does not exist"
    elif output.exists() and root.exists() and output.samefile(root):
        reason = "it is the source file"
    if reason:
        sink.report(Diagnostic(Code.FILE_ERROR, None, f"cannot write '{output}': {reason}"))
