"""Exported functions as functions of Python: `load`, `compile`, `Library`, `Function`.

Input: a source file or a text. Output: a library whose functions take numbers, texts and arrays. A file is compiled
once; the cache keeps what was made, and a file that has changed is compiled again when it is loaded again.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from time import monotonic, time
from types import ModuleType
from typing import TypeAlias, Unpack

from ktc.api import building
from ktc.api.arrays.device_functions import DeviceCall, device_functions
from ktc.api.building import BuildOptions, BuildRequest, edition_of
from ktc.api.kernels import Kernel
from ktc.api.loading import load_extension
from ktc.api.watching import Watch
from ktc.base.records import replace
from ktc.base.similarity import close_matches
from ktc.codegen.foreign.python_structs import classes
from ktc.interop.c_header import clean

Call: TypeAlias = Callable[..., object]


class Function:
    """An exported function of a library.

    Attributes:
        raw: the function without this object around it, for calls where 100 ns count. It stays what it is when the file
            changes.
    """

    def __init__(self, raw: Call, name: str, doc: str, library: "Library") -> None:
        self._library, self._request, self._watch = library, library._request, library._watch
        self.__name__ = name
        self._become(raw, doc)

    def _become(self, raw: Call, doc: str | None) -> None:
        self.raw = self.__wrapped__ = raw
        self.__doc__ = doc

    def __call__(self, *args: object, **named: object) -> object:
        """Call it with numbers, texts and arrays (numpy, torch, cupy, any buffer, DLPack or CUDA array).

        Raises:
            TypeError, ValueError, OverflowError: an argument does not fit.
            RuntimeError: the function has raised an error.
            CompileError: the file has changed, and has errors.
        """
        if monotonic() >= self._watch.next:
            self._watch.refresh(self._library.reload)
        return self.raw(*args, **named)

    def __repr__(self) -> str:
        """Say which function it is."""
        return f"<ktc function '{self.__name__}' of {self._request.path.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it: another process loads its library."""
        return _function_of, (self._library, self.__name__)

    def asm(self, kind: str = "asm", target: str = "") -> str:
        """Return the code of the library: "llvm", "llvm-opt" or "asm" of the host, "ptx" of its kernels.

        Args:
            target: which GPU's, for "ptx" ("sm_90").
        """
        if kind == "ptx":
            options = BuildOptions(**{**self._request.options, "target": target or "sm_90"})
            return building.kernel_texts(replace(self._library._program, emit="shared-lib", options=options))
        if kind not in ("llvm", "llvm-opt", "asm"):
            raise ValueError(f"kind must be llvm, llvm-opt, asm or ptx, not '{kind}'")
        return building.text_of(replace(self._library._program, emit="shared-lib"), kind).data.decode()


class Library:
    """The exported functions of a source file, as attributes; its kernels, by `kernel`."""

    def __init__(self, request: BuildRequest, reloads: bool = False) -> None:
        self._request = self._program = request  # the second has functions of numbers for those of arrays
        self._reloads = reloads
        self._watch = Watch(reloads)
        self._digest = b""
        self._module: ModuleType | None = None
        self._functions: dict[str, Function] = {}
        self._names: tuple[str, ...] = ()
        self.reload()

    def reload(self) -> bool:
        """Compile again what has changed; say whether something had."""
        request, since = self._request, time()
        self._watch.begin([request.path], since)
        source = request.text or (request.path.read_text("utf-8", "replace") if request.path.is_file() else "@export")
        if "@export" not in source:
            building.check(request)
            return False
        text, of_arrays = device_functions(source, str(request.path), edition_of(request.options))
        self._program = replace(request, text=text) if of_arrays else request
        made = building.make(self._program)
        self._watch.begin(made.reads, since)
        digest = sha256(made.data).digest()
        if digest == self._digest:
            return False
        for name in self._names:
            vars(self).pop(name, None)
        self._digest, self._module = digest, load_extension(made, request.module)
        before, self._functions = self._functions, {}
        hidden = {one.export: one for one in of_arrays}
        for export in made.exports.functions:
            name, raw, doc = export.name, getattr(self._module, export.name), clean(export.doc)
            if name in hidden:
                name, raw, doc = hidden[name].name, DeviceCall(hidden[name], raw), clean(hidden[name].doc)
            one = before.pop(name, None) or Function(raw, name, doc, self)
            one._become(raw, doc)
            self._functions[name] = one
        for one in before.values():
            one._become(self._missing(one.__name__), one.__doc__)
        structs = {one.name: getattr(self._module, one.name) for one in classes(made.exports)}
        self._names = (*self._functions, *structs)
        vars(self).update(self._functions | structs)
        self.__doc__ = clean(made.exports.doc)
        return True

    def _missing(self, name: str) -> Call:
        def call(*_: object, **__: object) -> object:
            raise AttributeError(f"{self.path.name} exports no '{name}' any more", name=name, obj=self)

        return call

    @property
    def path(self) -> Path:
        """The source file."""
        return self._request.path

    @property
    def functions(self) -> dict[str, Function]:
        """The exported functions by name."""
        return dict(self._functions)

    def kernel(self, name: str, **parameters: object) -> Kernel:
        """Return a kernel with its compile-time parameters given by name.

        Args:
            parameters: numbers, `bool`s, dtypes (of numpy or torch, or a name), and texts: for a parameter that is no
                text an expression of the program's language ("Layout.row_major(4, 4)").

        Raises:
            CompileError: there is no such function, or it cannot be a kernel with these parameters.
        """
        return Kernel(self._request, name, parameters, self._reloads)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it: another process loads it."""
        return Library, (self._request, self._reloads)

    def __getattr__(self, name: str) -> Function:
        """Look for a new function, and say what the library has instead.

        Raises:
            AttributeError: it has none, also after a change of the file.
        """
        if not name.startswith("_") and monotonic() >= self._watch.next:
            self._watch.refresh(self.reload)
            if name in vars(self):
                found: Function = vars(self)[name]
                return found
        near = close_matches(name, vars(self).get("_functions", ()), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        where = self._request.path.name if "_request" in vars(self) else "the library"
        raise AttributeError(f"{where} exports no '{name}'{hint}", name=name, obj=self)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the exported functions."""
        return iter(self._functions)

    def __repr__(self) -> str:
        """Say which file it is."""
        return f"<ktc library {self._request.path.name}: {', '.join(self._functions) or 'kernels only'}>"


def _function_of(library: Library, name: str) -> Function:
    return library.functions[name]


def load(source: str | os.PathLike[str], *, reload: bool = True, **options: Unpack[BuildOptions]) -> Library:
    """Compile a file and return its exported functions and kernels.

    Args:
        reload: compile it again at the next call after it or a module that it imports has changed.

    Raises:
        CompileError: the program has errors, or there is no such file.
    """
    path = Path(source)
    return Library(BuildRequest(path, "python-extension", options, module=_module_name(path.stem)), reload)


def compile(text: str, name: str = "source", **options: Unpack[BuildOptions]) -> Library:
    """Compile a text and return its exported functions and kernels.

    Args:
        name: the text's name in messages; modules are looked for in the current folder.

    Raises:
        CompileError: the program has errors.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text of a program must be a str, not {type(text).__name__}")
    path = Path(name if name.endswith(".kpy") else f"{name}.kpy")
    return Library(BuildRequest(path, "python-extension", options, text=text or "\n", module=_module_name(path.stem)))


def _module_name(stem: str) -> str:
    name = "".join([one if one.isalnum() and one.isascii() else "_" for one in stem])
    return name if name and not name[0].isdigit() else f"_{name}"


__all__ = ("Function", "Library", "compile", "load")
