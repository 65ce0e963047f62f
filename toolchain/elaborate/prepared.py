"""An elaboration that waits for a program: the library functions that an earlier version of it used are there already.

Input: a program without mistakes, then its next version, with the same config. Output: the next version's `Program`, as
`program.elaborate` would make it. The earlier version is elaborated under symbols of its own, so that nothing of it is
taken for a part of the next one. Errors found here say too little: their author wants the words of an elaboration
that began with nothing.
"""

from ktc.config import Config
from ktc.diag.diagnostic import Sink
from ktc.elaborate import program
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.model.elaboration import Observe
from ktc.elaborate.program import Keep, Ready
from ktc.ir import nodes
from ktc.syntax.loader import Package

_PREFIX = "earlier."


class Prepared:
    """The reusable results of a program's earlier version; they serve one more version.

    Attributes:
        is_sound: the earlier version had no mistakes, and nothing in it hinders a second use.
    """

    def __init__(
        self, package: Package, config: Config, library: Library | None, observe: Observe | None = None
    ) -> None:
        """Elaborate the earlier version."""
        self._package, sink = package, Sink()
        self._elab = program.begin(package, config, sink, library, symbol_prefix=_PREFIX)
        self._elab.observe = observe
        self._elab.comptime.set_quiet(True)
        program.reached(self._elab)
        self.is_sound = not sink.diagnostics and not self._elab.comptime.tunables

    def elaborate(
        self, package: Package, sink: Sink, ready: Ready | None = None, observe: Observe | None = None,
        keep: Keep | None = None,
    ) -> nodes.Program:  # fmt: skip
        """Elaborate the next version.

        Args:
            package: its modules, loaded anew; those of the library are taken from the earlier version.
            ready, keep, observe: see `program.elaborate`.
        """
        _share_library(self._package, package)
        self._elab.forget_program(package, sink)
        self._elab.observe = observe
        self._elab.comptime.set_quiet(False)
        program.begin_program(self._elab)
        return program.whole_program(self._elab, ready, keep)


def _share_library(package: Package, other: Package) -> None:
    """Give another package the modules of the library that this one has loaded."""
    for name, module in package.modules.items():
        if module.source.is_library:
            other.add(name, module)
    other.sources, other.packed = package.sources, package.packed
