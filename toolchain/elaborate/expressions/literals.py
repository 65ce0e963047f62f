"""Expressions: literals, displays, f-strings, transfers; `expr` sends every kind of node to the method for it."""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.calls.writeback import taken
from ktc.elaborate.expressions.operators import Operators
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.declarations import Var
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    FnTy,
    Opaque,
    StructTy,
    Sym,
    Ty,
)  # fmt: skip
from ktc.elaborate.types.conformance import not_in_tuple
from ktc.elaborate.types.function_types import convention_of
from ktc.syntax import ast

MAX_EXPONENT = 5000
"""Decimal exponents beyond this are out of the range of every float type, whatever the digits."""


class Expressions(Operators):
    """The part of a body that elaborates expressions."""

    def expr(self, node: ast.Expr, expected: Ty | None = None) -> Any:
        """Elaborate an expression; `expected` is a hint for displays."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
            self.fail(Code.UNSUPPORTED, f"this construct ({words}) is not supported yet", self.at(node))
        return handler(self, node, expected)

    def walrus(self, node: ast.Walrus) -> Any:
        """Elaborate `name := value`."""
        target = ast.Name(node.start, node.end, node.name)
        self.store(target, self.materialize(self.expr(node.value)), node)  # type: ignore[attr-defined]
        return self.expr(target)

    def slice_of(self, node: ast.Slice) -> Any:
        """Make the `Slice` of `lower:upper:step`."""
        nothing = ast.NoneLit(node.start, node.end)
        args = [
            self.arg(part) if part else Arg(self.expr(nothing), self.at(node))
            for part in (node.lower, node.upper, node.step)
        ]
        return self.call(self.elab.library_type("Slice"), args, [], self.at(node))

    def tuple_of(self, node: Any, items: tuple[ast.Expr, ...]) -> Any:
        """Make a tuple; of types, the type of tuples."""
        values = [self.operand(item, self.expr) for item in items]
        values = [taken(self, value) for value in values]
        if any(isinstance(v, (Sym, Opaque)) for v in values):
            raise Symbolic
        if values and all(isinstance(v, Ty) for v in values):
            return self.elab.tuple_type(tuple(values))
        return self.tuple_made([self.materialize(v) for v in values], node)

    def tuple_made(self, values: list[Any], node: Any) -> Any:
        """Make a tuple of values."""
        kinds, items = [], node.items
        for value, item in zip(values, items, strict=True):
            if not isinstance(value, (RV, LV, KV)):
                self.fail(Code.TYPE_MISMATCH, "a value is wanted here", self.at(item))
            kinds.append(value.ty)
            if not self.module.is_library and (why := not_in_tuple(self.elab, value.ty)) is not None:
                self.fail(why.code, why.message, self.at(item), why.help())
        ty = self.elab.tuple_type(tuple(kinds))
        args = [Arg(v, self.at(i)) for v, i in zip(values, items, strict=True)]
        return self.call(ty, args, [], self.at(node))

    def fstring(self, node: ast.FString) -> Any:
        """Make the text of an f-string."""
        args = []
        for part in node.parts:
            if isinstance(part, ast.FField):
                value = self.arg(part.value)
                if part.conversion == "r":
                    value = Arg(self.call(self.find_fn("repr"), [value], [], self.at(part)), self.at(part))
                args.append(self.formatted(value, part) if part.spec else value)
            else:
                args.append(Arg(self.expr(part), self.at(node)))
        return self.call(self.elab.library_type("String"), args, [], self.at(node))

    def formatted(self, value: Arg, part: ast.FField) -> Arg:
        """Return the text of a field; the library reads the specification, errors lie at it."""
        end = part.end - 1
        span = Span(self.at(part).source, end - len(part.spec), end)
        spec = self.elab.literal("StringLiteral", "!kgen.string", part.spec)
        function = self.elab.partial_of(self.find_fn("__format_value"), (spec,), ())
        outer, self.span = self.span, span
        try:
            return Arg(self.call(function, [value], [], span), span)
        finally:
            self.span = outer

    def transfer(self, node: Any, value: ast.Expr) -> Any:
        """Elaborate `value^`."""
        found = self.expr(value)
        if isinstance(found, LV):
            if found.why == "foreign":
                return found
            if not found.mutable and not self._stays(found.ty):
                self.fail(Code.IMMUTABLE, f"this cannot be moved: it is {found.why or 'read only'}", self.at(node))
            behind = found.local is None or (isinstance(value, ast.Name) and self._is_reference(value.id))
            if behind and self.elab.is_trivial(found.ty):  # whose owner is passed by its address, and is no local
                owner = value
                while isinstance(owner, ast.Attribute):
                    owner = owner.value
                behind = not isinstance(owner, ast.Name) or self._is_reference(owner.id)
            if behind and not found.owned and not self._stays(found.ty):
                self.fail(Code.IMMUTABLE, "this cannot be moved: it lies behind a reference", self.at(node))
            if found.local is not None:
                found.local.is_shared = True
            if isinstance(found.ty, StructTy) and found.ty.info.register_trivial:  # it stays there
                return LV(found.ty, found.pointer, found.mutable, None, (), True, found.why, self.loans_of(found))
            return LV(found.ty, found.pointer, found.mutable, found.local, found.path, True, found.why, found.loans)
        if isinstance(found, RV) and found.read_only and not self._stays(found.ty):
            why = f": it is {found.why}" if found.why else ": it is read only"
            self.fail(Code.IMMUTABLE, f"this cannot be moved{why}", self.at(node))
        plain = isinstance(value, (ast.Name, ast.IntLit, ast.FloatLit, ast.StrLit, ast.BoolLit))
        if plain and isinstance(found, KV) and not self.module.is_library:
            text = "this is known at compile time and cannot be moved away"
            self.fail(Code.TYPE_MISMATCH, text, self.at(node), "leave the '^' out")
        return found

    def _stays(self, ty: Ty) -> bool:
        """Whether moving a value of a type is copying its bits: a struct of the user's must be declared so."""
        if isinstance(ty, StructTy) and not ty.info.module.is_library and not self.module.is_library:
            return ty.info.register_trivial
        return self.elab.is_trivial(ty)

    def _is_reference(self, name: str) -> bool:
        var = self.find(name)
        is_item = isinstance(var, Var) and var.kind == "loop" and getattr(var.value, "local", None) is None
        return isinstance(var, Var) and (var.kind == "ref" or is_item)

    def function_type(self, node: ast.FunctionType) -> Any:
        """Make a function type."""
        raises = node.raises or node.is_def
        args = [a for a in node.args if a.convention != "out"]
        if node.params or any(a.type is None or a.kind in ("star", "starstar") for a in args):
            return FnTy(tuple(("", None) for _ in args), None, raises, node.effects, ast=node)
        kinds = tuple((convention_of(a), self._part(a.type)) for a in args)
        written = node.result or next((a.type for a in node.args if a.convention == "out"), None)
        result = self._part(written) if written is not None else self.elab.library_type("NoneType")
        ref = None
        if node.result_ref is not None:
            ref = True
        return self.elab.function_type(kinds, result, raises, node.effects, tuple(args), ref)


def _exact(text: str) -> Any:
    """Return the number that a literal writes; far out of every range infinity or zero, not a huge fraction."""
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_EXPONENT + len(text):
        return float(text)
    return Fraction(text)


_HANDLERS: Mapping[type[ast.Expr], Callable[[Expressions, Any, Ty | None], Any]] = MappingProxyType(
    {
        ast.Name: lambda body, node, _: body.name(node),
        ast.IntLit: lambda body, node, _: body.elab.literal("IntLiteral", "!kgen.int_literal", node.value),
        ast.FloatLit: lambda body, node, _: body.elab.literal("FloatLiteral", "!kgen.float_literal", _exact(node.text)),
        ast.StrLit: lambda body, node, _: body.elab.literal("StringLiteral", "!kgen.string", node.value),
        ast.BoolLit: lambda body, node, _: body.elab.bool_constant(node.value),
        ast.NoneLit: lambda body, _, __: KV(body.elab.library_type("NoneType"), ()),
        ast.Attribute: lambda body, node, _: body.attribute(node),
        ast.Subscript: lambda body, node, expected: body.subscript(node, expected),
        ast.Call: lambda body, node, expected: body.call_node(node, expected),
        ast.Binary: lambda body, node, _: body.binary(node),
        ast.Unary: lambda body, node, _: body.unary(node),
        ast.Compare: lambda body, node, _: body.compare(node),
        ast.BoolOp: lambda body, node, _: body.bool_op(node),
        ast.Ternary: lambda body, node, expected: body.ternary(node, expected),
        ast.TupleLit: lambda body, node, _: body.tuple_of(node, node.items),
        ast.ListLit: lambda body, node, expected: body.display(node, node.items, "List", expected),
        ast.SetLit: lambda body, node, expected: body.display(node, node.items, "Set", expected),
        ast.DictLit: lambda body, node, expected: body.dict_of(node, node.items, expected),
        ast.Transfer: lambda body, node, _: body.transfer(node, node.value),
        ast.Walrus: lambda body, node, _: body.walrus(node),
        ast.FString: lambda body, node, _: body.fstring(node),
        ast.Comprehension: lambda body, node, _: body.comprehension(node),
        ast.Star: lambda body, node, _: body.expr(node.value),
        ast.FunctionType: lambda body, node, _: body.function_type(node),
        ast.Slice: lambda body, node, _: body.slice_of(node),
    }
)
"""How each kind of expression is elaborated."""
