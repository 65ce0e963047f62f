"""Options and environment to one frozen `Config`. Nothing else reads the environment.

In: `Options`, unset ones None, as the command line gave them. Out: `Config`, every field concrete, targets as objects.
What is slow to find out about this machine (its processor, its GPUs) is kept in the cache.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path

from ktc import targets
from ktc.base.cache import DEFAULT_MAX_BYTES, Cache, Key
from ktc.base.fingerprints import toolchain_fingerprint
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.records import record, replace
from ktc.targets import checked, float_modes, gpu_detection
from ktc.targets import host as hosts
from ktc.targets.cpu import THREAD_FORMS
from ktc.targets.target import Target

EMIT_KINDS = ("exe", "shared-lib", "object", "llvm", "asm")
OFFLOAD_MODES = ("all-kernel", "per-kernel")
DIAGNOSTIC_FORMATS = ("text", "json")
SUFFIXES = (".kpy", ".mojo", ".🔥")
"""Of source files, in the order in which they are looked for."""

DEFAULT_LEVEL = 3
CHECKED_LEVEL = 2
DEBUG_LEVELS = ("none", "line-tables", "full")  # by number, as `--debug-level` names them
_LEVEL_NAME = "__OPTIMIZATION_LEVEL"  # what sys.compile reads, with the values of the build
_DEBUG_NAME = "__DEBUG_LEVEL"
FULL_DEBUG = 2


@record
class Options:
    """What the user asked for; None where nothing was said.

    Args:
        root: the main file.
        accelerators: targets of kernels, with commas between.
        defines: `name=value` or `name`.
        checks: which mistakes of the program are looked for; None: none.
        json: whether what the program reports is for tools.
        writes: whether `output` will be written, so that it is worth a look before the work.
    """

    root: Path
    output: Path | None = None
    emit: str | None = None
    level: int | None = None
    debug: int | None = None
    defines: tuple[str, ...] = ()
    search: tuple[Path, ...] = ()
    accelerators: str | None = None
    triple: str | None = None
    cpu: str | None = None
    features: str | None = None
    jobs: int | None = None
    offload_mode: str | None = None
    fp_mode: int = 0
    embed_cubin: bool = False
    cpu_threads: str | None = None
    checks: tuple[str, ...] | None = None
    json: bool = False
    writes: bool = False


@record
class Config:
    """What a build does.

    Args:
        root: the main file.
        search: folders of modules beside the main file's own.
        stdlib: folder of the standard library.
        toolchain: a digest that changes with ktc itself and with its library.
        defines: values for `sys.param_env`.
        level: -O0 to -O3.
        debug: 0 none, 1 line tables, 2 full.
        host: where the program runs.
        accelerators: targets of its kernels, the best first.
        output: the file to write.
        emit: one of `EMIT_KINDS`.
        jobs: processes of LLVM at once.
        offload_mode: one of `OFFLOAD_MODES`.
        embed_cubin: the executable has machine code of NVIDIA's kernels beside their PTX.
        cpu_threads: how the CPU device runs the threads of a block, one of `targets.cpu.THREAD_FORMS`.
    """

    root: Path
    host: Target
    accelerators: tuple[Target, ...]
    output: Path
    stdlib: Path
    toolchain: str = ""
    search: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    level: int = DEFAULT_LEVEL
    debug: int = 0
    emit: str = "exe"
    jobs: int = 1
    offload_mode: str = "all-kernel"
    embed_cubin: bool = False
    cpu_threads: str = THREAD_FORMS[0]

    @property
    def is_release(self) -> bool:
        """False for a build that is made to be debugged (`-g`, `-g2`)."""
        return self.debug < FULL_DEBUG


PREBUILT = Path(__file__).resolve().parent / "prebuilt"
"""What a wheel carries of the library, compiled (`driver/prebuilt.py`); a checkout has none."""


def stdlib_folder() -> Path:
    """Return the standard library's folder: beside this one in a checkout, inside it where ktc is installed."""
    here = Path(__file__).resolve().parent
    inside = here / "stdlib"
    return inside if inside.is_dir() else here.parent / "stdlib"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return where the cache is; None if KTC_CACHE_DIR is set to nothing: keep nothing."""
    named = environment.get("KTC_CACHE_DIR")
    if named is not None:
        return Path(named).absolute() if named else None
    from platformdirs import user_cache_path

    return user_cache_path("ktc", appauthor=False)


def open_cache(environment: Mapping[str, str] = os.environ) -> Cache:
    """Return the cache; KTC_CACHE_SIZE is its bound in MiB."""
    size = environment.get("KTC_CACHE_SIZE", "")
    bound = int(size) << 20 if size.isdecimal() else DEFAULT_MAX_BYTES
    return Cache(cache_folder(environment), bound, spare=PREBUILT if PREBUILT.is_dir() else None)


def environment_with(changes: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a command that is started with some variables changed."""
    return {**environment, **changes}


def wants_color(is_terminal: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """Say whether to write colours: on a terminal or with FORCE_COLOR, unless NO_COLOR is set or it is `dumb`."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return is_terminal and environment.get("TERM") != "dumb"


def resolve(options: Options, sink: Sink, cache: Cache, environment: Mapping[str, str] = os.environ) -> Config | None:
    """Make every option concrete; None if one of them cannot be.

    Reports: UNKNOWN_TARGET, FILE_ERROR.
    """
    host = _host(options, sink, cache)
    if host is None:
        return None
    root = _program(options.root, sink)
    accelerators = _accelerators(options.accelerators, host, sink, cache, environment)
    accelerators = _with_options(accelerators, options, sink)
    emit = options.emit or "exe"
    output = options.output or _output(options.root, _suffix(emit))
    if options.writes:
        _check_output(output, options.root, sink)
    if sink.error_count:
        return None
    level, debug = DEFAULT_LEVEL if options.level is None else options.level, options.debug or 0
    checks: dict[str, str] = {}
    if options.checks:
        checks = checked.defines(options.checks, accelerators, options.json)
        level, debug = CHECKED_LEVEL if options.level is None else options.level, max(debug, 1)
        host = checked.checked(host, options.checks)
        processors_of = [target for target in accelerators if target.vendor == "cpu"]
        processors_of = processors_of or [target for target in (targets.find("cpu", host),) if target is not None]
        accelerators = tuple([checked.checked(target, options.checks) for target in processors_of])
    defines = {_LEVEL_NAME: str(level), _DEBUG_NAME: DEBUG_LEVELS[debug]}
    defines |= dict(define.partition("=")[::2] for define in options.defines) | checks
    stdlib = stdlib_folder()
    return Config(
        root=root, host=host, accelerators=accelerators, output=output, stdlib=stdlib,
        toolchain=toolchain_fingerprint(stdlib), search=(*options.search, *_import_path(environment)),
        defines=defines, emit=emit, debug=debug, level=level,
        jobs=options.jobs or processors(), offload_mode=options.offload_mode or OFFLOAD_MODES[0],
        embed_cubin=options.embed_cubin,
        cpu_threads=options.cpu_threads or THREAD_FORMS[0],
    )  # fmt: skip


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
    """Return what is written where nothing else is said: the program's name, with another ending for a folder's."""
    if not root.is_dir():
        return Path(root.stem + suffix)
    name = root.resolve().name
    return Path(name + (suffix or (".out" if Path(name).is_dir() else "")))


def _import_path(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders of `KTC_IMPORT_PATH`, which are searched after those of `-I`."""
    return tuple(Path(part) for part in environment.get("KTC_IMPORT_PATH", "").split(os.pathsep) if part)


def local_gpus(cache: Cache, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the targets of this machine's GPUs, each once; asks a driver only when it or its devices changed."""
    version = gpu_detection.cuda_driver_version()
    if not version:
        return tuple(dict.fromkeys(gpu.target for gpu in (*gpu_detection.amd_gpus(), *gpu_detection.apple_gpus())))
    devices = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    visible = environment.get("CUDA_VISIBLE_DEVICES", "all")
    key = Key.of("gpus", driver=str(version), kernel=_driver_build(), devices=" ".join(devices), visible=visible)
    kept = cache.get(key)
    if kept is not None:
        return tuple(kept.decode().split())
    found = tuple(dict.fromkeys(gpu.target for gpu in gpu_detection.gpus()))
    if found:  # a driver that could not start now may start the next time
        cache.put(key, " ".join(found).encode())
    return found


def _driver_build() -> str:
    try:
        return Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""


def _accelerators(
    wanted: str | None, host: Target, sink: Sink, cache: Cache, environment: Mapping[str, str]
) -> tuple[Target, ...]:
    if wanted is None:
        names = [name for name in local_gpus(cache, environment) if targets.find(name, host) is not None][:1]
        names.append("cpu")
    else:
        names = [name.strip() for name in wanted.split(",")]
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


def processor(cache: Cache) -> hosts.Processor:
    """Return what LLVM says about this machine, from the cache if it was asked before."""
    key = Key.of("processor", identity=hosts.identity())
    kept = cache.get(key)
    if kept is not None:
        words = kept.decode().split("\n")
        if len(words) == 3:
            return hosts.Processor(*words)
    found = hosts.detect()
    cache.put(key, "\n".join(asdict(found).values()).encode())
    return found


def _suffix(emit: str) -> str:
    shared = ".dylib" if sys.platform == "darwin" else ".so"
    return {"exe": "", "shared-lib": shared, "object": ".o", "llvm": ".ll", "asm": ".s"}[emit]


def _check_output(output: Path, root: Path, sink: Sink) -> None:
    """Find out before the work what cannot be written after it."""
    why = ""
    if root.is_dir():
        return  # which reading it tells
    if output.is_dir():
        why = "it is a folder"
    elif not output.parent.is_dir():
        why = f"the folder '{output.parent}' does not exist"
    elif output.exists() and root.exists() and output.samefile(root):
        why = "it is the source file"
    if why:
        sink.report(Diagnostic(Code.FILE_ERROR, None, f"cannot write '{output}': {why}"))


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
