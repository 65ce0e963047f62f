"""ktc as a library of Python: compile, load and call. `import ktc` loads these names on first use."""

from ktc.api.building import BuildOptions, build, emit
from ktc.api.errors import CompileError, Problem
from ktc.api.kernels import Kernel
from ktc.api.libraries import Function, Library, compile, load

__all__ = (
    "BuildOptions", "CompileError", "Function", "Kernel", "Library", "Problem", "build", "compile", "emit", "load",
)  # fmt: skip
