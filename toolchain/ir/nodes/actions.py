"""Actions: right sides of a `Let` that read memory, call, or have an effect, and so are no operands."""

from typing import Union

from ktc.base.records import record
from ktc.ir.nodes.values import Op, Value
from ktc.ir.types import Type


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
