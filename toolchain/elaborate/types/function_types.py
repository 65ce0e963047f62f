"""Function types: making them, what fits them, and what a call through one looks like.

In: function types as written, and functions by name. Out: interned `FnTy`s, the one overload of a name that a type
means, and signatures by which values of these types are called.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.instances.instance_table import ArgSig, Instance, Signature, Symbolic
from ktc.elaborate.model.declarations import FnInfo, FnSet, Scope
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.values import KV, PV, FnTy, FnVal, PackPV, PartialTy, StructTy, Sym, TraitTy, Ty, is_symbolic
from ktc.elaborate.types.parameter_binding import Parameters
from ktc.ir import types
from ktc.syntax import ast

_CONVENTIONS = {"owned": "var", "": "read", "borrowed": "read", "inout": "mut"}
NAMELESS = ast.Param(0, 0, "", None, None, "any", "", (), False)
"""Stands for how an argument was written where it was not."""


def convention_of(node: ast.Param) -> str:
    """Return an argument's convention by its present name."""
    return _CONVENTIONS.get(node.convention, node.convention)


class FunctionTypes(Parameters):
    """The part of the elaborator that knows function types."""

    fn_sets: dict[FnInfo, FnSet]

    def check_bound(self, fn: FnVal, span: Span) -> None:
        """Report it where no function of a name takes the parameters that are given so far."""
        first: Mismatch | None = None
        for one in fn.set.functions:
            params = one.node.params
            try:
                given = self.give_function(params, fn, one.title)
                if one.owner is None:
                    scope, unbound = Scope(one.scope, "function"), [param.name for param in params]
                    self.settle(params, given, scope, one.module, one.title, allow_open=True, unbound=unbound)
                return
            except Symbolic:
                return
            except Mismatch as why:
                first = first or why
        if first is not None:
            self.fail(first.code, first.message, first.span or span, first.help())

    def partial_of(self, fn: FnVal, positional: tuple[PV | None, ...], named: tuple[tuple[str, Any], ...]) -> FnVal:
        """Give (more) parameters to a function value; the first go where `_` left one open."""
        params = fn.params
        if None in params:
            rest = iter(positional)
            params = tuple(next(rest, None) if value is None else value for value in params)
            positional = tuple(rest)
        named = tuple(one for one in named if one[1] is not None)
        return FnVal(fn.set, params + positional, fn.named + named, fn.self_ty, fn.env)

    def give_function(self, params: tuple[ast.Param, ...], fn: FnVal, what: str) -> dict[str, Any]:
        """Assign the parameters that a function value has to names, without those that `_` leaves open."""
        given = self.give(params, fn.params, fn.named, what)
        return {name: value for name, value in given.items() if value is not None} if None in fn.params else given

    def library_type(self, name: str) -> StructTy:
        """Return a library struct (in `Elaborator`)."""
        raise NotImplementedError

    def instance(
        self, fn: FnInfo, self_ty: StructTy | None, given: dict[str, Any], actual: list[Any], env: Any,
        asking: Any, span: Any = None, kernel: bool = False,
    ) -> Instance:  # fmt: skip
        """Return an instance of a function (in `Functions`)."""
        raise NotImplementedError

    def request(self, instance: Instance) -> None:
        """Put an instance on the work list (in `Functions`)."""
        raise NotImplementedError

    # ---- making ----

    def function_type(
        self, args: tuple[tuple[str, Any], ...], result: Any, raises: bool, effects: tuple[str, ...],
        nodes: tuple[ast.Param, ...] = (), result_ref: bool | None = None,
    ) -> FnTy:  # fmt: skip
        """Return the function type; the names of arguments are no part of it."""
        key = (args, result, raises, effects, result_ref)
        found = self.fn_tys.get(key)
        if found is None:
            found = self.fn_tys[key] = FnTy(args, result, raises, effects, nodes, result_ref)
            found.symbolic = any(is_symbolic(kind) for _, kind in args) or is_symbolic(result)
        return found

    def fn_type_of(self, fn: FnVal) -> FnTy:
        """Return the type of one function alone."""
        found = self.fn_tys.get(fn)
        if found is None:
            first = fn.set.functions[0]
            effects = ("capturing",) if first.parameter else ()
            found = self.fn_tys[fn] = FnTy((), None, first.raises, effects, of=fn)
        return found

    def thin_type(self, fn: FnVal) -> FnTy | None:
        """Return the type that a function has as a value at run time; None if it is not one function, or captures."""
        if len(fn.set.functions) != 1 or (fn.set.functions[0].parent is not None and fn.set.functions[0].parameter):
            return None
        if "unified" in fn.set.functions[0].node.effects:
            return None
        try:
            instance = self.only_instance(fn, [None] * len(fn.set.functions[0].node.args), None)
        except (Mismatch, Symbolic):
            return None
        signature = instance.signature
        shown = [sig for sig in signature.args if sig.convention != "out"]
        if any(sig.variadic or not isinstance(sig.ty, Ty) or isinstance(sig.ty, TraitTy) for sig in shown):
            return None
        ref = signature.result_mutable if signature.result == "ref" else None
        args = tuple((sig.convention, sig.ty) for sig in shown)
        effects: tuple[str, ...] = ()
        if instance.envs:
            self.request(instance)
            effects = ("escaping",) if any(env.env.captures_anything(env) for env in instance.envs) else ()
        nodes = tuple(sig.node for sig in shown)
        return self.function_type(args, signature.result_ty, signature.raises, effects, nodes, ref)

    def call_signature(self, ty: FnTy) -> Signature:
        """Return what a call through a function type looks like."""
        if ty.signature is None:
            args = []
            for i, (word, kind) in enumerate(ty.args):
                node = ty.nodes[i] if ty.nodes else NAMELESS
                passing = "memory" if word in ("mut", "ref") else self.abi(kind)
                args.append(ArgSig(node.name, kind, word, "any", node, passing))
            result = "ref" if ty.result_ref is not None else self.abi(ty.result)
            lends = tuple(range(len(args)))  # which of them the function keeps nobody knows
            ty.signature = Signature(tuple(args), ty.result, result, ty.raises, "", bool(ty.result_ref), lends=lends)
        assert isinstance(ty.signature, Signature)
        return ty.signature

    # ---- what fits ----

    def is_plain(self, ty: FnTy) -> bool:
        """Can a value of the type exist at run time."""
        return ty.of is None and ty.ast is None and all(_is_complete(kind) for _, kind in ty.args)

    def fits_function(self, have: FnTy, want: FnTy) -> bool:
        """Is a function of one type one of the other."""
        if have is want:
            return True
        if have.of is not None:
            return self.fn_as(have.of, want) is not None
        if want.of is not None:
            return False
        if want.ast is not None:
            return len(have.args) == len(want.args)
        return (have.args, have.result, have.raises, have.result_ref, have.kept) == (
            want.args, want.result, want.raises, want.result_ref, want.kept,
        )  # fmt: skip

    def unify_function(self, pattern: FnTy, actual: Any, bound: dict[Sym, Any]) -> bool:
        """Bind what a function type leaves open by a function's own type."""
        if not isinstance(actual, FnTy):
            return False
        if not pattern.symbolic:
            return self.fits_function(actual, pattern)
        if actual.of is None:
            return self._unify_parts(pattern, actual, bound)
        for info in actual.of.set.functions:
            thin = self.declared_type(FnVal(self.single_set(actual.of.set, info), *_rest(actual.of)))
            trial = dict(bound)
            if thin is None or self._unify_parts(pattern, thin, trial):
                bound.update(trial)
                return True
        return False

    def unify_value(self, want: Any, kind: Any, scope: Scope, module: Any, bound: dict[Sym, Any]) -> None:
        """Bind what the type of a parameter leaves open by the type of its value."""
        if isinstance(want, FnTy) and want.ast is not None:
            self._unify_parametric(want, kind, scope, module, bound)
        self.unify(want, self.settled_type(kind) if isinstance(want, Sym) else kind, bound)

    def _unify_parametric(self, want: FnTy, kind: Any, scope: Scope, module: Any, bound: dict[Sym, Any]) -> None:
        """Bind what a function type with parameters of its own leaves open by the function that is given."""
        if not isinstance(kind, FnTy) or kind.of is None or len(kind.of.set.functions) != 1:
            return
        info = kind.of.set.functions[0]
        inner = Scope(scope, "function", {param.name: Sym(param.name, -3) for param in want.ast.params})
        theirs = Scope(self.fn_scope_parent(info, kind.of.self_ty), "function")
        theirs.names.update(self.pattern(info, kind.of.self_ty).symbols)
        theirs.names.update(self.give_function(info.node.params, kind.of, info.title))
        wanted = [arg.type for arg in want.ast.args if arg.convention != "out"]
        found = [arg.type for arg in info.node.args if arg.convention != "out"]
        if len(wanted) != len(found):
            return
        for ours, its in zip((*wanted, want.ast.result), (*found, info.node.result), strict=True):
            if ours is not None and its is not None:
                pattern = self.evaluate_open(ours, inner, module)
                self.unify(pattern, self.evaluate_open(its, theirs, info.module), bound)

    def declared_type(self, fn: FnVal) -> FnTy | None:
        """Return the type of one function, closure or not; None if its parameters are open."""
        try:
            instance = self.only_instance(fn, [None] * len(fn.set.functions[0].node.args), None)
        except (Mismatch, Symbolic):
            return None
        signature = instance.signature
        args = tuple((sig.convention, sig.ty) for sig in signature.args if sig.convention != "out")
        ref = signature.result_mutable if signature.result == "ref" else None
        return self.function_type(args, signature.result_ty, signature.raises, (), (), ref)

    def _unify_parts(self, pattern: FnTy, actual: FnTy, bound: dict[Sym, Any]) -> bool:
        if len(pattern.args) != len(actual.args):
            return False
        pairs = [(p, a) for (_, p), (_, a) in zip(pattern.args, actual.args, strict=True)]
        return all([self.unify(p, a, bound) for p, a in (*pairs, (pattern.result, actual.result))])

    def single_set(self, functions: FnSet, info: FnInfo) -> FnSet:
        """Return a set of one of the overloads, always the same one."""
        if len(functions.functions) == 1:
            return functions
        found = self.fn_sets.get(info)
        if found is None:
            found = self.fn_sets[info] = FnSet(functions.name, [info])
        return found

    def fn_as(self, fn: FnVal, want: FnTy) -> FnVal | None:
        """Return the one overload, with its parameters, that a function type means; None if none fits."""
        if want.of is not None:
            return fn if want.of == fn else None
        key = ("fn_as", fn, want)
        memo = self.state.memo
        if key not in memo:
            memo[key] = None
            found = [one for one in (self._as_one(fn, info, want) for info in fn.set.functions) if one is not None]
            memo[key] = found[0][0] if found else None
        return memo[key]  # type: ignore[no-any-return]

    def declared_function(self, param: ast.Param, value: Any, want: FnTy, what: str) -> Any:
        """Return a function that a parameter of function type is given, one overload of it."""
        if isinstance(value, FnVal):
            found = self.fn_as(value, want)
            if found is not None:
                return found
            given = value.described()
        elif isinstance(value, FnTy) and value.of is not None and self.fn_as(value.of, want) is not None:
            return value  # a closure's own type, where the function type is the bound of a type
        elif isinstance(value, KV):
            if isinstance(value.ty, FnTy) and self.fits(value.ty, want):
                return value
            given = self.type_name(value.ty)
        else:
            given = str(value)
        text = f"parameter '{param.name}' of {what} wants '{want}', not '{given}'"
        raise Mismatch(Code.TYPE_MISMATCH, text, weight=2)

    def only_value(self, param: ast.Param, scope: Scope, module: Any) -> KV | None:
        """Return the value of an inferred parameter whose type has only one, as a set of origins has."""
        if param.kind != "infer" or param.type is None:
            return None
        ty = self.evaluate(param.type, scope, module)
        if not isinstance(ty, StructTy) or ty.params or types.size_of(self.ir(ty)):
            return None
        return KV(ty, ())

    def instance_as(self, fn: FnVal, want: FnTy) -> Instance | None:
        """Return the instance of a function that a function type means."""
        for info in fn.set.functions:
            found = self._as_one(fn, info, want)
            if found is not None:
                return found[1]
        return None

    def _as_one(self, fn: FnVal, info: FnInfo, want: FnTy) -> tuple[FnVal, Instance | None] | None:
        formals = [a for a in info.node.args if a.convention != "out"]
        if len(formals) != len(want.args) or any(a.kind in ("star", "starstar") for a in formals):
            return None
        if info.raises and not want.raises:
            return None
        single = FnVal(self.single_set(fn.set, info), *_rest(fn)) if len(fn.set.functions) > 1 else fn
        if want.ast is not None:
            takes = len(info.node.params) - len(fn.params) - len(fn.named) + fn.params.count(None)
            return (single, None) if takes >= len(want.ast.params) else None
        if not all(_is_complete(kind) for _, kind in want.args) or want.symbolic:
            return single, None
        try:
            instance, single = self._instance_for(single, info, want)
        except (Mismatch, Symbolic):
            return None
        return (single, instance) if self._same(instance.signature, want) else None

    def _instance_for(self, fn: FnVal, info: FnInfo, want: FnTy) -> tuple[Instance, FnVal]:
        given = self.give_function(info.node.params, fn, f"'{info.name}'")
        actual = [kind for _, kind in want.args]
        if len(given) < len(info.node.params):
            pattern = self.pattern(info, fn.self_ty)
            bound: dict[Sym, Any] = {pattern.symbols[name]: value for name, value in given.items()}
            for formal, kind in zip(pattern.args, actual, strict=True):
                if not self.unify(formal, kind, bound):
                    raise Mismatch(Code.TYPE_MISMATCH, "")
            found = {p.name: bound.get(pattern.symbols[p.name]) for p in info.node.params}
            named = tuple((name, value) for name, value in found.items() if value is not None)
            fn = FnVal(fn.set, (), named, fn.self_ty, fn.env)
        return self.only_instance(fn, actual, None), fn

    def only_instance(
        self, fn: FnVal, actual: list[Any], asking: Any, span: Any = None, kernel: bool = False
    ) -> Instance:
        """Return the instance of a single function whose parameters are given.

        Raises:
            Mismatch: a parameter is missing or does not fit.
        """
        info = fn.set.functions[0]
        scope = Scope(self.fn_scope_parent(info, fn.self_ty), "function")
        given = self.give_function(info.node.params, fn, f"'{info.name}'")
        given = self.settle(info.node.params, given, scope, info.module, f"'{info.name}'")
        return self.instance(info, fn.self_ty, given, actual, fn.env, asking, span, kernel)

    def _same(self, signature: Signature, want: FnTy) -> bool:
        args = [sig for sig in signature.args if sig.convention != "out"]
        for sig, (word, kind) in zip(args, want.args, strict=True):
            # what only reads its argument may be called where it would be changed or given away
            if sig.convention not in (word, "read") or not self.fits(kind, sig.ty):
                return False
        ref = signature.result_mutable if signature.result == "ref" else None
        if (ref is None) != (want.result_ref is None):
            return False
        return signature.result_ty is want.result or self.fits(signature.result_ty, want.result)


def environments(values: tuple[Any, ...]) -> tuple[FnVal, ...]:
    """Return the closures in parameter values, each once: their environments are passed along."""
    found: dict[FnInfo, FnVal] = {}
    work = list(reversed(values))
    while work:
        match work.pop():
            case FnVal() as fn:
                if fn.env is not None:
                    found.setdefault(fn.set.functions[0], fn)
                work += (*fn.params, *(value for _, value in fn.named), fn.self_ty)
            case FnTy(of=FnVal() as fn):
                work.append(fn)
            case StructTy(params=params) | PackPV(params):
                work += params
    return tuple(found.values())


def _rest(fn: FnVal) -> tuple[Any, ...]:
    return fn.params, fn.named, fn.self_ty, fn.env


def _is_complete(kind: Any) -> bool:
    return isinstance(kind, Ty) and not isinstance(kind, TraitTy) and not isinstance(kind, (PartialTy, PackPV))
