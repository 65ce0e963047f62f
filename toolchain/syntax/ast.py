"""The syntax tree: one class a construct, nothing else.

Every node has `start` and `end`, offsets into its module's text (`Module.source` is set by the loader).
Nodes are made once by `syntax.builder` and never changed. They are not `frozen=True`, because a frozen
dataclass costs three times as much to unpickle, and unpickling is most of what loading a module costs.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Union

from ktc.base import unpickling
from ktc.base.records import entity, replace, shown


@entity
class Node:
    """Base of all nodes: the characters `start` to `end` of the text."""

    start: int
    end: int

    __repr__ = shown


# ---- expressions ---------------------------------------------------------------------------------


@entity
class Name(Node):
    """`x`; `Self`, `self` and backquoted names (without the quotes) too."""

    id: str


@entity
class IntLit(Node):
    """`12`, `0xff`, `1_000`."""

    value: int


@entity
class FloatLit(Node):
    """`1.5`, `1e-3`; the text without underscores, exact."""

    text: str


@entity
class StrLit(Node):
    """A string, escapes resolved, adjacent literals joined. The value is text; its bytes are UTF-8.

    Bytes of escapes that are no UTF-8 stand in it as surrogates (`surrogateescape`).
    """

    value: str


@entity
class FString(Node):
    """`f"a{x!r:>8}"`: texts and `FField`s."""

    parts: tuple["StrLit | FField", ...]


@entity
class FField(Node):
    """One `{value!conversion:spec}` of an f-string."""

    value: "Expr"
    conversion: str
    spec: str


@entity
class BoolLit(Node):
    """`True`, `False`."""

    value: bool


@entity
class NoneLit(Node):
    """`None`."""


@entity
class EllipsisLit(Node):
    """`...`, as a body or in an expression."""


@entity
class TupleLit(Node):
    """`(a, b)`, `a, b`, `()`."""

    items: tuple["Expr", ...]


@entity
class Bound(Node):
    """`(var x)`, and `ref y` of `var x, ref y = …`: a name, or a tuple of names, that a pattern declares.

    Args:
        convention: "var" or "ref".
    """

    convention: str
    target: "Expr"


@entity
class ListLit(Node):
    """`[a, b]`."""

    items: tuple["Expr", ...]


@entity
class DictLit(Node):
    """`{k: v}`; `{}` is an empty one."""

    items: tuple[tuple["Expr", "Expr"], ...]


@entity
class SetLit(Node):
    """`{a, b}`; with `{a, name = b}` a value of the type that is wanted."""

    items: tuple["Expr", ...]
    keywords: tuple["Keyword", ...] = ()


@entity
class ForClause(Node):
    """One `for target in iter if c if d` of a comprehension."""

    target: "Expr"
    iter: "Expr"
    conditions: tuple["Expr", ...]


@entity
class Comprehension(Node):
    """`[item for …]` (kind "list"), `{item for …}` ("set"), `{item: value for …}` ("dict")."""

    kind: str
    item: "Expr"
    value: "Expr | None"
    clauses: tuple[ForClause, ...]


@entity
class Unary(Node):
    """`op` is one of `- + ~ not`."""

    op: str
    value: "Expr"


@entity
class Binary(Node):
    """`op` is one of `+ - * / // % ** @ << >> & | ^`."""

    op: str
    left: "Expr"
    right: "Expr"


@entity
class BoolOp(Node):
    """`left and right`, `left or right`."""

    op: str
    left: "Expr"
    right: "Expr"


@entity
class Compare(Node):
    """`first op0 rest0 op1 rest1 …`; ops are `< <= > >= == != in not-in is is-not`."""

    first: "Expr"
    ops: tuple[str, ...]
    rest: tuple["Expr", ...]


@entity
class Ternary(Node):
    """`then if condition else orelse`."""

    condition: "Expr"
    then: "Expr"
    orelse: "Expr"


@entity
class Keyword(Node):
    """`name = value` in a call or a subscript."""

    name: str
    value: "Expr"


@entity
class Call(Node):
    """`func(args, keywords)`. Arguments are in source order within each group; `*x` is a `Star`."""

    func: "Expr"
    args: tuple["Expr", ...]
    keywords: tuple[Keyword, ...]


@entity
class Subscript(Node):
    """`base[args, keywords]`: an index or a parameter list, the elaborator decides. `x[]` has no args.
    `x[(a, b)]` has one argument, a TupleLit; `x[a, b]` has two."""

    base: "Expr"
    args: tuple["Expr", ...]
    keywords: tuple[Keyword, ...]


@entity
class Attribute(Node):
    """`value.name`; `__mlir_type.`!x`` is an attribute of the name `__mlir_type`.
    `start` is the value's; `name_start` is where the name stands."""

    value: "Expr"
    name: str
    name_start: int


@entity
class Slice(Node):
    """`a:b:c` inside a subscript."""

    lower: "Expr | None"
    upper: "Expr | None"
    step: "Expr | None"


@entity
class Transfer(Node):
    """`value^`."""

    value: "Expr"


@entity
class Walrus(Node):
    """`name := value`."""

    name: str
    value: "Expr"


@entity
class Star(Node):
    """`*value` in an argument or parameter list, `*Ts` in a type; a bare `*` has value None."""

    value: "Expr | None"


@entity
class FunctionType(Node):
    """`fn[params](args) effects -> result`. Arguments may lack names (name is "" then)."""

    params: tuple["Param", ...]
    args: tuple["Param", ...]
    result: "Expr | None"
    result_ref: "tuple[Expr, ...] | None"
    raises: bool
    effects: tuple[str, ...]
    is_def: bool


# ---- parameters and arguments --------------------------------------------------------------------


@entity
class Param(Node):
    """One compile-time parameter or one run-time argument of a declaration.

    Args:
        name: without stars; "" where only a type stands (function types).
        type: None where it was left out (`self`).
        default: None if there is none.
        kind: "infer" (before `//`), "pos" (before `/`), "any", "kw" (after `*`), "star" (`*xs`), "starstar" (`**xs`).
        convention: "" or one of read mut out var owned ref deinit inout borrowed, as written.
        origin: what stands in `ref [origin, space]`, else ().
        splat: True for `*xs: *Ts`: the type is a pack.
        where: the condition that stands beside a parameter.
    """

    name: str
    type: "Expr | None"
    default: "Expr | None"
    kind: str
    convention: str
    origin: tuple["Expr", ...]
    splat: bool
    where: "Expr | None" = None


# ---- statements ----------------------------------------------------------------------------------


@entity
class Decorator(Node):
    """`@value`; `@x("y")` is a Call."""

    value: "Expr"


@entity
class FunctionHead:
    """What stands between a function's name and its body, and its docstring.

    Args:
        result: the type after `->`, or None.
        result_ref: what stands in `-> ref [a, b] T`; None if the result is no reference.
        effects: capturing, escaping, unified, async … as written.
        captures: `unified {read a, mut b, var c}` gives (("read", "a"), …), `var c^` ("move", "c"); None if there is
            no list.
        doc: the docstring or "".
    """

    params: tuple[Param, ...]
    args: tuple[Param, ...]
    result: "Expr | None"
    result_ref: "tuple[Expr, ...] | None"
    raises: bool
    effects: tuple[str, ...]
    captures: tuple[tuple[str, str], ...] | None
    where: tuple["Expr", ...]
    is_def: bool
    doc: str


class FunctionDecl(Node):
    """A function; `start` is at `fn`/`def`, `name_start` at the name.

    Head and body may be pickled until they are asked for: most functions of a cached module are never called, and
    most of the others never looked into.
    """

    __slots__ = ("_body", "_head", "decorators", "name", "name_start")
    __match_args__ = (
        "start", "end", "name", "name_start", "params", "args", "result", "result_ref", "raises", "effects", "captures",
        "where", "body", "decorators", "is_def", "doc",
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
        """Return what stands between name and body."""
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

    def as_requirement(self) -> "FunctionDecl":
        """Return the same function without a body."""
        return FunctionDecl(self.start, self.end, self.name, self.name_start, self.decorators, self.head, None)

    @property
    def params(self) -> tuple[Param, ...]:
        return self.head.params

    @property
    def args(self) -> tuple[Param, ...]:
        return self.head.args

    @property
    def result(self) -> "Expr | None":
        return self.head.result

    @property
    def result_ref(self) -> "tuple[Expr, ...] | None":
        return self.head.result_ref

    @property
    def raises(self) -> bool:
        return self.head.raises

    @property
    def effects(self) -> tuple[str, ...]:
        return self.head.effects

    @property
    def captures(self) -> tuple[tuple[str, str], ...] | None:
        return self.head.captures

    @property
    def where(self) -> tuple["Expr", ...]:
        return self.head.where

    @property
    def is_def(self) -> bool:
        return self.head.is_def

    @property
    def doc(self) -> str:
        return self.head.doc


@entity
class StructDecl(Node):
    """A struct: fields are `VarDecl`s, methods `FunctionDecl`s, plus `Alias`es in `body`."""

    name: str
    name_start: int
    params: tuple[Param, ...]
    traits: tuple["Expr", ...]
    where: tuple["Expr", ...]
    body: "tuple[Stmt, ...]"
    decorators: tuple[Decorator, ...]
    doc: str


@entity
class Extension(Node):
    """`__extension name(traits):`: members that a struct of the same file gets as well."""

    name: str
    name_start: int
    traits: tuple["Expr", ...]
    body: "tuple[Stmt, ...]"


@entity
class TraitDecl(Node):
    """A trait: methods (body None = requirement), aliases (value None = associated requirement)."""

    name: str
    name_start: int
    params: tuple[Param, ...]
    traits: tuple["Expr", ...]
    body: "tuple[Stmt, ...]"
    decorators: tuple[Decorator, ...]
    doc: str


@entity
class Alias(Node):
    """`alias name[params]: type = value`, `comptime …`; value None in a trait."""

    name: str
    name_start: int
    params: tuple[Param, ...]
    type: "Expr | None"
    value: "Expr | None"


@entity
class VarDecl(Node):
    """`var target: type = value`, `ref target = value`; a field of a struct.

    Args:
        kind: "var" or "ref".
        target: a Name, or a TupleLit of Names for `var a, b = …`.
    """

    kind: str
    target: "Expr"
    type: "Expr | None"
    value: "Expr | None"


@entity
class Assign(Node):
    """`t0 = t1 = value`; `t0: type = value` has one target and a type."""

    targets: tuple["Expr", ...]
    type: "Expr | None"
    value: "Expr"


@entity
class AugAssign(Node):
    """`target op= value`; op without the `=`."""

    target: "Expr"
    op: str
    value: "Expr"


@entity
class ExprStmt(Node):
    """An expression as a statement."""

    value: "Expr"


@entity
class If(Node):
    """`if`; an `elif` is an If alone in `orelse`. `comptime`: `@parameter if` / `comptime if`."""

    condition: "Expr"
    body: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]"
    comptime: bool


@entity
class While(Node):
    """`while condition: body else: orelse`."""

    condition: "Expr"
    body: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]"


@entity
class For(Node):
    """`for [var|ref] target in iter`; `comptime`: `@parameter for` / `comptime for`."""

    target: "Expr"
    convention: str
    iter: "Expr"
    body: "tuple[Stmt, ...]"
    orelse: "tuple[Stmt, ...]"
    comptime: bool


@entity
class Return(Node):
    """`return value`."""

    value: "Expr | None"


@entity
class Raise(Node):
    """`raise value`; None re-raises."""

    value: "Expr | None"


@entity
class Break(Node):
    """`break`."""


@entity
class Continue(Node):
    """`continue`."""


@entity
class Pass(Node):
    """`pass`, and `...` as a statement."""


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
class WithItem(Node):
    """`value as name`; name "" if not given."""

    value: "Expr"
    name: str


@entity
class With(Node):
    """`with a as x, b as y: body`."""

    items: tuple[WithItem, ...]
    body: "tuple[Stmt, ...]"


@entity
class CollectItem(Node):
    """What to do with each item of a comprehension, which the elaborator takes for loops around this; in no text."""

    action: Callable[[], None]


@entity
class StaticAssert(Node):
    """`comptime assert c, m`, `__comptime_assert c, m`."""

    condition: "Expr"
    message: "Expr | None"


@entity
class Import(Node):
    """`import a.b as c, d`: (("a.b", "c"), ("d", "")) ."""

    names: tuple[tuple[str, str], ...]


@entity
class FromImport(Node):
    """`from ..a.b import c as d, e`: level 2, module "a.b", names (("c", "d"), ("e", "")).
    `from m import *` has names (("*", ""),)."""

    level: int
    module: str
    names: tuple[tuple[str, str], ...]


@entity
class Module(Node):
    """One file. `source` is the `diag.Source`, set by the loader after unpickling."""

    body: "tuple[Stmt, ...]"
    doc: str
    source: Any = field(default=None)


Expr = Union[
    Name, IntLit, FloatLit, StrLit, FString, BoolLit, NoneLit, EllipsisLit, TupleLit, Bound, ListLit, DictLit, SetLit,
    Comprehension, Unary, Binary, BoolOp, Compare, Ternary, Call, Subscript, Attribute, Slice, Transfer, Walrus,
    Star, FunctionType,
]  # fmt: skip
Stmt = Union[
    FunctionDecl, StructDecl, Extension, TraitDecl, Alias, VarDecl, Assign, AugAssign, ExprStmt, If, While, For, Return,
    Raise, Break, Continue, Pass, Try, With, CollectItem, StaticAssert, Import, FromImport,
]  # fmt: skip
