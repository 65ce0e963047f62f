"""Parameters: giving values to them, patterns of signatures, and inference.

The types in a signature are evaluated with unknown parameters standing as `Sym`s; the result is a pattern, and `unify`
reads the values of the parameters off the types of the arguments. What a pattern cannot say is `OPAQUE`.
"""

from collections.abc import Collection
from dataclasses import field
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.comptime.evaluation import Evaluation
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.instances.reference_mutability import as_mutable
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, Scope, StructInfo, Var
from ktc.elaborate.model.errors import Abort, Mismatch, at_parameter, not_a_value, not_given, not_inferred, place_of
from ktc.elaborate.model.values import (
    FOREIGN,
    KV,
    LV,
    OPAQUE,
    FnTy,
    FnVal,
    OriginValue,
    PackPV,
    PartialTy,
    StructTy,
    Sym,
    TraitTy,
    Ty,
    is_symbolic,
)  # fmt: skip
from ktc.elaborate.types.conformance import check_conforms
from ktc.ir import nodes
from ktc.records import entity
from ktc.syntax import ast


@entity
class Pattern:
    """The types of a function's arguments with its parameters open.

    Args:
        symbols: by name the parameters of the function, and of its struct where that is open too.
        args: pattern of each argument's type, in order of `fn.node.args`; None for `self`.
        origins: for `ref [origin]` arguments the pattern of the origin.
    """

    symbols: dict[str, Sym]
    args: list[Any]
    origins: list[Any]
    self_ty: StructTy | None = None
    params: dict[str, Any] = field(default_factory=dict)


class Parameters(Evaluation):
    """The part of the elaborator that knows parameters."""

    def pattern(self, fn: FnInfo, self_ty: StructTy | None) -> Pattern:
        """Return the pattern of a function; `self_ty` may be symbolic."""
        key = (self_ty, self.state.target.name)
        found = fn.patterns.get(key)
        if found is None:
            found = fn.patterns[key] = self._make_pattern(fn, self_ty)
        return found

    def _make_pattern(self, fn: FnInfo, self_ty: StructTy | None) -> Pattern:
        base = self.fn_scope_parent(fn, self_ty)
        scope = Scope(base, "function")
        symbols: dict[str, Sym] = {}
        for param in fn.node.params:
            symbols[param.name] = scope.names[param.name] = Sym(param.name, fn.uid, param.kind == "star")
        pattern = Pattern(symbols, [], [], self_ty)
        for param in fn.node.params:
            pattern.params[param.name] = self._pattern_of(param.type, scope, fn) if param.type is not None else None
        for arg in fn.node.args:
            if arg.type is None:
                pattern.args.append(self_ty if arg.name == "self" or fn.owner is not None else OPAQUE)
            else:
                pattern.args.append(self._pattern_of(arg.type, scope, fn))
            scope.names.setdefault(arg.name, self._pattern_binding(arg, pattern.args[-1], fn))
            origin: Any = None
            if arg.origin and isinstance(arg.origin[0], ast.Name):
                origin = self.lookup_quiet(scope, arg.origin[0].id, fn)
            pattern.origins.append(origin)
        return pattern

    def _pattern_binding(self, arg: ast.Param, kind: Any, fn: FnInfo) -> Any:
        if isinstance(kind, Ty) and not is_symbolic(kind) and not isinstance(kind, TraitTy):
            place = LV(kind, nodes.LocalAddress(FOREIGN), True, None, (), False, "foreign")
            return Var(arg.name, kind, place, Span(fn.module.source, arg.start, arg.end), "arg")
        return OPAQUE

    def lookup_quiet(self, scope: Scope, name: str, fn: FnInfo) -> Any:
        """Return a parameter's binding by name, without errors."""
        for at in scope.chain():
            if name in at.names:
                return at.names[name]
        return None

    def _pattern_of(self, node: ast.Expr, scope: Scope, fn: FnInfo) -> Any:
        errors = self.sink.error_count
        try:
            if isinstance(node, ast.Star):
                assert node.value is not None
                node = node.value
            return self.evaluate_open(node, scope, fn.module)
        except Symbolic:
            return OPAQUE
        except Abort:
            if self.sink.error_count == errors:
                return OPAQUE
            raise

    def fn_scope_parent(self, fn: FnInfo, self_ty: StructTy | None) -> Scope:
        """Return the scope in which a function's signature is read."""
        if self_ty is not None and fn.owner is not None:
            if isinstance(fn.owner, StructInfo):
                assert self_ty.scope is not None
                return self_ty.scope
            scope = Scope(fn.scope, "struct", struct=self_ty)
            scope.names["Self"] = self_ty
            for param, value in zip(self_ty.info.node.params, self_ty.params, strict=True):
                scope.names.setdefault(param.name, value)
            return scope
        return fn.scope

    def symbolic_struct(self, info: StructInfo) -> StructTy:
        """Return the struct with all parameters open."""
        if info.symbolic is None:
            syms = tuple(Sym(p.name, info.uid, p.kind == "star") for p in info.node.params)
            info.symbolic = self.struct(info, syms)
        return info.symbolic

    # ---- inference ----

    def unify(self, pattern: Any, actual: Any, bound: dict[Sym, Any]) -> bool:
        """Bind the symbols of a pattern so that it becomes `actual`; False if it cannot. Bindings stay on failure."""
        if pattern is actual or isinstance(pattern, type(OPAQUE)) or pattern is None:
            return True
        if isinstance(pattern, Sym):
            known = bound.get(pattern)
            if known is None:
                bound[pattern] = actual
                return True
            return self._compatible(known, actual)
        if isinstance(pattern, StructTy):
            if not isinstance(actual, StructTy) or actual.info is not pattern.info:
                return False
            if not pattern.symbolic:
                return self.fits(actual, pattern)
            good = True
            for p, a in zip(pattern.params, actual.params, strict=True):
                good = self.unify(p, a, bound) and good
            return good
        if isinstance(pattern, PartialTy):
            if not isinstance(actual, StructTy) or actual.info is not pattern.info:
                return False
            return all(
                [p is None or self.unify(p, a, bound) for p, a in zip(pattern.params, actual.params, strict=True)]
            )
        if isinstance(pattern, TraitTy):
            return isinstance(actual, Ty) and self.conforms(actual, pattern)
        if isinstance(pattern, KV) and isinstance(actual, KV):
            if isinstance(pattern.data, OriginValue):
                return True
            if isinstance(pattern.ty, StructTy) and pattern.ty.symbolic:
                self.unify(pattern.ty, actual.ty, bound)
            return bool(pattern.data == actual.data)
        if isinstance(pattern, PackPV) and isinstance(actual, PackPV):
            parts = pattern.items
            if len(parts) == 1 and isinstance(parts[0], Sym) and parts[0].pack:
                return self.unify(parts[0], actual, bound)
            return len(parts) == len(actual.items) and all(map(self.unify, parts, actual.items, [bound] * len(parts)))
        if isinstance(pattern, FnTy):
            return self.unify_function(pattern, actual, bound)
        return bool(pattern == actual)

    def _compatible(self, known: Any, actual: Any) -> bool:
        if known == actual:
            return True
        if isinstance(known, KV) and isinstance(actual, KV):
            if isinstance(known.data, OriginValue):
                return True
            return known.ty is actual.ty and known.data == actual.data
        if isinstance(known, Ty) and isinstance(actual, Ty):
            return self.fits(actual, known)
        return False

    def type_of_param(self, value: Any) -> Any:
        """Return the type of a parameter value, for inference of what its declared type names."""
        if isinstance(value, KV):
            return value.ty
        return self.fn_type_of(value) if isinstance(value, FnVal) else None

    def fn_type_of(self, fn: FnVal) -> FnTy:
        """Return the type of one function alone (in `FunctionTypes`)."""
        raise NotImplementedError

    def unify_function(self, pattern: FnTy, actual: Any, bound: dict[Sym, Any]) -> bool:
        """Bind what a function type leaves open (in `FunctionTypes`)."""
        raise NotImplementedError

    # ---- giving values ----

    def give(
        self, params: tuple[ast.Param, ...], positional: tuple[Any, ...], named: tuple[tuple[str, Any], ...], what: str
    ) -> dict[str, Any]:
        """Assign written parameter values to names.

        Raises:
            Mismatch: too many, or an unknown name.
        """
        if not positional and not named:  # most calls write none
            return {}
        given: dict[str, Any] = {}
        slots = [p for p in params if p.kind in ("pos", "any")]
        star = next((p for p in params if p.kind == "star"), None)
        count = 0
        rest: list[Any] = []
        for value in positional:
            if count < len(slots):
                given[slots[count].name] = value
                count += 1
            elif star is not None:
                if isinstance(value, PackPV):
                    rest.extend(value.items)
                else:
                    rest.append(value)
            else:
                limit = f"at most {len(slots)} parameter{'s' if len(slots) != 1 else ''}" if slots else "no parameters"
                why = Mismatch(Code.PARAMETER_COUNT, f"{what} takes {limit}, but {len(positional)} are given", weight=3)
                raise at_parameter(why, "", len(slots))
        if star is not None and rest:
            given[star.name] = PackPV(tuple(rest))
        by_name = {p.name for p in params} if named else set()
        for name, value in named:
            if name and name not in by_name:
                wrong = (name, tuple(p.name for p in params))
                why = Mismatch(Code.UNKNOWN_ARGUMENT, f"{what} has no parameter '{name}'", weight=3, wrong=wrong)
                raise at_parameter(why, name)
            if given.get(name) is not None:
                why = Mismatch(Code.PARAMETER_COUNT, f"parameter '{name}' of {what} is given twice", weight=3)
                raise at_parameter(why, name)
            given[name] = value
        return given

    def settle(
        self, params: tuple[ast.Param, ...], given: dict[str, Any], scope: Scope, module: Any, what: str,
        allow_open: bool = False, unbound: Collection[str] = (),
    ) -> dict[str, Any]:  # fmt: skip
        """Convert given values to the declared types and fill in defaults, in order; enters them into `scope.names`.

        Args:
            allow_open: leave parameters without a value out (for a partially given struct).
            unbound: parameters whose default is not asked for.

        Raises:
            Mismatch: a parameter has no value, or one of a wrong type.
        """
        self._infer_from_values(params, given, scope, module)
        for param in params:
            value = given.get(param.name)
            if value is None and param.kind == "star":
                value = PackPV(())
            if value is None and param.default is not None and param.name not in unbound:
                try:
                    value = self.evaluate(param.default, scope, module)
                except Symbolic:
                    value = OPAQUE
            if value is None and allow_open:
                scope.names[param.name] = Sym(param.name, -1)
                continue
            value = self.only_value(param, scope, module) if value is None else value  # type: ignore[attr-defined]
            if value is None:
                unwritten = not_given(param, params, given, what)
                raise unwritten or not_inferred(param.name, what, param.kind == "infer")
            try:
                scope.names[param.name] = given[param.name] = self._declared(param, value, scope, module, what)
            except Mismatch as why:
                raise at_parameter(why, param.name, place_of(param, params)) from None
        return given

    def _infer_from_values(
        self, params: tuple[ast.Param, ...], given: dict[str, Any], scope: Scope, module: Any
    ) -> None:
        open_params = [p for p in params if p.name not in given and p.kind == "infer"]
        if not open_params:
            return
        trial = Scope(scope.parent, "function", dict(scope.names))
        syms = {p.name: Sym(p.name, -2) for p in params}
        trial.names.update(syms)
        trial.names.update(given)
        bound: dict[Sym, Any] = {}
        for param in params:
            value = given.get(param.name)
            if value is None or param.type is None or param.kind == "star":
                continue
            if (kind := self.type_of_param(value)) is None:
                continue
            try:
                want = self.evaluate_open(param.type, trial, module)
                self.unify_value(want, kind, trial, module, bound)  # type: ignore[attr-defined]
            except Symbolic:
                continue
        for param in open_params:
            value = bound.get(syms[param.name])
            if value is not None and not is_symbolic(value):
                given[param.name] = value

    def _declared(self, param: ast.Param, value: Any, scope: Scope, module: Any, what: str) -> Any:
        if param.type is None or isinstance(value, (Sym, type(OPAQUE))):
            return value
        if isinstance(value, PackPV) and param.kind == "star":
            kind = self.evaluate(param.type, scope, module) if not value.items else None
            return PackPV(tuple(self._declared_one(param, item, scope, module, what) for item in value.items), kind)
        return self._declared_one(param, value, scope, module, what)

    def _declared_one(self, param: ast.Param, value: Any, scope: Scope, module: Any, what: str) -> Any:
        assert param.type is not None
        if isinstance(value, (Sym, type(OPAQUE))):
            return value
        try:
            want = self.evaluate(param.type, scope, module)
        except Symbolic:
            return value
        if isinstance(want, TraitTy):
            check_conforms(self, param, value, want, what)
            return value
        if isinstance(want, StructTy) and isinstance(value, KV) and value.ty is not want and not want.symbolic:
            is_alike = getattr(value.ty, "info", want.info) is want.info
            if isinstance(value.data, OriginValue) and (is_alike or not self.fields(want)):
                return KV(want, as_mutable(value.data, want))
            if self.fits(value.ty, want):
                return KV(want, value.data)
            converted = self.convert_constant(value, want)
            if converted is None:
                text = f"parameter '{param.name}' of {what} wants '{self.type_name(want)}', "
                text += f"not '{self.type_name(value.ty)}'"
                raise Mismatch(Code.TYPE_MISMATCH, text, weight=2)
            return converted
        if isinstance(want, FnTy) and not want.symbolic:
            return self.declared_function(param, value, want, what)  # type: ignore[attr-defined]
        if isinstance(want, StructTy) and isinstance(value, Ty):
            raise not_a_value(param.name, what, want, value, self.type_name)
        return value

    def convert_constant(self, value: KV, want: Ty) -> KV | None:
        """Convert a constant to another type by an implicit conversion, or return None; remembered."""
        memo, key = self.state.memo, ("constant", value, want)
        if key not in memo:
            body = self.new_body(self.main, self.main.scope, self.current)
            made = body.try_convert(value, want, None)
            memo[key] = found if made and isinstance(found := body.param(made, None), KV) else None
        return memo[key]  # type: ignore[no-any-return]

    # ---- structs with parameters ----

    def apply_struct(self, info: StructInfo, positional: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> Any:
        """Give parameters to a struct: a `StructTy`, or a `PartialTy` where some are still open; remembered.

        Raises:
            Mismatch: they do not fit.
        """
        key = ("apply", info, positional, named)
        if key in self.state.memo:
            return self.state.memo[key]
        what, params = f"'{info.name}'", info.node.params
        given = self.give(params, positional, named, what)
        # '_' leaves a parameter open even if it has a default, '**_' (whose name is empty) all that are not given
        rest_open = given.pop("", self) is None
        unbound = {p.name for p in params if (given[p.name] is None if p.name in given else rest_open)}
        given = {name: value for name, value in given.items() if value is not None}
        scope = Scope(info.scope, "function")
        given = self.settle(params, given, scope, info.module, what, allow_open=True, unbound=unbound)
        values: Any = tuple(given.get(p.name) for p in params)
        made = PartialTy(info, values) if None in values else self.struct(info, values)
        self.check_where(info.node.where, scope, info.module, what, made)
        return self.state.memo.setdefault(key, made)

    def apply_alias(
        self, alias: AliasInfo, positional: tuple[Any, ...], named: tuple[tuple[str, Any], ...],
        self_ty: StructTy | None,
    ) -> Any:  # fmt: skip
        """Give parameters to an alias that has some."""
        params = alias.node.params
        given = self.give(params, positional, named, f"'{alias.name}'")
        parent = self_ty.scope if self_ty is not None and self_ty.scope is not None else alias.scope
        scope = Scope(parent, "function")
        given = self.settle(params, given, scope, alias.module, f"'{alias.name}'")
        key = (self_ty, self.state.target.name, tuple(given[p.name] for p in params))
        if key not in alias.values:
            node = alias.node
            if node.value is None:
                alias.values[key] = self.promised_alias(alias, self_ty, scope)
            else:
                alias.values[key] = self.typed_constant(node.type, node.value, scope, alias.module)
        return alias.values[key]
