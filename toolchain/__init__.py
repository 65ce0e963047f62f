"""ktc: an ahead-of-time compiler for a Pythonic GPU kernel language.

As a library of Python: `ktc.load`, `ktc.compile`, `ktc.build`, `ktc.emit` and what they return (docs/python.md). They
are loaded on first use, since the command line starts here, too.
"""

import sys
import types
from importlib import import_module

from ktc.native import folders

__path__[:0] = folders()


_NAMES = (
    "BuildOptions", "CompileError", "Function", "Kernel", "Library", "Problem", "build", "compile", "emit", "load",
)  # fmt: skip
"""The names of `ktc.api`, listed here so that the command line does not import it."""


class _Ktc(types.ModuleType):
    """This module: its functions come from `ktc.api`. `emit` is one for all who ask, and a package to `import`."""

    @property
    def emit(self) -> object:
        """The function; what `import ktc.emit` sets here is not kept."""
        return import_module("ktc.api").emit

    @emit.setter
    def emit(self, _: object) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        """Return a name of the library for Python."""
        if name == "__version__":
            return import_module("ktc.base.version").VERSION
        if name == "load_ipython_extension":
            return import_module("ktc.api.notebooks").load_ipython_extension
        if name in _NAMES:
            return getattr(import_module("ktc.api"), name)
        raise AttributeError(f"module 'ktc' has no attribute '{name}'", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted([*[name for name in vars(self) if name.startswith("__")], *_NAMES])


sys.modules[__name__].__class__ = _Ktc
