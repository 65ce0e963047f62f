"""Methods that edition 2026 derives from a struct's fields: those of `Writable`, `Equatable`, `Hashable` and
`Defaultable`.

Input: a struct's declaration and its fields. Output: declarations of methods, at the place of the struct's name. Names
that the user could give another meaning are those of the prelude that begin with two underscores.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ktc.syntax import ast


class _Maker:
    """Makes nodes at one place."""

    def __init__(self, node: ast.StructDecl) -> None:
        self.at, self.end = node.name_start, node.name_start + len(node.name)

    def name(self, id: str) -> ast.Name:
        return ast.Name(self.at, self.end, id)

    def text(self, value: str) -> ast.StrLit:
        return ast.StrLit(self.at, self.end, value)

    def member(self, of: ast.Expr, name: str) -> ast.Attribute:
        return ast.Attribute(self.at, self.end, of, name, self.at)

    def call(self, callee: ast.Expr, args: list[ast.Expr]) -> ast.Call:
        return ast.Call(self.at, self.end, callee, tuple(args), ())

    def argument(self, name: str, type_: str = "", convention: str = "") -> ast.Param:
        kind = self.name(type_) if type_ else None
        return ast.Param(self.at, self.end, name, kind, None, "any", convention, (), False)

    def parameter(self, name: str, bound: str) -> ast.Param:
        return ast.Param(self.at, self.end, name, self.name(bound), None, "any", "", (), False)

    def method(
        self, name: str, args: list[ast.Param], result: str, body: list[ast.Stmt], params: tuple[ast.Param, ...] = (),
        convention: str = "",
    ) -> ast.FunctionDecl:  # fmt: skip
        result_node = self.name(result) if result else None
        given = (self.argument("self", convention=convention), *args)
        head = ast.FunctionHead(params, given, result_node, None, False, (), None, (), False, "")
        return ast.FunctionDecl(self.at, self.end, name, self.at, (), head, tuple(body))

    def expression(self, value: ast.Expr) -> ast.Stmt:
        return ast.ExprStmt(self.at, self.end, value)

    def returned(self, value: ast.Expr) -> ast.Stmt:
        return ast.Return(self.at, self.end, value)


def _parts(
    make: _Maker, node: ast.StructDecl, fields: list[str], shown: Callable[[ast.Expr], ast.Expr]
) -> list[ast.Expr]:
    """Return the texts and values of `Name(field=value, …)`; parameters stand behind the name."""
    parts: list[ast.Expr] = [make.text(f"{node.name}(")]
    if node.params:
        named = ast.Subscript(make.at, make.end, make.name("__shown_type"), (make.name("Self"),), ())
        parts = [make.call(named, []), make.text("(")]
    for at, field in enumerate(fields):
        parts += [make.text(f"{', ' * (at > 0)}{field}="), shown(make.member(make.name("self"), field))]
    return [*parts, make.text(")")]


def write_to(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that writes `Name(field=value, …)`."""
    make = _Maker(node)
    written = make.call(make.member(make.name("writer"), "write"), _parts(make, node, fields, lambda one: one))
    writer = make.argument("writer", "__W", "mut")
    return make.method("write_to", [writer], "", [make.expression(written)], (make.parameter("__W", "__Writer"),))


def represent(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that gives `Name(field=repr(value), …)`."""
    make = _Maker(node)
    parts = _parts(make, node, fields, lambda one: make.call(make.name("repr"), [one]))
    return make.method("__repr__", [], "String", [make.returned(make.call(make.name("String"), parts))])


def represent_by_writing(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that gives what `write_repr_to` writes."""
    make = _Maker(node)
    text = ast.VarDecl(make.at, make.end, "var", make.name("text"), None, make.call(make.name("String"), []))
    written = make.call(make.member(make.name("self"), "write_repr_to"), [make.name("text")])
    body = [text, make.expression(written), make.returned(make.name("text"))]
    return make.method("__repr__", [], "String", body)


def equal(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that compares all fields."""
    make = _Maker(node)
    same: ast.Expr = ast.BoolLit(make.at, make.end, True)
    for at, field in enumerate(fields):
        sides = [make.member(make.name(one), field) for one in ("self", "other")]
        one = ast.Compare(make.at, make.end, sides[0], ("==",), (sides[1],))
        same = one if at == 0 else ast.BoolOp(make.at, make.end, "and", same, one)
    return make.method("__eq__", [make.argument("other", "Self")], "Bool", [make.returned(same)])


def unequal(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that gives the opposite of `==`."""
    make = _Maker(node)
    same = ast.Compare(make.at, make.end, make.name("self"), ("==",), (make.name("other"),))
    opposite = ast.Unary(make.at, make.end, "not", same)
    return make.method("__ne__", [make.argument("other", "Self")], "Bool", [make.returned(opposite)])


def hashed(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that gives all fields to a hasher."""
    make = _Maker(node)
    update = make.member(make.name("hasher"), "update")
    body: list[ast.Stmt] = [
        make.expression(make.call(update, [make.member(make.name("self"), field)])) for field in fields
    ]
    hasher = make.argument("hasher", "__H", "mut")
    body = body or [ast.Pass(make.at, make.end)]
    return make.method("__hash__", [hasher], "", body, (make.parameter("__H", "__Hasher"),))


def default(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a constructor that gives each field the default of its type."""
    make = _Maker(node)
    types = {
        one.target.id: one.type
        for one in node.body
        if isinstance(one, ast.VarDecl) and isinstance(one.target, ast.Name) and one.type is not None
    }
    body: list[ast.Stmt] = [
        ast.Assign(make.at, make.end, (make.member(make.name("self"), field),), None, make.call(types[field], []))
        for field in fields
        if field in types
    ]
    body = body or [ast.Pass(make.at, make.end)]
    return make.method("__init__", [], "", body, convention="out")


def write_bytes(node: ast.StructDecl, fields: list[str]) -> ast.FunctionDecl:
    """Return a method that gives bytes to `write_string`, the only one that a writer of edition 2026 must have."""
    make = _Maker(node)
    kind = ast.Subscript(make.at, make.end, make.name("__Span"), (make.name("__Byte"), make.name("_")), ())
    given = ast.Param(make.at, make.end, "bytes", kind, None, "any", "", (), False)
    text = make.call(make.name("__text_of"), [make.name("bytes")])
    written = make.call(make.member(make.name("self"), "write_string"), [text])
    return make.method("write_bytes", [given], "", [make.expression(written)], convention="mut")


Make = Callable[[ast.StructDecl, list[str]], ast.FunctionDecl]

_METHODS: Mapping[str, Mapping[str, Make]] = MappingProxyType({
    "Writable": {"write_to": write_to}, "EqualityComparable": {"__eq__": equal, "__ne__": unequal},
    "Hashable": {"__hash__": hashed}, "Defaultable": {"__init__": default},
})  # fmt: skip


def methods_of(trait: str, has: Callable[[str], bool]) -> dict[str, Make]:
    """Return the methods of a trait of the library that are derived where a struct lacks them.

    Args:
        has: whether the struct has a method of its own.
    """
    if trait == "Representable":
        return {"__repr__": represent_by_writing if has("write_repr_to") else represent}
    if trait == "Writer":
        return {"write_bytes": write_bytes} if has("write_string") else {}
    return dict(_METHODS.get(trait, {}))
