"""Statements without statements inside, declarations of one line, and patterns."""

from collections.abc import Callable

from ktc.base.records import entity
from ktc.syntax.ast.expressions import Expr, Node, Param


@entity
class Decorator(Node):
    """`@value`; `@x("y")` is a Call."""

    value: Expr


@entity
class Alias(Node):
    """`alias name[params]: type = value`, `comptime …`; value None in a trait."""

    name: str
    name_start: int
    params: tuple[Param, ...]
    type: Expr | None
    value: Expr | None

    @property
    def is_hidden(self) -> bool:
        """Return whether it holds the value of `alias a, b = …`, of which `a` and `b` are items: no name has spaces."""
        return " " in self.name


@entity
class Assign(Node):
    """`t0 = t1 = value`; `t0: type = value` has one target and a type."""

    targets: tuple[Expr, ...]
    type: Expr | None
    value: Expr


@entity
class AugAssign(Node):
    """`target op= value`; op without the `=`."""

    target: Expr
    op: str
    value: Expr


@entity
class ExprStmt(Node):
    """An expression as a statement."""

    value: Expr


@entity
class VarDecl(Node):
    """`var target: type = value`, `ref target = value`; a field of a struct.

    Args:
        kind: "var" or "ref".
        target: a Name, or a TupleLit of Names for `var a, b = …`.
    """

    kind: str
    target: Expr
    type: Expr | None
    value: Expr | None


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
class Raise(Node):
    """`raise value`; None re-raises."""

    value: Expr | None


@entity
class Return(Node):
    """`return value`."""

    value: Expr | None


@entity
class WithItem(Node):
    """`value as name`; name "" if not given."""

    value: Expr
    name: str


@entity
class CasePattern(Node):
    """The pattern of a `case`.

    Args:
        kind: "any" (`_`), "bind" (`x`, `var x`), "equal" (a literal, `A.B`, `== e`), "tuple" (`(p, q)`),
            "or" (`p | q`).
        name: of "bind". value: of "equal". parts: of "tuple" and "or".
    """

    kind: str
    name: str = ""
    value: Expr | None = None
    parts: "tuple[CasePattern, ...]" = ()


@entity
class CollectItem(Node):
    """The innermost action of a comprehension, which the elaborator takes for loops around this; in no text."""

    action: Callable[[], None]


@entity
class FromImport(Node):
    """`from ..a.b import c as d, e`: level 2, module "a.b", names (("c", "d"), ("e", "")).
    `from m import *` has names (("*", ""),)."""

    level: int
    module: str
    names: tuple[tuple[str, str], ...]


@entity
class Import(Node):
    """`import a.b as c, d`: (("a.b", "c"), ("d", "")) ."""

    names: tuple[tuple[str, str], ...]


@entity
class StaticAssert(Node):
    """`comptime assert c, m`, `__comptime_assert c, m`."""

    condition: Expr
    message: Expr | None
