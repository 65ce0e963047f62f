"""The IR: a typed tree with structured control flow and variables; one `Unit` for each side of a program.

Values are pure and may stand anywhere; whatever reads memory, calls or has an effect stands alone on the right of
a `Let`, so the order of evaluation is the order of the statements. There are no phis: what differs between two
paths goes through a `Local`, and LLVM makes registers of locals. A `Temp` is set by one `Let` and read only inside the
block of that `Let` and blocks nested in it.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Union

from ktc.base.records import entity, record
from ktc.diag.source import Span
from ktc.ir.exports import Exports
from ktc.ir.types import PTR, DescribedType, PointerType, Type

# ---- constants that are not numbers -------------------------------------------------------------


@record
class Address:
    """A pointer constant: `offset` bytes into the global or function `name`."""

    name: str
    offset: int = 0


@record
class ImageSize:
    """An integer constant: how many bytes the image global `name` has; known when the device code is."""

    name: str


Plain = Union[int, float, Address, ImageSize, tuple["Plain", ...]]
"""A constant's value: int (of type iN: 0 <= v < 2**N; null pointers: 0), float (already rounded to its type),
a tuple for vectors, arrays and structs."""

# ---- values ---------------------------------------------------------------------------------------


@record
class Const:
    """A constant."""

    type: Type
    value: Plain


@record
class Temp:
    """What a `Let` has bound; `id` is unique in its function."""

    id: int
    type: Type


@record
class Argument:
    """The function's argument number `index`."""

    index: int
    type: Type


@record
class LocalAddress:
    """The address of a local; a pointer in the generic space."""

    local: "Local"

    @property
    def type(self) -> Type:
        """Always a generic pointer."""
        return PTR


@record
class GlobalAddress:
    """The address of a global or of a function of the unit, or of an external function (`Unit.externals`)."""

    name: str
    space: int = 0

    @property
    def type(self) -> Type:
        """A pointer in the global's space."""
        return PointerType(self.space)


@record
class Op:
    """A pure operation; `name` is a row of `ir.ops`. Build it with `ops.build`, which folds constants.

    Args:
        attr: what the row asks for: a lane list for `shuffle`, (struct type, index) for `field`, an element type
            for `offset`, an index for `get`/`set`; None for most.
    """

    name: str
    args: tuple["Value", ...]
    type: Type
    attr: object = None


Value = Union[Const, Temp, Argument, LocalAddress, GlobalAddress, Op]

# ---- right-hand sides of a Let ------------------------------------------------------------------------


@record
class Load:
    """Read a value of `type` from memory; `align` in bytes, 0 for the type's own. `invariant`: nothing writes that
    memory while the program runs on."""

    pointer: Value
    type: Type
    align: int = 0
    volatile: bool = False
    invariant: bool = False


@record
class Call:
    """Call a function of the unit by its symbol."""

    function: str
    args: tuple[Value, ...]
    type: Type


@record
class CallExternal:
    """Call a C function by its symbol; vectors are no arguments. `fixed_args` < len(args) makes it variadic after that
    many; -1 if it is not variadic."""

    symbol: str
    args: tuple[Value, ...]
    type: Type
    fixed_args: int = -1


@record
class CallIndirect:
    """Call a function through its address, by the C convention for scalars and pointers, or ktc's own convention for
    functions of the unit (they are the same for scalars and pointers). `is_c`: structs go by the C convention."""

    pointer: Value
    args: tuple[Value, ...]
    type: Type
    is_c: bool = False


@record
class CallIntrinsic:
    """Call an LLVM intrinsic, `INTERPRETED`, or a system value that the target defines under such a name. `pure`: no
    effect, may be moved and removed."""

    name: str
    args: tuple[Value, ...]
    type: Type
    pure: bool = False


INTERPRETED = "ktc.interpreted"
"""The name of an intrinsic of ktc's own: does the interpreter run this (an i1)."""


@record
class InlineAsm:
    """Inline assembly, LLVM's constraint syntax."""

    text: str
    constraints: str
    args: tuple[Value, ...]
    type: Type
    pure: bool = False


@record
class AtomicRmw:
    """`op`: add sub and or xor xchg smin smax umin umax fadd fmin fmax. Gives the old value.
    `ordering`: relaxed acquire release acq_rel seq_cst; `scope`: "" for system, else the language's scope name
    ("gpu", "cluster", "block", "warp")."""

    op: str
    pointer: Value
    value: Value
    type: Type
    ordering: str = "seq_cst"
    scope: str = ""


@record
class CompareExchange:
    """Gives a struct {old value, i1 success}."""

    pointer: Value
    expected: Value
    desired: Value
    type: Type
    ordering: str = "seq_cst"
    scope: str = ""


@record
class Fence:
    """A memory fence; its type is void."""

    type: Type
    ordering: str = "seq_cst"
    scope: str = ""


Action = Union[Op, Load, Call, CallExternal, CallIndirect, CallIntrinsic, InlineAsm, AtomicRmw, CompareExchange, Fence]

# ---- locals ----------------------------------------------------------------------------------------------


@record
class Part:
    """A field inside of a field of a local, which is given or moved away by itself.

    Args:
        path: the slots that lead to it.
        drop: symbol of its destructor, or "".
        name: as a person writes it, without the local's name.
        steps: the fields that lead to its address: the struct and the index.
        bound: the struct that it is a field of has a destructor of its own, so the fields die together.
    """

    path: tuple[int, ...]
    drop: str
    name: str
    steps: tuple[tuple[Type, int], ...]
    bound: bool


@entity
class Local:
    """A variable in memory, of one function. Identity is equality.

    Args:
        id: unique in its function.
        type: what lies there.
        name: the user's name, or "" for a temporary.
        drop: symbol of the destructor `fn(ptr)`, or "" where nothing is to be done.
        pins: locals that this one's value points into (they must outlive it); `pins_all`: every local of the function.
        align: bytes, 0 for the type's own.
        span: where it is declared.
        field_drops: for a struct that is taken apart or put together field by field: each field's destructor, or "".
            With `drop` set they serve where only some of the fields hold a value; with `drop` "" every field is
            destroyed by itself, after its own last use (`self` in `__del__(deinit self)`).
        at: its place is not in the frame but behind this argument; marks and drops speak of it, nothing declares it.
        kept: it belongs to the caller (a `mut` argument): there must be a value whenever the function returns.
        fields: the names of the fields, for messages.
        parts: the fields of those fields that are themselves taken apart.
        is_shared: not only its whole value is read: a field of it is, or it is changed or referred to.
        described: key of its type in `Unit.described`, "" where it has no debug information.
        environment_of: for the environment of a closure: the closure's name, which no other of the unit has.
    """

    id: int
    type: Type
    name: str = ""
    drop: str = ""
    pins: tuple["Local", ...] = ()
    pins_all: bool = False
    align: int = 0
    span: Span | None = None
    field_drops: tuple[str, ...] = ()
    at: Argument | None = None
    kept: bool = False
    fields: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    environment_of: str = ""
    is_shared: bool = False
    described: str = ""

    @property
    def place(self) -> "Value":
        """Its address."""
        return self.at or LocalAddress(self)


# ---- statements ----------------------------------------------------------------------------------------


@record
class Let:
    """Evaluate `value`; bind it to `temp`, or drop it (temp None: for the effect, or void)."""

    temp: Temp | None
    value: Action
    span: Span | None = None


@record
class Store:
    """Write a value; `align` in bytes, 0 for the type's own."""

    pointer: Value
    value: Value
    align: int = 0
    volatile: bool = False
    span: Span | None = None


@record
class MemCopy:
    """Copy `size` bytes (an i64) between places that do not overlap (`may_overlap`: memmove)."""

    target: Value
    origin: Value
    size: Value
    align: int = 1
    may_overlap: bool = False
    span: Span | None = None


@record
class MemSet:
    """Set `size` (i64) bytes to `byte` (i8)."""

    target: Value
    byte: Value
    size: Value
    align: int = 1
    span: Span | None = None


@record
class Declare:
    """A local's lifetime begins here, without a value; in a loop, in each iteration."""

    local: Local


@record
class Mark:
    """What happens to a local's ownership here; `passes` turns marks into destructor calls and errors.

    kind:
        "init"       the local has a value from here on (stands after the store or call that gave it).
        "consume"    the value was moved away; from here on there is none.
        "overwrite"  stands before a new value is stored: destroy the old one if there is one.
        "use"        the value is used here, if nothing else shows it (`_ = x`).
        "require"    an error unless the local surely has a value here; `span` is the user's use. Stands before each
                     use that the source spells.
        "result"     the same where the function ends, for its named result.
        "copy"       stands before a `Block` that copies the value; `instead` moves it, for a value that is not used
                     any more; `renamed`: the same for a place that only has another name then.
        "copied"     stands before what copies a value to the local, as far as its next "init": if it is never read,
                     nothing is copied.
    `path`: field indices for a part of a struct (only in constructors, fields of `out self`, and for moves out of
    fields).
    """

    kind: str
    local: Local
    path: tuple[int, ...] = ()
    span: Span | None = None
    instead: "tuple[Statement, ...]" = ()
    renamed: "tuple[Statement, ...]" = ()


@record
class If:
    """`condition` is an i1."""

    condition: Value
    then: tuple["Statement", ...]
    orelse: tuple["Statement", ...] = ()
    span: Span | None = None


@record
class Loop:
    """Repeat `body` for ever; `Break(label)` leaves, `Continue(label)` starts the next turn. Labels are unique in
    a function."""

    label: int
    body: tuple["Statement", ...]
    span: Span | None = None


@record
class Block:
    """Run `body` once; `Break(label)` jumps behind it."""

    label: int
    body: tuple["Statement", ...]


@record
class Break:
    """Leave the enclosing loop or block with this label."""

    label: int


@record
class Continue:
    """Next turn of the enclosing loop with this label."""

    label: int


@record
class Return:
    """Leave the function."""

    value: Value | None = None
    span: Span | None = None


@record
class Unreachable:
    """Control never comes here."""


Statement = Union[
    Let, Store, MemCopy, MemSet, Declare, Mark, If, Loop, Block, Break, Continue, Return, Unreachable
]  # fmt: skip

# ---- functions and units ------------------------------------------------------------------------------


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
        lends: it hands out memory of its frame or of the block, so that `inline` "always" must be done in the IR.
        bounds: of a kernel, by name: "threads" (of a block, at most), "resident_blocks" (on a multiprocessor, at
            least), "registers" (of a thread, at most), "cluster" (its extents in blocks).
        environments: by the name of a closure, which argument is its environment.
        must_end: destructors that it must not reach: the value's type, and what its author says to do instead.
        values: of a kernel: which arguments are addresses of values that the launch passes, and the values' types.
        described: by argument, key of its type in `Unit.described`, after an "&" if it is passed by its address.
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
    lends: bool = False
    bounds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    environments: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[int, Type] = field(default_factory=dict)
    traced: bool = True
    must_end: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    described: Mapping[int, str] = field(default_factory=dict)


@record
class ImageRef:
    """The content of a global that the device back end fills in: what was emitted for one kernel.

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
    """The content of a global: a place in the program, for a trace of an error (`builtin/_trace.kpy`)."""

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
    """

    target: object
    functions: dict[str, Function] = field(default_factory=dict)
    globals: dict[str, Global] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    exports: Exports = Exports()
    described: Mapping[str, DescribedType] = field(default_factory=dict)


@record
class Program:
    """What the elaborator makes: the host's unit and one unit for each device target.

    Args:
        entry: symbol of the host function that C's `main` calls: `fn(i32 argc, ptr argv) -> i32`.
        apart: functions of the user's that are in no unit (nothing reaches them), or in one that has mistakes: to be
            looked at for mistakes of their own.
        tunables: the choices that it declares (`tuning.tunable`): the values of each, the default first.
    """

    host: Unit
    devices: tuple[Unit, ...]
    entry: str = ""
    info: Mapping[str, object] = field(default_factory=dict)
    apart: "tuple[Function, ...]" = ()
    tunables: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
