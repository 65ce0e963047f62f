"""Statements and declarations."""

from dataclasses import field
from typing import Any, Union

from ktc.base import unpickling
from ktc.base.editions import ChosenEdition, Edition
from ktc.base.records import entity, replace
from ktc.syntax.ast.expressions import Capture, Expr, Node, Param
from ktc.syntax.ast.simple_statements import (
    Alias,
    Assign,
    AugAssign,
    Break,
    CasePattern,
    CollectItem,
    Continue,
    Decorator,
    ExprStmt,
    FromImport,
    Import,
    Pass,
    Raise,
    Return,
    StaticAssert,
    VarDecl,
    WithItem,
)


@entity
class FunctionHead:
    """A function's parameters, arguments, result and effects, and its docstring.

    Args:
        result: the type after `->`, or None.
        result_ref: the expressions in `-> ref [a, b] T`; None if the result is no reference.
        effects: capturing, escaping, unified, async … as written.
        captures: the list `{imm a, mut b, var c, var d^}`; None if there is none.
        doc: the docstring or "".
        only_passes: of a trait's requirement: its body is `pass`, not `...`.
        error: the type after `raises`; None where none is written.
    """

    params: tuple[Param, ...]
    args: tuple[Param, ...]
    result: Expr | None
    result_ref: tuple[Expr, ...] | None
    raises: bool
    effects: tuple[str, ...]
    captures: tuple[Capture, ...] | None
    where: tuple[Expr, ...]
    is_def: bool
    doc: str
    only_passes: bool = False
    error: Expr | None = None


class FunctionDecl(Node):
    """A function; `start` is at `fn`/`def`, `name_start` at the name.

    Head and body may be pickled until they are asked for: most functions of a cached module are never called, and
    most of the others never looked into.
    """

    __slots__ = ("_body", "_head", "decorators", "name", "name_start")
    __match_args__ = (
        "start", "end", "name", "name_start", "params", "args", "result", "result_ref", "raises", "effects", "captures",
        "where", "body", "decorators", "is_def", "doc", "error",
    )  # fmt: skip

    def __init__(
        self, start: int, end: int, name: str, name_start: int, decorators: tuple[Decorator, ...],
        head: FunctionHead | bytes, body: "tuple[Stmt, ...] | bytes | None",
    ) -> None:  # fmt: skip
        self.start = start
        self.end = end
        self.name = name
        self.name_start = name_start
        self.decorators = decorators
        self._head = head
        self._body = body

    @property
    def head(self) -> FunctionHead:
        """Return the parameters, arguments, result and effects."""
        head = self._head
        if isinstance(head, bytes):
            made = unpickling.loads(head)
            assert isinstance(made, FunctionHead)
            self._head = head = made
        return head

    @property
    def body(self) -> "tuple[Stmt, ...] | None":
        """Return the statements; None for a trait's requirement (`...`)."""
        body = self._body
        if isinstance(body, bytes):
            made = unpickling.loads(body)
            assert made is None or isinstance(made, tuple)
            self._body = body = made
        return body

    def with_args(self, args: tuple[Param, ...]) -> "FunctionDecl":
        """Return the same function with other arguments."""
        head = replace(self.head, args=args)
        return FunctionDecl(self.start, self.end, self.name, self.name_start, self.decorators, head, self.body)

    def without_raising(self) -> "FunctionDecl":
        """Return the same function as one that does not raise."""
        head = replace(self.head, raises=False, is_def=False)
        return FunctionDecl(self.start, self.end, self.name, self.name_start, self.decorators, head, self.body)

    def with_where(self, where: tuple[Expr, ...]) -> "FunctionDecl":
        """Return the same function with these conditions."""
        head = replace(self.head, where=where)
        return FunctionDecl(self.start, self.end, self.name, self.name_start, self.decorators, head, self.body)

    def with_error(self, error: Expr) -> "FunctionDecl":
        """Return the same function with this type of errors."""
        head = replace(self.head, raises=True, error=error)
        return FunctionDecl(self.start, self.end, self.name, self.name_start, self.decorators, head, self.body)

    def as_requirement(self, only_passes: bool) -> "FunctionDecl":
        """Return the same function without a body."""
        head = replace(self.head, only_passes=True) if only_passes else self.head
        return FunctionDecl(self.start, self.end, self.name, self.name_start, self.decorators, head, None)

    @property
    def params(self) -> tuple[Param, ...]:
        return self.head.params

    @property
    def args(self) -> tuple[Param, ...]:
        return self.head.args

    @property
    def result(self) -> Expr | None:
        return self.head.result

    @property
    def result_ref(self) -> tuple[Expr, ...] | None:
        return self.head.result_ref

    @property
    def raises(self) -> bool:
        return self.head.raises

    @property
    def effects(self) -> tuple[str, ...]:
        return self.head.effects

    @property
    def captures(self) -> tuple[Capture, ...] | None:
        return self.head.captures

    @property
    def where(self) -> tuple[Expr, ...]:
        return self.head.where

    @property
    def is_def(self) -> bool:
        return self.head.is_def

    @property
    def doc(self) -> str:
        return self.head.doc

    @property
    def error(self) -> Expr | None:
        return self.head.error


@entity
class StructDecl(Node):
    """A struct: fields are `VarDecl`s, methods `FunctionDecl`s, plus `Alias`es in `body`."""

    name: str
    name_start: int
    params: tuple[Param, ...]
    traits: tuple[Expr, ...]
    where: tuple[Expr, ...]
    body: "tuple[Stmt, ...]"
    decorators: tuple[Decorator, ...]
    doc: str


@entity
class Extension(Node):
    """`__extension name(traits):`: members that a struct of the same file gets as well."""

    name: str
    name_start: int
    traits: tuple[Expr, ...]
    body: "tuple[Stmt, ...]"


@entity
class TraitDecl(Node):
    """A trait: methods (body None = requirement), aliases (value None = associated requirement)."""

    name: str
    name_start: int
    params: tuple[Param, ...]
    traits: tuple[Expr, ...]
    body: "tuple[Stmt, ...]"
    decorators: tuple[Decorator, ...]
    doc: str


@entity
class If(Node):
    """`if`; an `elif` is an If alone in `orelse`. `comptime`: `@parameter if` / `comptime if`."""

    condition: Expr
    body: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]"
    comptime: bool


@entity
class While(Node):
    """`while condition: body else: orelse`."""

    condition: Expr
    body: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]"


@entity
class For(Node):
    """`for [var|ref] target in iter`; `comptime`: `@parameter for` / `comptime for`."""

    target: Expr
    convention: str
    iter: Expr
    body: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]"
    comptime: bool


@entity
class Handler(Node):
    """`except name: body`; name "" if not given. `except T` is not in the language."""

    name: str
    body: "tuple[Stmt, ...]"


@entity
class Try(Node):
    """`try: body except e: … else: orelse finally: final`."""

    body: "tuple[Stmt, ...]"
    handler: Handler | None
    orelse: "tuple[Stmt, ...]"
    final: "tuple[Stmt, ...]"


@entity
class With(Node):
    """`with a as x, b as y: body`."""

    items: tuple[WithItem, ...]
    body: "tuple[Stmt, ...]"


@entity
class Case(Node):
    """`case pattern if guard: body`."""

    pattern: CasePattern
    guard: Expr | None
    body: "tuple[Stmt, ...]"


@entity
class Match(Node):
    """`match subject: cases`."""

    subject: Expr
    cases: tuple[Case, ...]


@entity
class Module(Node):
    """One file. `source` is the `diag.Source`, set by the loader after unpickling."""

    body: "tuple[Stmt, ...]"
    doc: str
    source: Any = field(default=None)

    @property
    def edition(self) -> Edition:
        """The dialect in which it is written."""
        chosen: ChosenEdition | None = self.source.edition if self.source is not None else None
        return chosen.edition if chosen is not None else Edition.Y2025


Stmt = Union[
    FunctionDecl, StructDecl, Extension, TraitDecl, Alias, VarDecl, Assign, AugAssign, ExprStmt, If, While, For, Return,
    Raise, Break, Continue, Pass, Try, With, Match, CollectItem, StaticAssert, Import, FromImport,
]  # fmt: skip
