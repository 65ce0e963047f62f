"""What `import ktc` gives, for type checkers."""

from ktc.api import BuildOptions as BuildOptions
from ktc.api import CompileError as CompileError
from ktc.api import Function as Function
from ktc.api import Kernel as Kernel
from ktc.api import Library as Library
from ktc.api import Problem as Problem
from ktc.api import build as build
from ktc.api import compile as compile
from ktc.api import emit as emit
from ktc.api import load as load

__version__: str
