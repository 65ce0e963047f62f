"""Exported functions as functions of Python: `load`, `compile`, `Library`, `Function`.

Input: a source file or a text. Output: a library whose functions take numbers, texts and arrays. A file is compiled
once; the cache keeps what was made, and a file that has changed is compiled again when it is loaded again.
"""

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, Unpack

from ktc.api import building
from ktc.api.building import BuildOptions, BuildRequest
from ktc.api.kernels import Kernel
from ktc.api.loading import load_extension
from ktc.base.records import replace
from ktc.interop.c_header import clean

Call: TypeAlias = Callable[..., object]


class Function:
    """An exported function of a library.

    Attributes:
        raw: the function without this object around it, for calls where 50 ns count.
    """

    def __init__(self, raw: Call, name: str, doc: str, request: BuildRequest) -> None:
        self.raw, self.__name__, self.__doc__ = raw, name, doc
        self.__wrapped__ = raw
        self._request = request

    def __call__(self, *args: object, **named: object) -> object:
        """Call it with numbers, texts and arrays (numpy, torch, cupy, any buffer, DLPack or CUDA array).

        Raises:
            TypeError, ValueError, OverflowError: an argument does not fit.
            RuntimeError: the function has raised an error.
        """
        return self.raw(*args, **named)

    def __repr__(self) -> str:
        """Say which function it is."""
        return f"<ktc function '{self.__name__}' of {self._request.path.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it: another process loads its library."""
        return _function_of, (self._request, self.__name__)

    def asm(self, kind: str = "asm", target: str = "") -> str:
        """Return the code of the library: "llvm", "llvm-opt" or "asm" of the host, "ptx" of its kernels.

        Args:
            target: which GPU's, for "ptx" ("sm_90").
        """
        if kind == "ptx":
            options = BuildOptions(**{**self._request.options, "target": target or "sm_90"})
            return building.kernel_texts(replace(self._request, emit="shared-lib", options=options))
        if kind not in ("llvm", "llvm-opt", "asm"):
            raise ValueError(f"kind must be llvm, llvm-opt, asm or ptx, not '{kind}'")
        return building.text_of(replace(self._request, emit="shared-lib"), kind)[0].decode()


class Library:
    """The exported functions of a source file, as attributes; its kernels, by `kernel`."""

    def __init__(self, request: BuildRequest) -> None:
        self._request = request
        self._digest = b""
        self._module: ModuleType | None = None
        self._functions: dict[str, Function] = {}
        self.reload()

    def reload(self) -> bool:
        """Compile again what has changed; say whether something had."""
        request = self._request
        source = request.text or (request.path.read_text("utf-8", "replace") if request.path.is_file() else "@export")
        if "@export" not in source:
            building.check(request)
            return False
        made = building.make(request)
        digest = sha256(made.data).digest()
        if digest == self._digest:
            return False
        for name in self._functions:
            vars(self).pop(name, None)
        self._digest, self._module = digest, load_extension(made, request.module)
        self._functions = {}
        for export in made.exports.functions:
            raw: Call = getattr(self._module, export.name)
            self._functions[export.name] = Function(raw, export.name, clean(export.doc), request)
        vars(self).update(self._functions)
        self.__doc__ = clean(made.exports.doc)
        return True

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
        return Kernel(self._request, name, parameters)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it: another process loads it."""
        return Library, (self._request,)

    def __getattr__(self, name: str) -> Function:
        """Say what the library has instead of what is asked for.

        Raises:
            AttributeError: always.
        """
        near = get_close_matches(name, vars(self).get("_functions", ()), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        where = self._request.path.name if "_request" in vars(self) else "the library"
        raise AttributeError(f"{where} exports no '{name}'{hint}", name=name, obj=self)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the exported functions."""
        return iter(self._functions)

    def __repr__(self) -> str:
        """Say which file it is."""
        return f"<ktc library {self._request.path.name}: {', '.join(self._functions) or 'kernels only'}>"


def _function_of(request: BuildRequest, name: str) -> Function:
    return Library(request).functions[name]


def load(source: str | os.PathLike[str], **options: Unpack[BuildOptions]) -> Library:
    """Compile a file and return its exported functions and kernels.

    Raises:
        CompileError: the program has errors, or there is no such file.
    """
    path = Path(source)
    return Library(BuildRequest(path, "python-extension", options, module=_module_name(path.stem)))


def compile(text: str, name: str = "source", **options: Unpack[BuildOptions]) -> Library:
    """Compile a text and return its exported functions and kernels.

    Args:
        name: what messages call the text; modules are looked for in the current folder.

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
