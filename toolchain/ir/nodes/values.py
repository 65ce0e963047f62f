"""Values: constants, what a `Let` has bound, addresses, pure operations; and the locals that addresses name."""

from typing import Union

from ktc.base.records import entity, record
from ktc.diag.source import Span
from ktc.ir.types import PTR, PointerType, Type


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


@record
class Const:
    """A constant."""

    type: Type
    value: Plain


@record
class Temp:
    """The value that a `Let` has bound; `id` is unique in its function."""

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
        attr: the row's constant: a lane list for `shuffle`, (struct type, index) for `field`, an element type
            for `offset`, an index for `get`/`set`; None for most.
    """

    name: str
    args: tuple["Value", ...]
    type: Type
    attr: object = None


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
        type: the type of its memory.
        name: the user's name, or "" for a temporary.
        drop: symbol of the destructor `fn(ptr)`, or "" where nothing is to be done.
        points_to: locals that this one's value points into, and which must outlive it; `points_to_all`: every local of
            the function.
        align: bytes, 0 for the type's own.
        span: where it is declared.
        field_drops: for a struct that is taken apart or put together field by field: each field's destructor, or "".
            With `drop` set they serve where only some of the fields hold a value; with `drop` "" every field is
            destroyed by itself, after its own last use (`self` in `__del__(deinit self)`).
        at: the argument whose address is its place, if that is not in the frame; nothing declares it then.
        is_caller_owned: of a `mut` argument, which belongs to the caller: it has a value whenever the function returns.
        is_under_construction: of the `self` that an initializer makes, whose fields get their values one by one.
        fields: the names of the fields, for messages.
        parts: the fields of those fields that are themselves taken apart.
        is_shared: not only its whole value is read: a field of it is, or it is changed or referred to.
        described: key of its type in `Unit.described`, "" where it has no debug information.
        is_of_function: declared without 'var', so that it belongs to the function whatever the block.
        environment_of: for the environment of a closure: the closure's name, which no other of the unit has.
        refers_into: of the mark of a variable that refers into a collection: the name of the collection.
    """

    id: int
    type: Type
    name: str = ""
    drop: str = ""
    points_to: tuple["Local", ...] = ()
    points_to_all: bool = False
    align: int = 0
    span: Span | None = None
    field_drops: tuple[str, ...] = ()
    at: Argument | None = None
    is_caller_owned: bool = False
    is_under_construction: bool = False
    fields: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    environment_of: str = ""
    is_shared: bool = False
    described: str = ""
    is_of_function: bool = False
    refers_into: str = ""

    @property
    def place(self) -> "Value":
        """Its address."""
        return self.at or LocalAddress(self)


Value = Union[Const, Temp, Argument, LocalAddress, GlobalAddress, Op]
