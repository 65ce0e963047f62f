"""Builds from Python: `build`, `emit`, and the functions that `load` and `kernel` share.

Input: a file, or a text that stands for one, and options. Output: files, texts, or what a build made. Builds with
nothing to do come from the cache, as those of the command line do.
"""

import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, TypedDict, TypeVar, Unpack

from ktc import config as configs
from ktc.api.errors import error_of
from ktc.base.cache import Cache
from ktc.base.editions import EDITIONS, Edition
from ktc.base.records import record, replace
from ktc.base.similarity import close_matches
from ktc.base.version import VERSION
from ktc.config import Config, Options
from ktc.diag.codes import Code
from ktc.diag.diagnostic import CompileError as Failed
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Source
from ktc.driver import build_cache, guard, pipeline
from ktc.driver.front_end import stages
from ktc.driver.session import Session
from ktc.interop.c_header import header as header_text
from ktc.ir.exports import Exports

T = TypeVar("T")
_Names: TypeAlias = Sequence[str | os.PathLike[str]]
_HIGHEST = MappingProxyType({"optimization_level": 3, "debug": 2})
_TEXTS = ("ast", "ir", "llvm", "llvm-opt", "asm")


class BuildOptions(TypedDict, total=False):
    """Options of every function that compiles; the command line has the same.

    target: devices of kernels, with commas between ("sm_90,cpu"; default: those of this machine).
    optimization_level: 0 to 3. debug: 0 to 2. defines: for `sys.param_env`. include: folders of modules.
    libraries, library_folders: as `-l` and `-L`. target_cpu: the host's processor. edition: "2025" or "2026".
    """

    target: str
    optimization_level: int
    debug: int
    defines: Mapping[str, str]
    include: Sequence[str | os.PathLike[str]]
    libraries: Sequence[str]
    library_folders: Sequence[str | os.PathLike[str]]
    target_cpu: str
    edition: str


@record
class Made:
    """The result of a build.

    Args:
        warnings: the program's warnings.
        reads: the program's own files.
    """

    config: Config
    cache: Cache
    data: bytes
    exports: Exports
    warnings: tuple[Diagnostic, ...] = ()
    reads: tuple[str, ...] = ()


@record
class BuildRequest:
    """A build to make: the program, the kind of output, the options.

    Args:
        text: stands for the file, if it is not "".
        module: Python's name of an extension module.
    """

    path: Path
    emit: str
    options: BuildOptions
    text: str = ""
    module: str = ""
    output: Path | None = None


@record
class Text:
    """The output of a stage.

    Args:
        reads: the program's own files.
    """

    data: bytes
    exports: Exports
    reads: tuple[str, ...]


def make(request: BuildRequest) -> Made:
    """Build what is wished, or take it from the cache.

    Raises:
        CompileError: the program has errors.
    """
    return _guarded(request, _made)


def _made(request: BuildRequest, config: Config, cache: Cache, sink: Sink) -> Made:
    form = request.emit if not request.text else f"{request.emit} {sha256(request.text.encode()).hexdigest()}"
    kept, entries = build_cache.find(config, form, cache), build_cache.find(config, f"{form} exports", cache)
    if kept is not None and entries is not None:
        found, reads = pickle.loads(entries.data)
        return Made(config, cache, kept.data, found, kept.warnings, reads)
    with tempfile.TemporaryDirectory(prefix="ktc-build-") as folder:
        session = _session(request, replace(config, output=Path(folder, config.output.name)), cache, sink)
        data = pipeline.build(session).path.read_bytes()
    warnings = tuple(sink.warnings)
    build_cache.keep(config, form, cache, reads=session.reads, data=data, warnings=warnings)
    reads = _own_files(session)
    exports = pickle.dumps((session.exports, reads))
    build_cache.keep(config, f"{form} exports", cache, reads=session.reads, data=exports)
    return Made(config, cache, data, session.exports, warnings, reads)


def _own_files(session: Session) -> tuple[str, ...]:
    """Return the files that a build has read, without the library's."""
    library = str(session.config.stdlib)
    return tuple([path for path, read in session.reads.items() if read is not None and not path.startswith(library)])


def text_of(request: BuildRequest, kind: str, kernel: str = "", on_device: bool = False) -> Text:
    """Return the output of a stage, of the host or of a kernel.

    Raises:
        CompileError: the program has errors, or the kernel cannot be chosen.
    """

    def work(request: BuildRequest, config: Config, cache: Cache, sink: Sink) -> Text:
        form = f"{kind} {kernel} {on_device} {sha256(request.text.encode()).hexdigest()}"
        kept = build_cache.find(config, form, cache)
        if kept is not None:
            found: Text = pickle.loads(kept.data)
            return found
        session = _session(request, config, cache, sink)
        data = pipeline.emit(session, kind, kernel, on_device)
        result = Text(data, session.exports, _own_files(session))
        build_cache.keep(config, form, cache, reads=session.reads, data=pickle.dumps(result))
        return result

    return _guarded(request, work)


def check(request: BuildRequest) -> None:
    """Report what is wrong with a file of which nothing is built yet: neither `main` nor exports are wanted.

    Raises:
        CompileError: the program has errors.
    """

    def work(request: BuildRequest, config: Config, cache: Cache, sink: Sink) -> None:
        stages.check(_session(request, config, cache, sink))
        sink.withdraw(lambda one: one.code is Code.MISSING_MAIN)

    _guarded(replace(request, emit="exe"), work)


def kernel_texts(request: BuildRequest) -> str:
    """Return the assembly of all kernels for GPUs."""

    def work(request: BuildRequest, config: Config, cache: Cache, sink: Sink) -> str:
        found = pipeline.kernel_texts(_session(request, config, cache, sink))
        return "\n".join([text.decode() for _, _, _, text in found])

    return _guarded(request, work)


def _session(request: BuildRequest, config: Config, cache: Cache, sink: Sink) -> Session:
    session = Session(config, cache, sink)
    if request.text:
        session.overlays = {os.path.abspath(request.path): Source(str(request.path), request.text)}
    return session


def _guarded(request: BuildRequest, work: Callable[[BuildRequest, Config, Cache, Sink], T]) -> T:
    """Do something on a stack that is large enough; diagnostics become an exception."""
    sink, cache, options = Sink(), configs.open_cache(), _options(request)
    results: list[T] = []

    def body() -> int:
        try:
            config = configs.resolve(options, sink, cache)
            if config is not None and not sink.error_count:
                results.append(work(request, config, cache, sink))
        except Failed as error:
            for one in error.diagnostics:
                if one not in sink.diagnostics:
                    sink.report(one)
        return 0

    code = guard.run(body, lambda: guard.Crash(cache.folder, {"ktc": VERSION, "command": "import ktc"}))
    if code == guard.INTERRUPTED:
        raise KeyboardInterrupt
    if code:
        raise RuntimeError("ktc failed; its report is on standard error")
    if sink.error_count or not results:
        raise error_of(sink.diagnostics)
    return results[0]


def _options(request: BuildRequest) -> Options:
    given = request.options
    for name in given:
        if name not in BuildOptions.__annotations__:
            near = close_matches(name, BuildOptions.__annotations__, 1)
            raise TypeError(f"there is no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
    for word, highest in _HIGHEST.items():
        number = given.get(word, 0)
        if not isinstance(number, int) or not 0 <= number <= highest:
            raise ValueError(f"{word} must be a number from 0 to {highest}, not {number!r}")
    return Options(
        root=request.path, output=request.output, emit=request.emit, level=given.get("optimization_level"),
        debug=given.get("debug"), accelerators=given.get("target"), cpu=given.get("target_cpu"), module=request.module,
        defines=tuple([f"{name}={value}" for name, value in given.get("defines", {}).items()]),
        search=tuple([Path(folder) for folder in _several(given.get("include", ()))]),
        libraries=tuple([os.fspath(name) for name in _several(given.get("libraries", ()))]),
        writes=request.output is not None, edition=edition_of(given),
        library_folders=tuple([Path(folder) for folder in _several(given.get("library_folders", ()))]),
    )  # fmt: skip


def edition_of(options: BuildOptions) -> Edition | None:
    """Return the edition that options name.

    Raises:
        ValueError: there is no such edition.
    """
    given = options.get("edition")
    if given is not None and given not in EDITIONS:
        raise ValueError(f"edition must be one of {', '.join(EDITIONS)}, not {given!r}")
    return Edition(given) if given is not None else None


def _several(given: _Names | str | os.PathLike[str]) -> _Names:
    """Return the given names; a single name as a list of one."""
    return [given] if isinstance(given, str | os.PathLike) else given


def build(
    source: str | os.PathLike[str], output: str | os.PathLike[str] | None = None, *, emit: str = "exe",
    header: str | os.PathLike[str] | None = None, **options: Unpack[BuildOptions],
) -> Path:  # fmt: skip
    """Compile a file to an executable or a library, as `ktc build` does; return what was written.

    Args:
        emit: "exe", "shared-lib", "static-lib", "python-extension", "object", "llvm" or "asm".
        header: where to write a C header of a library's exports.

    Raises:
        CompileError: the program has errors.
        ValueError: `emit` is none of these.
    """
    if emit not in configs.EMIT_KINDS:
        raise ValueError(f"emit must be one of {', '.join(configs.EMIT_KINDS)}, not '{emit}'")
    request = BuildRequest(Path(source), emit, options, output=Path(output) if output is not None else None)
    made = make(request)
    sink = Sink()
    written = build_cache.write(made.config, made.data, sink)
    if sink.error_count:
        raise error_of(sink.diagnostics)
    if header is not None:
        Path(header).write_text(header_text(made.exports, Path(header).stem), "utf-8")
    return written.path


def emit(
    source: str | os.PathLike[str], kind: str = "llvm", *, kernel: str = "", **options: Unpack[BuildOptions]
) -> str:
    """Return the text of a stage, as `ktc emit` shows it: of the host, or with `target` or `kernel` of a kernel.

    Args:
        kind: "ast", "ir", "llvm", "llvm-opt" or "asm" ("ptx" means "asm").

    Raises:
        CompileError: the program has errors, or the kernel cannot be chosen.
        ValueError: there is no such kind.
    """
    kind = "asm" if kind == "ptx" else kind
    if kind not in _TEXTS:
        raise ValueError(f"kind must be one of {', '.join(_TEXTS)}, not '{kind}'")
    on_device = bool(kernel) or "target" in options
    return text_of(BuildRequest(Path(source), "llvm", options), kind, kernel, on_device).data.decode()


def scratch(made: Made) -> Path:
    """Return a folder for files that Python loads."""
    folder = made.cache.folder
    found = folder / "python" if folder is not None else Path(os.path.realpath(os.curdir), ".ktc")
    found.mkdir(parents=True, exist_ok=True)
    return found
