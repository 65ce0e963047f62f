"""ktc as a library of Python: compile, load and call. `import ktc` finds these names when they are asked for."""

from ktc.api.building import BuildOptions, build, emit
from ktc.api.errors import CompileError, Problem
from ktc.api.kernels import Kernel
from ktc.api.libraries import Function, Library, compile, load

__all__ = (
    "BuildOptions", "CompileError", "Function", "Kernel", "Library", "Problem", "build", "compile", "emit", "load",
)  # fmt: skip
