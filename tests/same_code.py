"""Compare the code that two versions of ktc make of many programs: the working tree's and that of a git ref.

    python tests/same_code.py [--base main] [--quick] [--programs FOLDER…] [--executables] [--emitted] [-j N] [NAME…]

Of each program the diagnostics, the LLVM text of the host, and that of each kernel for sm_80, gfx942 and the CPU are
compared, byte for byte; so is the compiled library. Programs are those of tests/, benchmarks/ and examples/ of the
working tree, and of further folders (`--programs`); NAMEs choose the ones whose path contains one of them, `--quick`
every eighth. With `--emitted` it is what the rewriters of `emit/` make instead, of programs with kernels: kernels of
the CPU device as loops, host and kernels with the checks of `--check`, loops and checks of GPUs after LLVM's passes,
the text for SPIR-V, AIR and its bitcode. LLVM's passes run over code for GPUs, and not over what is ready for a
processor.
One line for each program that differs, with the first lines that do; exit status 1 if any does.
What a ref made is kept in build/same-code, so a second comparison with it costs half.

Each version runs in one process that loads ktc, gets the library archive, and forks for each program.
"""

import argparse
import difflib
import gc
import hashlib
import importlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "same-code"
SOURCES = ("toolchain", "stdlib", "grammar")
TARGETS = ("sm_80", "gfx942", "cpu")
EMITTED = (("sm_80,gfx942,cpu,opencl,apple-m1", ""), ("cpu", "all"), ("sm_80,gfx942,cpu", "bounds"))
"""With `--emitted`: targets, and what `--check` looks for."""
QUICK = 8
"""Every eighth program."""
BASES = 4
"""As many versions' results are kept."""
SHOWN = 12
"""Lines of a difference."""
LIBRARY = "the library"
"""Stands for a program: the library archive's own code."""


# -- what one version makes ------------------------------------------------------------------------------------------


def load_version(tree: Path, work: Path) -> Any:
    """Make `import ktc` find the package of this tree, and return its module of the pipeline."""
    (work / "ktc").symlink_to(tree / "toolchain")
    sys.path.insert(0, str(work))
    package = importlib.import_module("ktc")
    package.__path__.append(str(tree))  # for ktc.grammar and ktc.stdlib
    assert Path(package.__file__ or "").resolve().is_relative_to(tree), package.__file__
    return module("driver.pipeline", "driver")


def module(*names: str) -> Any:
    """Return the first module of ktc that exists; versions differ in where they have it."""
    for name in names:
        try:
            return importlib.import_module(f"ktc.{name}")
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"ktc has none of {', '.join(names)}")


class _Text(NamedTuple):
    """A host's module."""

    target: Any
    text: str


class Version:
    """One version of ktc, loaded."""

    def __init__(self, tree: Path, work: Path, cache: Path, jobs: int) -> None:
        self.tree, self.jobs = tree, jobs
        self.pipeline = load_version(tree, work)
        self.config = module("config.resolve", "config")
        self.options = module("config.options", "config").Options
        self.sink = module("diag.diagnostic").Sink
        self.render = module("diag.render").render_text
        self.archives = module("driver.library_archive", "driver.archives", "archives")
        self.workers = module("emit.workers").Workers
        self.failed = (module("diag.diagnostic").CompileError, module("diag.diagnostic").Bug)
        self.cache = module("base.cache", "cache").Cache(cache)

    def session(
        self, source: Path, accelerators: str, flags: list[str], output: Path | None = None, checks: str = ""
    ) -> Any:
        """Return a session for a program with these options."""
        parser = argparse.ArgumentParser()
        parser.add_argument("-D", action="append", default=[])
        parser.add_argument("-I", action="append", default=[], type=Path)
        parser.add_argument("-O", type=int)
        words, _ = parser.parse_known_args(flags)
        sink = self.sink()
        options = self.options(
            source, accelerators=accelerators, defines=tuple(words.D), search=tuple(words.I), level=words.O,
            output=output, jobs=1, checks=module("targets.checked").parse(checks) if checks else None,
        )  # fmt: skip
        made = self.config.resolve(options, sink, self.cache)
        assert made is not None, sink.diagnostics
        return self.pipeline.Session(made, self.cache, sink)

    def library(self, source: Path, accelerators: str = ",".join(TARGETS), checks: str = "") -> Any:
        """Return the library archive, made if there is none."""
        with self.workers(self.jobs) as workers:
            config = self.session(source, accelerators, [], checks=checks).config
            if hasattr(self.archives, "settled"):
                module("driver.prebuilt").fill(config, self.cache, workers)
                return self.archives.find(config, self.cache).library
            archive = self.archives.find(config, self.cache, workers)  # before November 2026
            archive.finished(self.cache, workers)
        return archive.library

    def library_texts(self, source: Path, checks: str = "") -> Iterator[tuple[Any, str]]:
        """Give the configuration and the LLVM text of each part of the library archive."""
        config = self.session(source, "cpu", [], checks=checks).config
        for part in self._library_parts(config):
            yield config, self.archives.lower_host(part, {}, "", config.debug if checks else 0, config.level).text

    def _library_parts(self, config: Any) -> list[Any]:
        """Return the units that the library archive is made of."""
        if not hasattr(self.archives, "settled"):
            unit = self.archives._elaborate(config, self.cache)[0]
            return list(self.archives.parts(unit, self.archives.PARTS))
        listed = module("driver.front_end.kept_library").listed(config)
        seed = module("driver.archive_list").seed_of(config, self.cache)
        _, units = module("elaborate.program").contents(seed, listed)
        host = module("ir.nodes").Unit(config.host, apart=units)
        return list(self.archives.settled(host, config).apart.values())

    def library_text(self, source: Path) -> str:
        """Return the LLVM text of the library archive."""
        return "".join(text for _, text in self.library_texts(source))

    def emitted_library(self, source: Path) -> str:
        """Return the library archive with the checks of each configuration."""
        host, made = module("emit.host"), ""
        for checks in [checks for _, checks in EMITTED if checks]:
            for config, text in self.library_texts(source, checks):
                made += host.llvm_text(_Text(config.host, text), config.level)
        return made

    def texts(self, source: Path, targets: list[str], flags: list[str], library: Any) -> Iterator[tuple[str, str]]:
        """Give what is made of a program: titles and texts."""
        session = self.session(source, ",".join(targets), flags)
        program = None
        try:
            program = self.pipeline._front(session, None, library)
            yield "diagnostics", self.render(session.sink.diagnostics, False)
            yield "host", self.host_text(session, program)
            for unit in program.devices:
                for made in self.pipeline.lower_device(unit, session.config.debug, session.config.level):
                    yield f"{unit.target.name} {made.kernel}", made.text
        except self.failed as error:
            yield "diagnostics", self.render(session.sink.diagnostics, False) + f"{type(error).__name__}: {error}\n"
            # A program may be for some of the targets only: then each alone, to compare what is made for the others.
            if len(targets) > 1 and "DeviceContext" in source.read_text("utf-8") and "errors" not in source.parts:
                for target in targets:
                    yield from ((f"{target}: {a}", b) for a, b in self.texts(source, [target], flags, library))

    def emitted(self, source: Path, flags: list[str], libraries: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Give what the rewriters of `emit/` make of a program: titles and texts."""
        for accelerators, checks in EMITTED:
            kinds = accelerators.split(",")
            made = list(self._emitted(source, accelerators, checks, flags, libraries[checks]))
            if not made and len(kinds) > 1:  # a program may be for some of the targets only
                for one in kinds:
                    made += self._emitted(source, one, checks, flags, libraries[checks])
            yield from made

    def _emitted(
        self, source: Path, accelerators: str, checks: str, flags: list[str], library: Any
    ) -> Iterator[tuple[str, str]]:
        session = self.session(source, accelerators, flags, checks=checks)
        try:
            program = self.pipeline._front(session, None, library)
        except self.failed:
            return
        level, debug = session.config.level, session.config.debug
        if checks:
            yield from self._kept(f"host --check={checks}", lambda: self._of_host(session, program, level))
        for unit in program.devices:
            for made in self.pipeline.lower_device(unit, debug, level):
                title = f"{unit.target.name} {made.kernel}{' --check=' * bool(checks)}{checks}"
                yield from self._kept(title, partial(self._of_kernel, made, level))

    def _kept(self, title: str, make: Callable[[], str]) -> Iterator[tuple[str, str]]:
        try:
            yield title, make()
        except self.failed as error:
            yield title, f"{type(error).__name__}: {error}\n"

    def _of_host(self, session: Any, program: Any, level: int) -> str:
        host = module("emit.host")
        text = self.host_text(session, program)
        return str(host.llvm_text(_Text(session.config.host, text), level))

    def _of_kernel(self, made: Any, level: int) -> str:
        """Return a kernel as it is after the rewriters before LLVM's code generation."""
        found = module("emit.kernel").emit_kernel(made, {"llvm-opt"}, level)
        text = "".join(f"{kind}: {data.decode()}\n" for kind, data in sorted(found.items()))
        after = found.get("llvm-opt", b"").decode()
        if made.target.artefact == "spirv":
            images = module("emit.spirv.images")
            refused = images.refusal(after)
            if refused:
                text += refused
            else:
                one = module("emit.spirv.text").for_spirv(after, made.target)
                text += "\n".join([*filter(None, one.text.split("\n")), f"arguments: {one.arguments}\n"])
        if made.target.artefact == "metallib":
            kinds = {"asm", "object"}
            forms = module("emit.air.images").emit(after, made.target, made.kernel, kinds, made.shared_bytes)
            text += forms.get("asm", b"none").decode() + hashlib.sha256(forms.get("object", b"")).hexdigest() + "\n"
        return text

    def without_passes_for_processors(self) -> None:
        """Let LLVM's passes run over code for GPUs only: what is ready for a processor takes them long."""
        llvm = module("emit.llvm")
        run = llvm._run_pipeline

        def on_gpus(made: Any, text: str, target: Any, *more: Any) -> None:
            if target.vendor != "cpu":
                run(made, text, target, *more)

        llvm._run_pipeline = on_gpus

    def host_text(self, session: Any, program: Any) -> str:
        """Return the LLVM text of a host; images stand as empty where the host needs their sizes."""

        class Blank(dict[Any, bytes]):
            def __missing__(self, key: Any) -> bytes:
                return b"image"

        made = None
        for images in (None, Blank()):
            try:
                made = self.pipeline.lower_host(
                    program.host, images, program.entry, session.config.debug, session.config.level
                )
                break
            except module("codegen.constants").ImagesNeeded:
                continue
        assert made is not None
        return str(made.text)

    def executable(self, source: Path, targets: list[str], flags: list[str], output: Path) -> str:
        """Return a digest of the executable that is built."""
        session = self.session(source, ",".join(targets), flags, output)
        try:
            return hashlib.sha256(self.pipeline.build(session).path.read_bytes()).hexdigest() + "\n"
        except self.failed:
            return "none\n"


def make(words: argparse.Namespace, names: list[str]) -> None:
    """Write to `out` one file a program with all that this version makes of it."""
    with tempfile.TemporaryDirectory(prefix="ktc-same-code-") as folder:
        work, tree = Path(folder), words.make
        version = Version(tree, work, words.cache or work / "cache", words.jobs)
        hello = ROOT / "benchmarks" / "hello.kpy"
        library: Any = None
        if words.emitted:
            libraries = {checks: version.library(hello, accelerators, checks) for accelerators, checks in EMITTED}
            version.without_passes_for_processors()
        else:
            library = version.library(hello)
        gc.collect()
        gc.freeze()
        gc.disable()

        def text_of(number: int, source: Path) -> str:
            flags = flags_of(source)
            if words.emitted:
                return "".join(f"==== {title}\n{text}" for title, text in version.emitted(source, flags, libraries))
            made = list(version.texts(source, targets_of(source), flags, library))
            if words.executables:
                made.append(("executable", version.executable(source, targets_of(source), flags, work / str(number))))
            return "".join(f"==== {title}\n{text}" for title, text in made)

        calls: dict[str, Callable[[], str]] = {}
        for at, source in enumerate(Path(name) for name in names if name != LIBRARY):
            calls[file_of(source)] = partial(text_of, at, source)
        if LIBRARY in names:
            calls[f"{LIBRARY}.txt"] = partial(version.emitted_library if words.emitted else version.library_text, hello)
        in_forks(calls, words.out, words.jobs, (str(tree / "stdlib"), str(work)))


def in_forks(calls: dict[str, Callable[[], str]], out: Path, jobs: int, roots: tuple[str, ...]) -> None:
    """Write what each call returns to a file of its name, each in a copy of this process."""
    running = 0
    for name, call in calls.items():
        if running == jobs:
            os.wait()
            running -= 1
        sys.stdout.flush()
        if os.fork() == 0:
            text = ""
            try:
                text = call()
                for root in roots:
                    text = text.replace(root, "FOLDER")
            except BaseException as error:
                text = f"{type(error).__name__}: {error}\n"
            finally:
                (out / name).write_text(text, "utf-8", errors="replace")
                os._exit(0)
        running += 1
    for _ in range(running):
        os.wait()


# -- programs --------------------------------------------------------------------------------------------------------


def programs(folders: list[Path], names: list[str], quick: bool, emitted: bool = False) -> list[Path]:
    """Return the programs to compare; `emitted`: those that compile and have kernels."""
    found: list[Path] = []
    for folder in (ROOT / "tests", ROOT / "benchmarks", ROOT / "examples", *folders):
        sources = [path for end in ("kpy", "mojo") for path in folder.rglob(f"*.{end}")]
        # Files in packages are parts of programs.
        found += [path for path in sorted(sources) if not (path.parent / "__init__.kpy").exists()]
    found = [path.resolve() for path in found if not names or any(name in str(path) for name in names)]
    if emitted:
        found = [path for path in found if "errors" not in path.parts and "DeviceContext" in path.read_text("utf-8")]
    return found[::QUICK] if quick else found


def targets_of(source: Path) -> list[str]:
    """Return the targets that a program is compiled for; its first line may name them."""
    first = source.read_text("utf-8", errors="replace").partition("\n")[0]
    if not first.startswith("# targets:"):
        return list(TARGETS)
    named = first.removeprefix("# targets:").replace(" ", "").split(",")
    return [name for name in TARGETS if name in named] or named[:1]


def flags_of(source: Path) -> list[str]:
    """Return the options of the file beside a program."""
    beside = source.with_suffix(".flags")
    text = beside.read_text("utf-8") if beside.exists() else ""
    return shlex.split(text.replace("{root}", str(ROOT)).replace("{here}", str(source.parent)))


def file_of(source: Path) -> str:
    """Return the name of a program's file of results."""
    path = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source
    return "_".join(part for part in path.parts if part != "/") + ".txt"


# -- comparing -------------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout.strip()


def checked_out(ref: str, folder: Path) -> Path:
    """Return a folder with ktc's sources of a ref."""
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", ref, *SOURCES], check=True, capture_output=True
    ).stdout  # fmt: skip
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return folder


def start(tree: Path, out: Path, jobs: int, modes: list[str], sources: list[Path]) -> None:
    """Let a process make what the version of a tree makes. `modes`: further words of the command line."""
    words = [sys.executable, "-P", __file__, "--make", str(tree), "--out", str(out), "-j", str(jobs), *modes]
    environment = {**os.environ, "PYTHONPATH": "", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        words, input="\n".join([LIBRARY, *map(str, sources)]), text=True, check=False, env=environment, cwd=ROOT
    )
    if done.returncode:
        sys.exit(f"same_code: the version in {tree} failed")


def base_results(ref: str, jobs: int, modes: list[str], sources: list[Path]) -> Path:
    """Return the folder with what the ref makes, from an earlier comparison as far as it is there."""
    trees = git("rev-parse", *(f"{ref}:{name}" for name in SOURCES))
    own = Path(__file__).read_text("utf-8")
    stamp = hashlib.sha256(f"{trees}{own}{modes}{sys.version}".encode()).hexdigest()[:16]
    out = KEPT / stamp
    out.mkdir(parents=True, exist_ok=True)
    os.utime(out)
    for old in sorted(KEPT.iterdir(), key=lambda path: path.stat().st_mtime)[:-BASES]:
        shutil.rmtree(old)
    missing = [source for source in sources if not is_kept(out, source)]
    if missing:
        with tempfile.TemporaryDirectory(prefix="ktc-base-") as folder:
            start(checked_out(ref, Path(folder).resolve()), out, jobs, modes, missing)
        for source in missing:
            shutil.copy2(source, out / f"{file_of(source)}.source")
    return out


def is_kept(out: Path, source: Path) -> bool:
    """Return whether there is a result of this very program."""
    copy = out / f"{file_of(source)}.source"
    return copy.exists() and copy.read_bytes() == source.read_bytes() and (out / file_of(source)).exists()


def read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else "the compiler died\n"


def difference(before: str, after: str) -> list[str]:
    """Return the first lines that differ, and in which text."""
    title = ""
    for one, other in zip(before.splitlines(), after.splitlines(), strict=False):
        if one != other:
            break
        if one.startswith("==== "):
            title = one.removeprefix("==== ")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "base", "working tree", n=1, lineterm="")
    return [
        f"    in {title or 'the first text'}:",
        *(f"    {line[:200]}" for line, _ in zip(lines, range(SHOWN), strict=False)),
    ]


def compare(words: argparse.Namespace) -> int:
    """Compare, and say what differs."""
    began = time.monotonic()
    sources = programs(words.programs, words.names, words.quick, words.emitted)
    modes = ["--executables"] * words.executables + ["--emitted"] * words.emitted
    before = base_results(words.base, words.jobs, modes, sources)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="ktc-same-code-") as folder:
        after = Path(folder)
        start(ROOT, after, words.jobs, modes, sources)
        for name in (*map(file_of, sources), f"{LIBRARY}.txt"):
            one, other = read(before / name), read(after / name)
            if one != other:
                bad += 1
                print("\n".join((name.removesuffix(".txt"), *difference(one, other))), flush=True)
    used = os.times()
    print(
        f"{len(sources)} programs and the library: {bad or 'none'} differ from {words.base}"
        f" ({time.monotonic() - began:.0f} s, {used.children_user + used.children_system:.0f} s of CPU)"
    )
    return 1 if bad else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="compare programs whose path contains this")
    parser.add_argument("--base", default="main", metavar="REF", help="a git ref (default: main)")
    parser.add_argument("--programs", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="every eighth program")
    parser.add_argument("--executables", action="store_true", help="build and compare executables too")
    parser.add_argument("--emitted", action="store_true", help="compare what the rewriters of emit/ make")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.make:
        make(words, [line for line in sys.stdin.read().split("\n") if line])
        return 0
    return compare(words)


if __name__ == "__main__":
    sys.exit(main())
