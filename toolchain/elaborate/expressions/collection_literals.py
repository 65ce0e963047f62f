"""Displays: lists, sets and dictionaries written out.

In: the nodes of a display and, where it is known, the type that is wanted. Out: a value. As the argument of a call a
display stays a `DisplayVal` until the function is chosen, for the declared type of the argument says what it becomes.
"""

from collections.abc import Callable
from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.calls.call_lowering import Calls
from ktc.elaborate.calls.overload_resolution import CONVERSION, LITERAL
from ktc.elaborate.calls.writeback import taken
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.values import KV, LV, RV, Arg, DisplayVal, FnTy, FnVal, PackVal, StructTy, Ty
from ktc.syntax import ast

FLAGS = {"List": "__list_literal__", "Set": "__set_literal__", "Dict": "__dict_literal__"}


class Displays(Calls):
    """The part of a body that makes lists, sets and dictionaries."""

    def arg(self, node: ast.Expr) -> Arg:
        """Elaborate one argument; `Expressions` does."""
        raise NotImplementedError

    def keyword(self, node: ast.Keyword) -> Arg:
        """Elaborate a named argument (in `Arguments`)."""
        raise NotImplementedError

    def operand(self, node: Any, elaborate: Callable[[Any], Any]) -> Any:
        """Elaborate one of several operands (in `Arguments`)."""
        raise NotImplementedError

    def late_arg(self, node: ast.Expr) -> Arg:
        """Elaborate one argument of a call; a display waits for the type that the function wants."""
        match node:
            case ast.ListLit(items=items):
                return Arg(self._late("List", items, (), node), self.at(node))
            case ast.SetLit(items=items):
                return Arg(self._late("Set", items, (), node, node.keywords), self.at(node))
            case ast.DictLit(items=pairs):
                late = self._late("Dict", tuple(k for k, _ in pairs), tuple(v for _, v in pairs), node)
                return Arg(late, self.at(node))
        return self.arg(node)

    def _late(
        self, name: str, keys: tuple[ast.Expr, ...], values: tuple[ast.Expr, ...], node: ast.Expr,
        keywords: tuple[ast.Keyword, ...] = (),
    ) -> Any:  # fmt: skip
        first = [self.operand(key, self.late_arg) for key in keys]
        second = [self.operand(value, self.late_arg) for value in values]
        for arg in (*first, *second):
            arg.value = taken(self, arg.value)
        late = DisplayVal(name, tuple(first), tuple(second), node, None)
        if keywords:
            late.keywords = tuple(self.operand(item, self.keyword) for item in keywords)
            return late
        kinds = [self._common_element(part) for part in ([first, second] if name == "Dict" else [first])]
        if all(kind is not None for kind in kinds):
            try:
                late.ty = self.elab.library_struct(name, tuple(kinds))
            except Mismatch as why:
                late.wrong = why  # another collection may be wanted
        return late

    def display(self, node: Any, items: tuple[ast.Expr, ...], name: str, expected: Ty | None) -> Any:
        """Make a list or a set."""
        keywords = node.keywords if name == "Set" else ()
        return self.build_display(self._late(name, items, (), node, keywords), expected)

    def dict_of(self, node: Any, items: tuple[tuple[ast.Expr, ast.Expr], ...], expected: Ty | None) -> Any:
        """Make a dictionary; `{}` makes a value of the expected type."""
        late = self._late("Dict", tuple(key for key, _ in items), tuple(value for _, value in items), node)
        return self.build_display(late, expected)

    def display_cost(self, late: DisplayVal, want: Ty) -> int | None:
        """Return what making a `want` of a display costs; None if it cannot be made."""
        if late.ty is want:
            return 0
        if not isinstance(want, StructTy) or want.symbolic:
            return None
        wants = None if late.keywords else self._own_elements(late, want)
        if wants is not None:
            parts = (late.items, late.values) if late.name == "Dict" else (late.items,)
            fits = all(self._fit(arg, kind) for part, kind in zip(parts, wants, strict=True) for arg in part)
            return LITERAL if fits else None
        if not late.keywords and self._takes(want, FLAGS[late.name]):
            return LITERAL
        if late.ty is not None and self.conversion(late.ty, want) is not None:
            return CONVERSION
        if late.values or (late.name == "List" and not late.items):
            return None
        inits = self.elab.method_set(want, "__init__")
        if want.info.fieldwise and late.name == "Set" and self._fits_fields(late, want):
            return CONVERSION
        if inits is None or late.name == "List":
            return None
        given = list(late.items), list(late.keywords)
        found = self.choose(inits, want, (), (), *given, self.at(late.node), quiet=True)
        return None if found is None else CONVERSION

    def _fit(self, arg: Arg, want: Any) -> bool:
        value = arg.value
        if isinstance(value, DisplayVal):
            return self.display_cost(value, want) is not None
        if isinstance(value, FnVal):
            return isinstance(want, FnTy)
        return isinstance(value, (RV, LV, KV)) and self.conversion(value.ty, want) is not None

    def _fits_fields(self, late: DisplayVal, want: StructTy) -> bool:
        """Whether a display gives each field of a struct marked with `@fieldwise_init` a value."""
        fields = dict(self.elab.fields(want))
        given = dict(zip(fields, late.items, strict=False)) | {arg.name: arg for arg in late.keywords}
        if len(late.items) + len(late.keywords) != len(fields) or given.keys() != fields.keys():
            return False
        return all(self._fit(arg, fields[name]) for name, arg in given.items())

    def _own_elements(self, late: DisplayVal, want: Ty | None) -> tuple[Any, ...] | None:
        """Return the types of the elements if the display's own collection is wanted."""
        if isinstance(want, StructTy) and want.info.name == late.name and want.info.module.is_library:
            return want.params[: 2 if late.name == "Dict" else 1]
        return None

    def _takes(self, want: StructTy, flag: str) -> bool:
        """Whether a constructor of a type says that it takes displays."""
        inits = self.elab.method_set(want, "__init__")
        return inits is not None and any(a.name == flag for f in inits.functions for a in f.node.args)

    def build_display(self, late: DisplayVal, want: Ty | None) -> Any:
        """Make the value that a display stands for: of the wanted type where it can be, else of its own."""
        span = self.at(late.node)
        if late.keywords:
            if isinstance(want, StructTy) and not want.symbolic:
                return self.call(want, list(late.items), list(late.keywords), span)
            self.fail(Code.CANNOT_INFER, "it is not known of what type '{... = ...}' makes a value here", span)
        wants = self._own_elements(late, want)
        if wants is None and isinstance(want, StructTy) and not want.symbolic:
            if self._takes(want, FLAGS[late.name]):
                return self.call(want, *self._display_args(late, late.items, late.values))
            implicit = late.ty is not None and self.conversion(late.ty, want) is not None
            if not implicit and not late.values and (late.name == "Set" or (late.name == "Dict" and not late.items)):
                return self.call(want, list(late.items), [], span)
        if wants is not None and all(isinstance(kind, Ty) for kind in wants):
            ty = want
        else:
            ty = self._of_constants(late) or late.ty
            if ty is None:
                self._no_element(late)
            assert isinstance(ty, StructTy)
            wants = self._own_elements(late, ty)
        assert wants is not None
        items = [Arg(self.convert(a.value, wants[0], a.span), a.span) for a in late.items]
        values = [Arg(self.convert(a.value, wants[1], a.span), a.span) for a in late.values]
        if late.name == "Dict":
            parts = []
            for part, kind in ((items, wants[0]), (values, wants[1])):
                made = self.call(self.elab.library_struct("List", (kind,)), *self._list_args(late, part))
                parts.append(Arg(made, span))
            return self.call(ty, parts, [self._flag(late, FLAGS["Dict"])], span)
        return self.call(ty, items, [self._flag(late, FLAGS[late.name])], span)

    def _of_constants(self, late: DisplayVal) -> Ty | None:
        """Return the type of a list or set of several literals, of which nobody says what it shall be."""
        kinds = {arg.value.ty: None for arg in late.items if isinstance(arg.value, KV)}
        if len(kinds) < 2 or late.values or not all(isinstance(arg.value, KV) for arg in late.items):
            return None
        elements = {self.elab.materialized(kind, True): None for kind in kinds}
        plain = {self.elab.materialized(kind, False): None for kind in kinds}
        if len(elements) > 1 or len(plain) > 1 or elements == plain:
            return None
        return self.elab.library_struct(late.name, tuple(elements))

    def _display_args(self, late: DisplayVal, items: Any, values: Any) -> tuple[list[Arg], list[Arg], Any]:
        """Return the arguments for a constructor that takes a display."""
        flag = self._flag(late, FLAGS[late.name])
        if late.name != "Dict":
            return list(items), [flag], self.at(late.node)
        lists = [Arg(DisplayVal("List", part, (), late.node, None), self.at(late.node)) for part in (items, values)]
        for made in lists:
            kind = self._common_element(list(made.value.items))
            made.value.ty = None if kind is None else self.elab.library_struct("List", (kind,))
        return lists, [flag], self.at(late.node)

    def _list_args(self, late: DisplayVal, items: list[Arg]) -> tuple[list[Arg], list[Arg], Any]:
        return items, [self._flag(late, FLAGS["List"])], self.at(late.node)

    def _flag(self, late: DisplayVal, name: str) -> Arg:
        span = self.at(late.node)
        return Arg(self.call(self.elab.tuple_type(()), [], [], span), span, name)

    def _common_element(self, args: list[Arg]) -> Ty | None:
        """Return the type to which all elements convert, if there is one."""
        kinds: list[Ty] = []
        for arg in args:
            value = arg.value
            if isinstance(value, DisplayVal):
                if value.ty is not None:
                    kinds.append(value.ty)
            elif isinstance(value, FnVal):
                thin = self.elab.thin_type(value)
                if thin is None:
                    return None
                kinds.append(thin)
            elif isinstance(value, (RV, LV, KV)):
                kinds.append(self.elab.materialized(value.ty, False))
            else:
                return None
        for kind in dict.fromkeys(kinds):
            if all(self._fit(arg, kind) for arg in args):
                return kind
        return None

    def _no_element(self, late: DisplayVal) -> None:
        name, span = late.name.lower(), self.at(late.node)
        if late.wrong is not None:
            self.fail(late.wrong.code, late.wrong.message, span)
        if not late.items:
            help = "give the variable a type: 'var name: List[Int] = []'" if name == "list" else ""
            self.fail(Code.CANNOT_INFER, f"the type of the elements of this empty {name} is not known", span, help)
        if any(isinstance(a.value, PackVal) or not hasattr(a.value, "ty") for a in (*late.items, *late.values)):
            self.fail(Code.TYPE_MISMATCH, "a value is wanted here", span)
        help = "a tuple '(…)', or elements of a type 'Variant[…]', can be of several types"
        self.fail(Code.TYPE_MISMATCH, f"the elements of this {name} have no common type", span, help)
