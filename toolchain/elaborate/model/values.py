"""Values of expressions: at run time (`RValue`, `Place`), constants, and forms that only calls know."""

from collections.abc import Callable
from typing import Any, Union

from ktc.base.records import entity
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import ImportRef, OverloadSet, StructInfo, TraitInfo, Ty
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.types import ConstValue, FunctionValue, ParameterValue
from ktc.ir import nodes, types
from ktc.ir.nodes import Local
from ktc.syntax import ast

FOREIGN = nodes.Local(-1, types.UNIT, "foreign")
"""Stands for the place of a value of which only the type is known."""


@entity
class RValue:
    """A value of a directly passed type, as an IR value.

    Args:
        read_only_reason: it has a name that may not be changed, and why.
        loans, computed_from: as in `Place`.
        access_paths: the paths to what it points into (`ownership/access_paths.py`).
        interior: the collections whose memory it points into (`ownership/interior_references.py`).
    """

    ty: Ty
    ir: nodes.Value
    read_only_reason: str = ""
    loans: tuple[nodes.Local, ...] | None = None
    computed_from: "ComputedAccess | None" = None
    access_paths: "tuple[AccessPath, ...]" = ()
    interior: "tuple[Interior, ...]" = ()

    @property
    def read_only(self) -> bool:
        """Has it a name: any other is a temporary, which may be changed."""
        return bool(self.read_only_reason)


@entity
class Place:
    """A place in memory that holds a value.

    Args:
        pointer: its address.
        mutable: may it be written.
        local, path: the local that it is or is a part of, if known, and which part.
        owned: a temporary, or transferred with `^`: whoever takes the value may move it.
        read_only_reason: why it is immutable, for the message.
        loans: the locals in which it lies or into which its value points, where no local is known; None: unknown.
        computed_from: the item or field that it is, if a getter gave it (`calls/writeback.py`).
        access_paths: the paths that lead to it (`ownership/access_paths.py`).
        at: where it is named.
        by_reference: a `ref` name stands for it, or for what it is a part of.
        interior: the collections in whose memory it lies, or into which it points (`ownership/interior_references.py`).
    """

    ty: Ty
    pointer: nodes.Value
    mutable: bool = True
    local: nodes.Local | None = None
    path: tuple[int, ...] = ()
    owned: bool = False
    read_only_reason: str = ""
    loans: tuple[nodes.Local, ...] | None = None
    computed_from: "ComputedAccess | None" = None
    access_paths: "tuple[AccessPath, ...]" = ()
    at: Span | None = None
    by_reference: bool = False
    interior: "tuple[Interior, ...]" = ()

    @property
    def read_only(self) -> bool:
        """Return whether the place is immutable; temporaries, which have no other user, are mutable."""
        return not self.mutable and not (self.owned and self.local is not None and not self.local.name)


@entity
class Method:
    """`value.method`, not called yet. `base` is None for a static reference through the type."""

    base: "RValue | Place | ConstValue | None"
    fn: FunctionValue


@entity
class PackValue:
    """`*args` of a heterogeneous pack as it is passed on."""

    items: tuple["RValue | Place | ConstValue", ...]


@entity
class CollectionLiteral:
    """A list, set, dictionary or slice written as an argument: its type is known when the called function is.

    Args:
        name: of its own collection: `List`, `Set`, `Dict` or `Slice`.
        items, values: the elements, the keys and values of a dictionary, or the three parts of a slice.
        node: the syntax.
        ty, mismatch: its type where none is expected, or why it can have none; None if that is not known.
        keywords: named arguments for the constructor of what is expected: `{1, name = 2}`.
    """

    name: str
    items: tuple["Arg", ...]
    values: tuple["Arg", ...]
    node: ast.Node
    ty: Ty | None
    mismatch: Mismatch | None = None
    keywords: tuple["Arg", ...] = ()


Val = Union[RValue, Place, ConstValue]
"""A value at run time or a constant."""


@entity
class Arg:
    """One argument of a call: its value and where it stands."""

    value: "Result"
    span: Span
    name: str = ""


@entity
class ComputedAccess:
    """Where a value came from: an item of `base` at `args`, its field `name`, or the result of its `__getattr__`."""

    base: RValue | Place
    args: list[Arg]
    node: ast.Node
    name: str = ""
    is_field: bool = False


@entity
class DeferredOperand:
    """An item, or the result of `__getattr__` for `name`, fetched after the other operands are evaluated."""

    getter: FunctionValue
    args: list[Arg]
    node: ast.Expr
    name: str = ""


class UntrackedRoot:
    """The root of a place behind an untracked pointer; each is distinct."""


AccessPath = tuple[Union[nodes.Local, nodes.Argument, UntrackedRoot], Union[tuple[int, ...], None]]
"""How a place is reached: the variable or argument that it is in, and the fields that lead on from there, None if not
known (`ownership/access_paths.py`)."""
Interior = tuple[Union[nodes.Local, nodes.Argument, UntrackedRoot], tuple[int, ...], int, bool]
"""A way into the memory of a collection: the variable or argument and the fields that lead to it, in how many
collections the value lies, and whether a method of the collection gave it (`ownership/interior_references.py`)."""


@entity
class Var:
    """A variable, argument or loop variable of a body.

    Args:
        value: a place, or for arguments passed by value and never changed the value itself.
        kind: "var", "arg", "loop", "ref", "with".
        declared: it was declared without a value; the first assignment gives it one.
        captured: the body that owns it, when it is seen from a nested function.
    """

    name: str
    ty: Ty
    value: Place | RValue | ConstValue
    span: Span
    kind: str = "var"
    local: Local | None = None
    body: Any = None


Result = Union[RValue, Place, Method, PackValue, CollectionLiteral, DeferredOperand, ParameterValue, None]
"""The result of an expression; None for `_`."""
Values = list[Result]
"""Values for the arguments of an instance, in order; a variadic one gets a `PackValue`, an `out` one None."""
NewArgument = Callable[[str, types.Type], nodes.Argument]
"""Makes the next argument of the function that is built."""
Slot = Union[Arg, list[Arg], None]
"""A call's value for an argument: None for its default, several for a variadic one."""
Binding = Union[Var, OverloadSet, StructInfo, TraitInfo, ImportRef, Result]
"""The meaning of a name in a scope."""
