"""Functions, globals and kernels, and the units that hold them."""

from collections.abc import Mapping
from dataclasses import field

from ktc.base.records import entity, record
from ktc.diag.source import Span
from ktc.ir.exports import Exports
from ktc.ir.nodes.statements import Statement
from ktc.ir.nodes.values import Const
from ktc.ir.types import CONSTANT_SPACE, DescribedType, Type


@record
class Function:
    """One instance.

    Args:
        symbol: unique in its unit, `[A-Za-z0-9_$.]`; kernels `[A-Za-z0-9_$]`.
        title: how a person would write it, with parameters (`saxpy[4]`).
        params: (name, type) of each argument.
        result: type of the result, or VOID.
        body: the last statement on every path is a Return or Unreachable.
        linkage: "internal", "export" (visible symbol), "hidden" (seen by other objects of the same executable) or
            "external" (hidden in another object; it has no body).
        inline: "", "always" or "never".
        traced: it has line tables; otherwise its code has its caller's position (`@always_inline("nodebug")`).
        noreturn: of a declaration: it never returns, see `passes.never_returns`.
        exposes_frame: it returns an address in its frame or in the block's memory, so `inline` "always" must be done in
            the IR.
        bounds: of a kernel, by name: "threads" (of a block, at most), "resident_blocks" (on a multiprocessor, at
            least), "registers" (of a thread, at most), "cluster" (its extents in blocks).
        environments: by the name of a closure, which argument is its environment.
        forbidden_destructors: destructors that must not be called here: the value's type, and what to do instead.
        values: of a kernel: which arguments are addresses of values that the launch passes, and the values' types.
        references: with checks, of the host: which arguments are addresses of values that exist, and the values' types.
        unchecked: its accesses are not looked at (`@__unchecked`).
        last_declared_first: values whose lives end in the same statement are destroyed in reverse order of their
            declaration (edition 2026), not in the order in which the statement mentions them.
        described: by argument, key of its type in `Unit.described`, after an "&" if it is passed by its address.
        read_only: of a declaration: arguments through which the function only reads, see `ir.read_only`.
    """

    symbol: str
    title: str
    params: tuple[tuple[str, Type], ...]
    result: Type
    body: tuple[Statement, ...]
    linkage: str = "internal"
    inline: str = ""
    noreturn: bool = False
    span: Span | None = None
    exposes_frame: bool = False
    bounds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    environments: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[int, Type] = field(default_factory=dict)
    references: Mapping[int, Type] = field(default_factory=dict)
    traced: bool = True
    unchecked: bool = False
    forbidden_destructors: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    last_declared_first: bool = False
    described: Mapping[int, str] = field(default_factory=dict)
    read_only: tuple[int, ...] = ()


@record
class ImageRef:
    """The content of a global that the device back end fills in: the code of one kernel.

    Args:
        unit: index of the device unit in `Program.devices`.
        kernel: the kernel's symbol.
        kind: "asm", "llvm", "llvm-opt", "object" (for a person or a tool), "image" (what the driver loads).
    """

    unit: int
    kernel: str
    kind: str


@record
class SourcePlace:
    """The content of a global: a place in the program, for a trace of an error (`builtin/_runtime/trace.kpy`)."""

    path: str
    line: int
    column: int
    title: str


@record
class Global:
    """A global variable.

    Args:
        content: bytes for raw data (type is an array of i8 then), a `Const`, an `ImageRef`, a `SourcePlace`, or
            None for zeros.
        space: the language's address space (3: shared memory of a block, never initialised).
        linkage: "internal", "hidden" or "external", as of a `Function`.
    """

    name: str
    type: Type
    content: "bytes | Const | ImageRef | SourcePlace | None"
    constant: bool
    space: int = 0
    align: int = 0
    linkage: str = "internal"

    @property
    def is_table(self) -> bool:
        """Constant memory without a name of the program's: functions fill it at compile time, and what they give of it
        becomes a constant of its own."""
        return self.space == CONSTANT_SPACE and self.content is None and "$" in self.name


@record
class Kernel:
    """A function of a device unit that the host starts.

    Args:
        shown: nothing starts it; it is compiled for its code to be looked at, and may take and return anything.
    """

    symbol: str
    title: str
    span: Span | None = None
    shown: bool = False


@entity
class Unit:
    """All that is compiled for one side: the host, or one device target.

    Args:
        target: a `targets.target.Target`.
        functions: by symbol, callees and callers in any order.
        kernels: of a device unit.
        exports: of the host, what C can call.
        described: types as debuggers show them, by key.
        apart: of a host, the library's functions and variables that are compiled for themselves, by symbol: each unit
            holds one of them and what it needs. The host declares them.
    """

    target: object
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, Global] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    exports: Exports = Exports()
    described: Mapping[str, DescribedType] = field(default_factory=dict)
    apart: "dict[str, Unit]" = field(default_factory=dict)


@record
class Program:
    """An elaborated program: the host's unit and one unit for each device target.

    Args:
        entry: symbol of the host function that C's `main` calls: `fn(i32 argc, ptr argv) -> i32`.
        check_only: functions of the program that are only checked: nothing reaches them, or their unit has errors.
        tunables: the choices that it declares (`tuning.tunable`): the values of each, the default first.
    """

    host: Unit
    devices: tuple[Unit, ...]
    entry: str = ""
    info: Mapping[str, object] = field(default_factory=dict)
    check_only: "tuple[Function, ...]" = ()
    tunables: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
