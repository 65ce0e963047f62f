"""State that the lowering of one unit shares, and the uses of each function.

Input: a unit. Output: `Context`, which names functions, globals and externals, and notes in `Uses` who needs what, so
that a module can be cut out for each kernel from functions that were lowered once.
"""

from collections.abc import Mapping
from dataclasses import field

from ktc.base.records import entity
from ktc.codegen.local_pointers import LocalPointers
from ktc.codegen.values.constants import ConstantWriter, symbol
from ktc.codegen.values.types import TypeTable
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import Global, Unit
from ktc.ir.types import PointerType
from ktc.targets.target import Target

CONTRACT = "contract "
"""Fast-math flags of float arithmetic. As in the reference, and in CUDA, a * b + c may be one operation with one
rounding, on the host too: the same program then gives the same digits wherever it runs."""

SHARED_SPACE = 3


@entity
class Uses:
    """The functions, globals and externals that a function or a global refers to, in the order of first use.

    Args:
        functions: by name, how often, where nothing can come back (a message before the end) counted twice.
        globals: by name.
        externals: declarations by symbol.
        intrinsics: declarations of the target's own functions (AIR) and texts (CPU), by symbol.
        metadata: numbered nodes, whole lines by number.
    """

    functions: dict[str, int] = field(default_factory=dict)
    globals: dict[str, None] = field(default_factory=dict)
    externals: dict[str, str] = field(default_factory=dict)
    intrinsics: dict[str, str] = field(default_factory=dict)
    metadata: dict[int, str] = field(default_factory=dict)


@entity
class ImplicitArguments:
    """Parameters beyond those of the IR: system values for which the target has no registers.

    Args:
        slots: by function, the slots of system values that it or its callees read.
        shared: functions that need the block's shared memory as a pointer (CPU).
        offsets: by shared global, where it lies in that memory.
        shared_bytes: how much of it there is, but for what a launch adds.
        is_sized: there is memory in it that a launch sizes, at its end.
    """

    slots: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    offsets: Mapping[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    is_sized: bool = False

    def parameters(self, function: str) -> list[str]:
        """Return the parameters with their names; a caller passes them on under the same names."""
        found = [f"i32 %s{slot}" for slot in self.slots.get(function, ())]
        return [*found, "ptr %shared"] if function in self.shared else found


class Context:
    """The lowering of one unit.

    Args:
        marks: kernels that wait become no coroutines; their waits are calls, at which they will be cut.
    """

    def __init__(
        self,
        unit: Unit,
        image_sizes: Mapping[str, int] | None,
        debug: int,
        trailing: ImplicitArguments,
        marks: bool = False,
        level: int = 1,
    ) -> None:
        if not isinstance(unit.target, Target):
            raise Bug("a unit has no target", "codegen")
        self.unit = unit
        self.target: Target = unit.target
        self.is_host = not self.target.is_device
        self.types = TypeTable(self.target)
        self.constants = ConstantWriter(self.types, self.refer, image_sizes)
        # `passes/fusing` has done most of it; at -O0 LLVM would fuse what it happens to translate at a time.
        self.contract = CONTRACT if level or not self.target.fuses_products else ""
        self.debug = debug
        self.trailing = trailing
        self.marks = marks
        self.uses = Uses()
        self.kernels = frozenset(kernel.symbol for kernel in unit.kernels if not kernel.shown)
        self.private_accesses: LocalPointers | None = None
        self.numbers: dict[tuple[object, ...], int] = {}
        self.is_rare = False
        is_archive = any(function.linkage == "hidden" for function in unit.functions.values())
        self.sections = is_archive and not self.target.is_device and "linux" in self.target.triple
        self.file_of: dict[int, int] = {}
        self.described: dict[str, dict[int, str]] = {}

    def use(self, function: str) -> None:
        """Note that the current function calls another, or takes its address."""
        known = self.uses.functions
        known[function] = known.get(function, 0) + 1 + self.is_rare

    def refer(self, name: str, space: int) -> str:
        """Return the address of a global, function or external as a constant in the language's address space."""
        if name in self.unit.functions:
            self.use(name)
            if self.trailing.parameters(name):
                raise Bug(f"the address of '{name}' is taken, which needs its thread's ids as arguments", "codegen")
            return symbol(self.body_name(name))
        held = self.unit.globals.get(name)
        if held is None and self.is_exported(name):
            self.use(name)
            return symbol(name)
        if held is None:
            self.uses.externals.setdefault(name, f"declare void {symbol(name)}()")
            return symbol(name)
        if name in self.trailing.offsets:
            raise Bug(f"the address of shared memory '{name}' is no constant on {self.target.name}", "codegen")
        self.uses.globals[name] = None
        have, want = self.global_space(held), self.types.space(space)
        if have == want:
            return symbol(name)
        return f"addrspacecast (ptr addrspace({have}) {symbol(name)} to {self.types.value(PointerType(space))})"

    def global_space(self, held: Global) -> int:
        """Return LLVM's address space of a global."""
        space = held.space
        if space == 0 and self.target.is_device:
            constant, variable = self.target.global_spaces
            space = constant if held.constant else variable
        return self.types.space(space)

    def is_exported(self, name: str) -> bool:
        """Return whether C can call a function of the unit by this name."""
        return any(export.name == name for export in self.unit.exports.functions)

    def body_name(self, function: str) -> str:
        """Return the symbol under which a function is called: a kernel's own is for the driver."""
        return f"{function}.body" if function in self.kernels else function
