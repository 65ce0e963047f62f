"""Files to a `Package`: the main file at once, other modules when something asks for them.

Input: the main file's path, the folders to search, the standard library's folder. Output: `Package`; `Package.find`
reads and parses a module on its first use, so nothing that the program does not reach costs anything. The files read,
and the missing files that were looked for, are kept in `Package.reads`: a later build asks only whether these files
are still the same.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from ktc.base import package_files
from ktc.base.editions import ChosenEdition, Edition
from ktc.base.library import OWN_PACKAGES
from ktc.base.package_files import InstalledPackage, PackageFileError
from ktc.base.records import entity, record
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import STANDARD_INPUT, Source, Span
from ktc.syntax import ast
from ktc.syntax.edition_evidence import LIBRARY_MODULES
from ktc.syntax.editions import MAIN, SUFFIXES, EditionFinder, started_package
from ktc.syntax.parsing.parser import parse, unpack
from ktc.syntax.parsing.tables import Store

LIBRARY = "std"
_LIBRARY_FOLDER = "stdlib"
"""The library's folder: programs of edition 2025 may import its modules through it."""

_INIT = "__init__"
_BOM = "\ufeff"


@entity
class Package:
    """The modules of a program.

    Args:
        root: the main file's module.
        search: folders of the program's modules, in order.
        stdlib: folder of the standard library.
        modules: by dotted name; a library module by its name with `std.` in front. The main file is `__main__`.
        names: dotted name of each module in `modules`, by the `id` of its node.
        failed: names of modules that exist and have errors; these are in the sink.
        reads: digest of each file of the program that was read, None for one that does not exist.
        parsed: modules that were read on demand, with start and end on the monotonic clock.
        packed: modules of the library by name, each with the name of its file and its tree (`parser.pack`): these
            need not be looked for, or read.
        overlays: texts by absolute path that stand for what the files hold (an editor's, a test's).
        home: dotted name of the package that the main file starts; empty for a file that is in none.
        editions: decides the editions of modules.
        installed: packages in Python's environment.
    """

    root: ast.Module
    search: tuple[Path, ...]
    stdlib: Path
    cache: Store | None
    sink: Sink
    modules: dict[str, ast.Module] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    reads: dict[str, str | None] = field(default_factory=dict)
    parsed: list[tuple[str, float, float]] = field(default_factory=list)
    packed: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    overlays: Mapping[str, Source] = field(default_factory=dict)
    home: str = ""
    editions: EditionFinder | None = None
    installed: tuple[InstalledPackage, ...] = ()
    _mounted: dict[str, dict[str, Source] | None] = field(default_factory=dict)
    _asked: dict[tuple[str, bool, bool], ast.Module | None] = field(default_factory=dict)
    _exists: dict[str, bool] = field(default_factory=dict)
    _library_packages: dict[str, bool] = field(default_factory=dict)

    def find(self, dotted: str, importer: ast.Module | None = None) -> ast.Module | None:
        """Return the module `dotted`, or None if there is none or it has errors (then it is in `failed`).

        Args:
            dotted: the full name; `absolute` makes one of a relative import.
            importer: who asks. A module of the standard library sees the standard library only, so that a user's
                file cannot take a place in it. For one of edition 2026 the library's modules have `std.` in front.
        """
        inside = importer is not None and bool(importer.source.is_library)
        by_root = importer is not None and importer.edition is Edition.Y2026
        key = (dotted, inside, by_root)
        if key not in self._asked:
            self._asked[key] = self._find(dotted, inside, by_root)
        return self._asked[key]

    def absolute(self, importer: ast.Module, level: int, module: str) -> str | None:
        """Return the dotted name that `from ..module import` means in `importer`; None above the top."""
        if level == 0:
            return module
        own = self.names[id(importer)]
        if own == MAIN and not self.home:
            return None
        parts = [*self.home.split("."), MAIN] if own == MAIN else own.split(".")
        up = level - 1 if self.is_package(importer) else level
        if up >= len(parts):
            return None
        kept = parts[: len(parts) - up]
        return ".".join([*kept, module] if module else kept)

    def has(self, dotted: str) -> bool:
        """Return whether a module of the user exists, without reading it."""
        if dotted not in self._exists:
            parts = dotted.split(".")
            paths = [path for folder in self.search for path in self._places(folder, parts)]
            self._exists[dotted] = any(self._is_there(path) for path in paths)
            if not self._exists[dotted]:
                self.reads.update((os.path.abspath(path), None) for path in paths)
        return self._exists[dotted]

    def is_package(self, module: ast.Module) -> bool:
        """Return whether the module is a folder's `__init__` file."""
        return Path(module.source.path).stem == _INIT

    def _find(self, dotted: str, inside: bool, by_root: bool) -> ast.Module | None:
        parts = dotted.split(".")
        if parts[0] == LIBRARY:
            # `std` alone is the library itself.
            return self._load(dotted, parts[1:], (self.stdlib,), True)
        names_users = parts[0] in OWN_PACKAGES or by_root or not self._is_of_library(parts[0])
        if not inside and names_users:
            found = self._load(dotted, parts, self.search, False)
            if found is None and self._is_of_broken(parts):
                self.failed.add(dotted)
            elif found is None and dotted not in self.failed:
                found = self._load_installed(dotted, parts)
            if found is not None or dotted in self.failed or (by_root and parts[0] in LIBRARY_MODULES):
                return found
        if parts[0] == _LIBRARY_FOLDER and not by_root:
            return self._find(".".join([LIBRARY, *parts[1:]]), inside, by_root)
        return self._load(f"{LIBRARY}.{dotted}", parts, (self.stdlib,), True)

    def _is_of_library(self, head: str) -> bool:
        """Return whether the library has a module: a file of that name beside a program does not replace it."""
        if head not in self._library_packages:
            paths = _candidates(self.stdlib, [head])
            self._library_packages[head] = f"{LIBRARY}.{head}" in self.packed or any(path.is_file() for path in paths)
        return self._library_packages[head]

    def _load(self, name: str, parts: list[str], folders: Sequence[Path], is_library: bool) -> ast.Module | None:
        if name in self.modules or name in self.failed:
            return self.modules.get(name)
        if is_library and name in self.packed:
            start = time.perf_counter()
            shown, data = self.packed[name]
            module = unpack(data, self.library_source(shown))
            if module is not None:
                self.parsed.append((shown, start, time.perf_counter()))
                self.add(name, module)
                return module
        for folder in folders:
            for path in _candidates(folder, parts) if is_library else self._places(folder, parts):
                if not is_library and self._is_program(path):
                    if parts[0] in OWN_PACKAGES:  # a program of that name imports the package
                        continue
                    return self.root
                if not self._is_there(path):
                    if not is_library:
                        self.reads[os.path.abspath(path)] = None
                    continue
                module = self._read(path, self._shown(path) if is_library else "")
                if module is None:
                    self.failed.add(name)
                else:
                    self.add(name, module)
                return module
        return None

    def _load_installed(self, name: str, parts: list[str]) -> ast.Module | None:
        """Return a module of a package that is installed, unless there are several of its name."""
        folders = [Path(one.folder) for one in self.named(parts[0])]
        if len(folders) != 1:
            return None
        return self._load(name, [folders[0].name, *parts[1:]], (folders[0].parent,), False)

    def named(self, name: str) -> list[InstalledPackage]:
        """Return the installed packages of a name."""
        return [one for one in self.installed if one.name == name]

    def _is_program(self, path: Path) -> bool:
        """Return whether a file is the main file, which modules of the program may import."""
        main: str = self.root.source.path
        return os.path.abspath(path) == os.path.abspath(main)

    def _is_there(self, path: Path) -> bool:
        return path.is_file() or os.path.abspath(path) in self.overlays or self._packed_source(path) is not None

    def _places(self, folder: Path, parts: list[str]) -> list[Path]:
        """Return the files that may hold a module of the user: in the folder, or in a package file in its place."""
        head = parts[0]
        if folder.suffix == package_files.SUFFIX:  # named itself
            return self._inside(folder, parts[1:]) if folder.stem == head else []
        file, found = folder / (head + package_files.SUFFIX), _candidates(folder, parts)
        if not file.is_file():
            self.reads.setdefault(os.path.abspath(file), None)
            return found
        beside = [path for path in _candidates(folder, [head]) if path.is_file()]
        if beside:
            key = os.path.abspath(file)
            if key not in self._mounted:
                self._mounted[key] = {}
                text = f"there are two packages '{head}' in '{folder}': '{beside[0]}' and '{file}'"
                self.sink.report(Diagnostic(Code.FILE_ERROR, None, text, "remove one of them"))
            return found
        return self._inside(file, parts[1:])

    def _inside(self, file: Path, parts: list[str]) -> list[Path]:
        """Return the files of a package file that may hold a module; an error if it cannot be read."""
        key = os.path.abspath(file)
        if key not in self._mounted:
            self._mounted[key] = self._mount(file)
        return _candidates(file, parts)

    def _mount(self, file: Path) -> dict[str, Source] | None:
        try:
            data = file.read_bytes()
            self.reads[os.path.abspath(file)] = sha256(data).hexdigest()
            package = package_files.read(file, data)
            sources = {inner: Source.read(str(file / inner), text.decode()) for inner, text in package.texts.items()}
            for source in sources.values() if package.edition else ():
                source.edition = ChosenEdition(Edition(package.edition), f"the package file '{file}'")
            return sources
        except (PackageFileError, OSError, UnicodeDecodeError) as error:
            text = f"'{file}' {error}" if isinstance(error, PackageFileError) else f"cannot read '{file}': {error}"
            self.sink.report(Diagnostic(Code.FILE_ERROR, None, text, "rebuild it with 'ktc package'"))
            return None

    def _packed_source(self, path: Path) -> Source | None:
        """Return the text of a module in a package file."""
        for at in path.parents if self._mounted else ():
            if at.suffix == package_files.SUFFIX:
                texts = self._mounted.get(os.path.abspath(at)) or {}
                return texts.get(path.relative_to(at).as_posix())
        return None

    def _is_of_broken(self, parts: list[str]) -> bool:
        """Return whether a package file of that name could not be read, which was reported."""
        return any(texts is None and Path(file).stem == parts[0] for file, texts in self._mounted.items())

    def library_source(self, shown: str) -> Source:
        """Return the source of a library's file by the name that messages show."""
        if shown not in self.sources:
            file = os.path.join(self.stdlib, shown.removeprefix("stdlib/"))
            self.sources[shown] = Source(shown, None, is_library=True, file=file)
        return self.sources[shown]

    def _shown(self, path: Path) -> str:
        """Return the name of a library's file in messages and debug information: the same in every installation."""
        return f"stdlib/{os.path.relpath(path, self.stdlib)}".replace(os.sep, "/")

    def _read(self, path: Path, shown: str) -> ast.Module | None:
        source = self._packed_source(path) or read_source(path, self.sink, bool(shown), self.reads, self.overlays)
        if source is not None and shown:
            source.path = shown
        if source is None:
            return None
        start = time.perf_counter()
        if self.editions is not None and source.edition is None and not shown:
            source.edition = self.editions.of(path, source.text)
        module = parse(source, self.sink, self.cache)
        self.parsed.append((source.path, start, time.perf_counter()))
        return module

    def add(self, name: str, module: ast.Module) -> None:
        """Put a module under its name."""
        self.modules[name] = module
        if module.source.is_library:
            self.sources[module.source.path] = module.source
        self.names[id(module)] = name


@record
class Files:
    """A program's main file, and the folders in which its imports are found.

    Args:
        root: the main file.
        search: folders beside the main file's own, which comes first.
        stdlib: folder of the standard library.
        beside: whether the main file's own folder is searched.
        edition: the value of `--edition`; None: see `syntax.editions`.
        overlays, installed: as those of `Package`.
    """

    root: Path
    search: Sequence[Path]
    stdlib: Path
    beside: bool = True
    edition: Edition | None = None
    overlays: Mapping[str, Source] = field(default_factory=dict)
    installed: tuple[InstalledPackage, ...] = ()


def load(
    files: Files, cache: Store | None, sink: Sink, *, reads: dict[str, str | None] | None = None,
    tree: ast.Module | None = None,
) -> Package | None:  # fmt: skip
    """Read and parse the main file.

    Args:
        reads: gets the digests of the files read, as `Package.reads`.
        tree: of the main file's text, if that was parsed before.

    Returns: the package, or None if the main file cannot be read or has errors.

    Reports: FILE_ERROR, NOT_UTF8, and what the parser reports.
    """
    reads, root = {} if reads is None else reads, files.root
    if root.suffix == package_files.SUFFIX and root.is_file():
        help = "a program imports it: 'from PACKAGE import NAME', with '-I FOLDER'"
        sink.report(Diagnostic(Code.FILE_ERROR, None, f"'{root}' is a package, not a program", help))
        return None
    source = read_source(root, sink, False, reads, files.overlays)
    if source is None:
        return None
    if root.suffix not in SUFFIXES:
        message = f"'{root}' is not a source file: its name ends in none of {', '.join(SUFFIXES)}"
        sink.report(Diagnostic(Code.FILE_ERROR, None, message, "rename it"))
        return None
    editions = EditionFinder(files.edition, reads, sink)
    source.edition = editions.of_main(root, source.text, source.edition)
    if sink.error_count:
        return None
    is_parsed = tree is not None and tree.source.text == source.text and tree.edition is source.edition.edition
    module = tree if is_parsed else parse(source, sink, cache)
    if module is None:
        return None
    top, home = started_package(root)
    own = (root.parent, top) if home else (root.parent,)
    folders = tuple(dict.fromkeys((*own, *files.search) if files.beside else files.search))
    package = Package(module, folders, files.stdlib, cache, sink, reads=reads, overlays=files.overlays, home=home)
    package.editions, package.installed = editions, files.installed
    package.add(MAIN, module)
    return package


def read_source(
    path: Path, sink: Sink, is_library: bool, reads: dict[str, str | None], overlays: Mapping[str, Source] | None = None
) -> Source | None:
    """Read one file: UTF-8, line ends made `\\n`, a byte order mark removed; None if that is not possible.

    Args:
        overlays: texts that stand for files, as `Package.overlays`.

    Reports: FILE_ERROR, NOT_UTF8.
    """
    if overlays and (overlay := overlays.get(os.path.abspath(path))) is not None:
        return overlay
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = "it is a folder, not a file" if path.is_dir() else (error.strerror or str(error)).lower()
        sink.report(Diagnostic(Code.FILE_ERROR, None, f"cannot open '{path}': {reason}"))
        return None
    except ValueError as error:  # a NUL in the name
        sink.report(Diagnostic(Code.FILE_ERROR, None, f"cannot open '{path}': {error}"))
        return None
    if not is_library:
        reads[os.path.abspath(path)] = sha256(data).hexdigest()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = Source(shown_name(path), before.replace("\r\n", "\n"), is_library)
        line, _ = place.position(len(place.text))
        message = f"the file is not UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}, in line {line}"
        sink.report(
            Diagnostic(
                Code.INVALID_UTF8, Span(place, len(place.text), len(place.text)), message, "save the file as UTF-8"
            )
        )
        return None
    return Source.read(shown_name(path), text.removeprefix(_BOM), is_library)


def shown_name(path: Path) -> str:
    """Return a file's name in messages: its path, or that it came from standard input (`cli/standard_input.py`)."""
    return STANDARD_INPUT if path.parent.name == STANDARD_INPUT else str(path)


def _candidates(folder: Path, parts: list[str]) -> list[Path]:
    """Return the files that may hold a module: the file itself, then the folder's `__init__`."""
    if not parts:
        return [folder / (_INIT + suffix) for suffix in SUFFIXES]
    base = folder.joinpath(*parts)
    files = [base.with_name(base.name + suffix) for suffix in SUFFIXES]
    return files + [base / (_INIT + suffix) for suffix in SUFFIXES]
