"""The per-kernel flow: the host is elaborated, kernels are only met, and each is elaborated alone afterwards.

In: a resolved program. Out: the host's unit, and on demand a unit that holds one kernel with what it reaches. A
kernel's unit must be asked for in a copy of the process, for it leaves what it elaborated behind.
"""

from ktc.config import Config
from ktc.diag.diagnostic import Sink
from ktc.elaborate.instances.instance_table import Instance
from ktc.elaborate.instances.library_archive import Library
from ktc.elaborate.program import Elaborator
from ktc.ir import nodes
from ktc.syntax.loader import Package


class Slicer(Elaborator):
    """An elaborator that puts kernels aside."""

    def __init__(self, package: Package, config: Config, sink: Sink, library: Library | None = None) -> None:
        self.aside: dict[tuple[int, str], Instance] = {}
        super().__init__(package, config, sink, library)

    def request(self, instance: Instance) -> None:
        """Put a kernel aside; anything else is work."""
        if not instance.kernel:
            super().request(instance)
            return
        self.aside[instance.state.index, instance.symbol] = instance
        # Unreached functions are elaborated for their mistakes: this one is reached.
        self.elaborated.add(instance.fn.uid)

    def slice(self, index: int, symbol: str) -> nodes.Unit:
        """Return a unit of one kernel."""
        instance = self.aside[index, symbol]
        state = instance.state
        state.kernels = {symbol: state.kernels[symbol]}
        self.elaborate_instance(instance)
        self.drain()
        return self.unit_of(state)
