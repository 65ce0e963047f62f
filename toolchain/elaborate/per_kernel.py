"""The per-kernel flow: the host is elaborated, kernels are only met, and each is elaborated alone afterwards.

Input: a resolved program. Output: the host's unit, and on demand a unit that holds one kernel with what it reaches. A
kernel's unit must be asked for in a copy of the process, for it leaves what it elaborated behind.
"""

from ktc.config import Config
from ktc.diag.diagnostic import Sink
from ktc.elaborate import program
from ktc.elaborate.functions import function_bodies, reachable_units
from ktc.elaborate.instances import work_queue
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.program import Keep, Ready
from ktc.ir import nodes
from ktc.syntax.loader import Package


class PerKernel:
    """An elaboration that leaves the bodies of kernels out until each is asked for."""

    def __init__(self, package: Package, config: Config, sink: Sink, library: Library | None = None) -> None:
        self._elab: Elaboration = program.begin(package, config, sink, library)
        work_queue.defer_kernels(self._elab)

    def host(self, ready: Ready | None = None, keep: Keep | None = None) -> nodes.Program:
        """Elaborate everything that `main` reaches, except for kernels."""
        return program.whole_program(self._elab, ready, keep)

    def kernel(self, index: int, symbol: str) -> nodes.Unit:
        """Return the unit of one kernel of a target."""
        assert self._elab.instances.deferred_kernels is not None
        instance = self._elab.instances.deferred_kernels[index, symbol]
        state = instance.state
        state.kernels = {symbol: state.kernels[symbol]}
        function_bodies.elaborate_instance(self._elab, instance)
        work_queue.drain(self._elab)
        return reachable_units.reachable_unit(self._elab, state)
