"""Expressions, and the parameters and arguments of declarations."""

from typing import Union

from ktc.base.records import entity, shown


@entity
class Node:
    """Base of all nodes: the characters `start` to `end` of the text."""

    start: int
    end: int

    __repr__ = shown


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
class ConditionalTrait(Node):
    """`Trait where condition`, in the traits of a struct."""

    trait: "Expr"
    condition: "Expr"


@entity
class Star(Node):
    """`*value` in an argument or parameter list, `*Ts` in a type; a bare `*` has value None."""

    value: "Expr | None"


@entity
class FunctionType(Node):
    """`fn[params](args) effects -> result`. Arguments may lack names (name is "" then).

    Args:
        error: the type after `raises`; None where none is written.
    """

    params: tuple["Param", ...]
    args: tuple["Param", ...]
    result: "Expr | None"
    result_ref: "tuple[Expr, ...] | None"
    raises: bool
    effects: tuple[str, ...]
    is_def: bool
    error: "Expr | None" = None


@entity
class Capture(Node):
    """`mut x` in a list of captures.

    Args:
        mode: "read", "mut", "ref", "var", or "move" for `var x^`; "" for a name alone.
        name: "" where a convention stands alone, for all that is not named.
        name_start: where the name stands.
    """

    mode: str
    name: str
    name_start: int


@entity
class Lambda(Node):
    """`lambda (args) effects {captures} -> result: value`; `function` returns the value."""

    function: Node


@entity
class Param(Node):
    """One compile-time parameter or one run-time argument of a declaration.

    Args:
        name: without stars; "" where only a type stands (function types).
        type: None where it was left out (`self`).
        default: None if there is none.
        kind: "infer" (before `//`), "pos" (before `/`), "any", "kw" (after `*`), "star" (`*xs`), "starstar" (`**xs`).
        convention: "" or one of read mut out var owned ref deinit inout borrowed, as written.
        origin: the expressions in `ref [origin, space]`, else ().
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


Expr = Union[
    Name, IntLit, FloatLit, StrLit, FString, BoolLit, NoneLit, EllipsisLit, TupleLit, Bound, ListLit, DictLit, SetLit,
    Comprehension, Unary, Binary, BoolOp, Compare, Ternary, Call, Subscript, Attribute, Slice, Transfer, Walrus,
    Star, FunctionType, Lambda, ConditionalTrait,
]  # fmt: skip
