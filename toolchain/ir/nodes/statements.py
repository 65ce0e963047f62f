"""Statements, with structured control flow."""

from typing import Union

from ktc.base.records import record
from ktc.diag.source import Span
from ktc.ir.nodes.actions import Action
from ktc.ir.nodes.values import Local, Temp, Value


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
    """A change of a local's ownership here; `passes` turns marks into destructor calls and errors.

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
    """Run `body` once; `Break(label)` jumps after it."""

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
