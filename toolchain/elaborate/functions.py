"""Function instances: signatures, bodies, templates, destructors, and the unit that they make up."""

import hashlib
import itertools
from dataclasses import replace
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.body import UNIT_CONST
from ktc.elaborate.function_types import FunctionTypes, convention_of, environments
from ktc.elaborate.instances import (
    MAX_DEPTH,
    TARGETS_TABLE,
    Abort,
    ArgSig,
    Instance,
    OfProgram,
    Signature,
    Symbolic,
    UnitState,
)  # fmt: skip
from ktc.elaborate.kernel_metadata import most_threads
from ktc.elaborate.mentions import lenders, replaced
from ktc.elaborate.mismatch import Mismatch
from ktc.elaborate.scope import FnInfo, FnSet, Scope, StructInfo, Var
from ktc.elaborate.values import (
    FOREIGN,
    KV,
    LV,
    RV,
    FnTy,
    FnVal,
    OriginValue,
    PackPV,
    PartialTy,
    StructTy,
    TraitTy,
    Ty,
)  # fmt: skip
from ktc.ir import nodes, types
from ktc.syntax import ast


class Functions(FunctionTypes):
    """The part of the elaborator that makes functions."""

    elaborated: set[int]
    entry_refs: str = ""

    # ---- signatures ----

    def instance(
        self, fn: FnInfo, self_ty: StructTy | None, given: dict[str, Any], actual: list[Any], env: Any,
        asking: Any, span: Span | None = None, kernel: bool = False,
    ) -> Instance:  # fmt: skip
        """Return the instance of a function with these parameters; its signature is made on the first call."""
        state = self.state
        values = tuple(self.canonical(given[p.name]) for p in fn.node.params)
        canonical_self = self.canonical(self_ty) if self_ty is not None else None
        key = (fn.uid, canonical_self, values, kernel)
        plain = state.plain.get(key)
        if plain is not None:
            return plain
        scope = Scope(self.fn_scope_parent(fn, canonical_self), "function")
        for param, value in zip(fn.node.params, values, strict=True):
            scope.names[param.name] = value
        declared: list[Any] | None = state.memo.get(key)
        if declared is None:
            declared = self._declared_types(fn, scope, canonical_self, actual)
            if not any(isinstance(kind, (PartialTy, TraitTy)) for kind in declared):
                state.memo[key] = declared
        open_types = tuple(
            self._known(kind, have) if isinstance(kind, FnTy) and _is_specialised(arg, fn)
            else self._open_key(kind, have)
            for arg, kind, have in zip(fn.node.args, declared, actual, strict=True)
            if isinstance(kind, (PartialTy, TraitTy, FnTy))
        )  # fmt: skip
        full = (key, open_types)
        found = state.instances.get(full)
        if found is None:
            parent = asking.instance if asking is not None else self.current
            depth = parent.depth + 1 if parent is not None else 0
            call_span = span or (asking.span if asking is not None else None)
            if depth > MAX_DEPTH:
                self.fail(
                    Code.INSTANTIATION_DEPTH, f"'{fn.name}' instantiates itself without end", call_span, "", parent
                )
            symbol = self.symbol_for(fn, (canonical_self, values, open_types), kernel)
            if symbol in state.by_symbol:  # of a function that is nested in a loop that is unrolled
                symbol = next(s for s in (f"{symbol}_{i}" for i in itertools.count(2)) if s not in state.by_symbol)
            signature = self._signature(fn, canonical_self, scope, declared, actual)
            title = str(
                FnVal(
                    FnSet(fn.name, [fn]),
                    tuple(v for p, v in zip(fn.node.params, values, strict=True) if p.kind != "infer"),
                )
            )
            if fn.owner is not None:
                title = f"{fn.owner.name}.{title}"
            found = Instance(fn, symbol, title, scope, canonical_self, state, signature, parent, call_span, depth)
            found.envs = environments((*values, *open_types, canonical_self))
            if env is not None and all(known.set.functions[0] is not fn for known in found.envs):
                found.envs = (*found.envs, FnVal(FnSet(fn.name, [fn]), (), (), None, env))
            found.kernel = kernel
            if fn.parent is None and fn.module.is_library and not found.envs:
                found.archived = state.archived.get(symbol)
            state.instances[full] = found
            if key in state.memo and not open_types:
                state.plain[key] = found
            state.by_symbol[symbol] = found
        return found

    def _open_key(self, kind: Any, have: Any) -> Any:
        if isinstance(kind, PartialTy) and not (isinstance(have, StructTy) and have.info is kind.info):
            return self._filled(kind)
        if isinstance(kind, FnTy):
            return None
        have = self.materialized(have) if isinstance(kind, TraitTy) else have
        return self.canonical(have)

    def _filled(self, kind: PartialTy) -> Any:
        """Fill what a partial type leaves open where its struct's defaults or origins allow it."""
        named = tuple((p.name, v) for p, v in zip(kind.info.node.params, kind.params, strict=True) if v is not None)
        names = {name for name, _ in named}
        extra: list[tuple[str, Any]] = []
        written = dict(named).get("mut")
        mutable = isinstance(written, KV) and bool(written.data)
        for param in kind.info.node.params:
            if param.name in names or param.default is not None:
                continue
            if isinstance(param.type, ast.Subscript) and getattr(param.type.base, "id", "") == "Origin":
                extra.append((param.name, self.origin_constant(OriginValue("any", mutable))))
        made = self.apply_struct(kind.info, (), (*named, *extra))
        return made if isinstance(made, StructTy) else kind

    def origin_constant(self, value: OriginValue) -> KV:
        """Return an origin as a parameter value (in `Elaborator`)."""
        raise NotImplementedError

    def materialized(self, ty: Any, pack: bool = False) -> Any:
        """Return a literal's run-time type (in `Elaborator`)."""
        raise NotImplementedError

    def _declared_types(self, fn: FnInfo, scope: Scope, self_ty: StructTy | None, actual: list[Any]) -> list[Any]:
        """Return the declared types; each may speak of the arguments before it."""
        inner = Scope(scope, "function")
        found = []
        for arg, have in zip(fn.node.args, actual, strict=True):
            kind = self._declared_type(arg, inner, fn, self_ty)
            found.append(kind)
            if isinstance(kind, (PartialTy, TraitTy)) and have is not None and not isinstance(have, list):
                kind = self._known(kind, have)
            if isinstance(kind, Ty):
                inner.names[arg.name] = phantom(arg.name, kind, fn, arg)
        return found

    def _declared_type(self, arg: ast.Param, scope: Scope, fn: FnInfo, self_ty: StructTy | None) -> Any:
        if arg.type is None:
            return self_ty
        if isinstance(arg.type, ast.Star):
            assert arg.type.value is not None
            return self.evaluate(arg.type.value, scope, fn.module)
        value = self.evaluate(arg.type, scope, fn.module)
        if isinstance(value, KV) and isinstance(arg.type, ast.TupleLit):
            return value.ty
        if not isinstance(value, (Ty, PartialTy, PackPV)):
            span = Span(fn.module.source, arg.start, arg.end)
            self.fail(Code.TYPE_MISMATCH, f"the type of argument '{arg.name}' is not a type", span)
        return value

    def _signature(
        self, fn: FnInfo, self_ty: StructTy | None, scope: Scope, declared: list[Any], actual: list[Any]
    ) -> Signature:
        args: list[ArgSig] = []
        result_ty: Ty | None = None
        out_name = ""
        for arg, kind, have in zip(fn.node.args, declared, actual, strict=True):
            if arg.convention == "out":
                result_ty = self._known(kind, have) if isinstance(kind, (PartialTy, TraitTy)) else kind
                if isinstance(kind, PartialTy) and self_ty is not None and self_ty.info is kind.info:
                    result_ty = self_ty
                out_name = arg.name
            args.append(self._arg(fn, arg, kind, have))
        result_mutable = True
        if result_ty is None:
            inner = Scope(scope, "function")
            for sig in args:
                if isinstance(sig.ty, Ty):
                    inner.names[sig.name] = phantom(sig.name, sig.ty, fn, sig.node)
            result_ty = self.library_result(fn, inner)
        kind = "ref" if fn.node.result_ref is not None else self.abi(result_ty)
        if kind == "ref":
            result_mutable = self._ref_mutable(fn, scope)
        lends, named = lenders(fn)
        changes = len(args) > 1 and any(arg.convention == "mut" for arg in args)
        return Signature(
            tuple(args), result_ty, kind, fn.raises, out_name, result_mutable, False, lends, named, changes=changes
        )

    def _ref_mutable(self, fn: FnInfo, scope: Scope) -> bool:
        assert fn.node.result_ref is not None
        if not fn.node.result_ref:
            return True
        node = fn.node.result_ref[0]
        while isinstance(node, ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name) and any(a.name == node.id for a in fn.node.args):
            return True
        if isinstance(node, ast.Call):
            return True
        value = self.evaluate(node, scope, fn.module)
        return value.data.mutable if isinstance(value, KV) and isinstance(value.data, OriginValue) else True

    def library_result(self, fn: FnInfo, scope: Scope) -> Ty:
        """Return the declared result type; NoneType where none is written."""
        if fn.node.result is None:
            return self.library_type("NoneType")
        value = self.evaluate(fn.node.result, scope, fn.module)
        if isinstance(value, KV) and isinstance(fn.node.result, ast.NoneLit):
            return value.ty
        if isinstance(value, PartialTy):
            value = self._filled(value)
        if not isinstance(value, Ty) or isinstance(value, TraitTy):
            span = Span(fn.module.source, fn.node.result.start, fn.node.result.end)
            self.fail(Code.TYPE_MISMATCH, "the result type is not a complete type", span)
        return value

    def _known(self, kind: Any, have: Any) -> Ty:
        if isinstance(kind, FnTy):
            # a function given by name is a part of the instance, so that it can be called directly
            found = self.fn_as(have.of, kind) if isinstance(have, FnTy) and have.of is not None else None
            return kind if found is None else self.fn_type_of(found)
        if isinstance(kind, PartialTy):
            if isinstance(have, StructTy) and have.info is kind.info:
                return self.canonical(have)  # type: ignore[no-any-return]
            made = self._filled(kind)
            if have is not None and not isinstance(made, StructTy):
                text = f"'{self.type_name(have)}' is given where '{kind.info.name}' is wanted"
                raise Mismatch(Code.TYPE_MISMATCH, text, None, 2)
            return made  # type: ignore[no-any-return]
        if isinstance(kind, TraitTy) and isinstance(have, Ty):
            plain = self.materialized(have)
            if not self.conforms(plain, kind):
                text = f"'{self.type_name(plain)}' does not conform to '{kind}'"
                raise Mismatch(Code.TRAIT_NOT_MET, text, None, 2)
            return self.canonical(plain)  # type: ignore[no-any-return]
        return kind  # type: ignore[no-any-return]

    def _arg(self, fn: FnInfo, arg: ast.Param, kind: Any, have: Any) -> ArgSig:
        convention = convention_of(arg)
        if arg.kind == "star":
            if arg.splat:
                pack = kind.items if isinstance(kind, PackPV) else ()
                return ArgSig(arg.name, None, convention, arg.kind, arg, "memory", "pack", pack)  # type: ignore[arg-type]
            if isinstance(kind, (TraitTy, PartialTy)):
                kind = self._known(kind, have[0] if have else None)
            return ArgSig(arg.name, kind, convention, arg.kind, arg, "memory", "list")
        if arg.kind == "starstar":
            return ArgSig(arg.name, self.keywords_type(kind), "var", arg.kind, arg, "memory")
        ty = kind if isinstance(kind, FnTy) and not _is_specialised(arg, fn) else self._known(kind, have)
        if isinstance(ty, (TraitTy, PartialTy)) or convention in ("mut", "ref", "out"):
            passing = "memory"
        else:
            passing = self.abi(ty)
        return ArgSig(arg.name, ty, convention, arg.kind, arg, passing)

    def keywords_type(self, kind: Ty) -> StructTy:
        """Return the type of `**kwargs` (in `Elaborator`)."""
        raise NotImplementedError

    def open_arguments(self, instance: Instance) -> bool:
        """Does a signature still leave a type open."""
        return any(isinstance(a.ty, (TraitTy, PartialTy)) for a in instance.signature.args)

    def instance_of(self, fn: FnVal, span: Span | None, asking: Any, kernel: bool = False) -> Instance:
        """Return the one instance that a function value with all its parameters is.

        A function with several overloads or open parameters is an error.
        """
        if len(fn.set.functions) != 1:
            self.fail(Code.AMBIGUOUS_CALL, f"'{fn.set.name}' has several overloads; one must be chosen", span)
        actual = [None] * len(fn.set.functions[0].node.args)
        try:
            return self.only_instance(fn, actual, asking, span, kernel)
        except Mismatch as why:
            self.fail(why.code, why.message, why.span or span)

    # ---- bodies ----

    def request(self, instance: Instance) -> None:
        """Put an instance on the work list."""
        if instance.function is None and not instance.busy and instance.archived is None:
            instance.state.queue.append(instance)

    def drain(self) -> None:
        """Make all bodies on the work lists, those of the host first."""
        work = True
        while work:
            work = False
            for state in list(self.states.values()):
                while state.queue:
                    work = True
                    instance = state.queue.pop()
                    self.elaborate_instance(instance)

    def drain_closures(self) -> None:
        """Make the bodies on the work lists that have to do with closures, and what they ask for.

        Not all that waits: this is called from within a body, and another body would begin inside of it, and so on.
        """
        work = True
        while work:
            work = False
            for state in list(self.states.values()):
                queue = state.queue
                first = next((i for i, one in enumerate(queue) if one.envs or one.fn.parent is not None), len(queue))
                while len(queue) > first:
                    work = True
                    self.elaborate_instance(queue.pop())

    def elaborate_instance(self, instance: Instance) -> None:
        """Make the body of an instance, unless it is made or being made."""
        if instance.function is not None or instance.busy or instance.failed:
            return
        instance.busy = True
        outer_state, outer = self.state, self.current
        self.state, self.current = instance.state, instance
        self.elaborated.add(instance.fn.uid)
        try:
            self._make_function(instance)
        except (Abort, Symbolic, OfProgram):
            instance.failed = True
        except Mismatch as why:
            instance.failed = True
            self.report(why.code, why.message, why.span or instance.fn.span(), "", instance)
        finally:
            instance.busy = False
            self.state, self.current = outer_state, outer

    def _make_function(self, instance: Instance) -> None:
        fn, signature = instance.fn, instance.signature
        if fn.node.body is None:
            self.fail(Code.TRAIT_NOT_MET, f"'{fn.name}' is only declared: its trait gives it no body", fn.span())
        body = self.new_body(fn.module, Scope(instance.scope, "body"), instance)
        instance.body = body
        body.scope.body = body
        body.function_scope = body.scope
        body.comptime = False
        params: list[tuple[str, types.Type]] = []

        def argument(name: str, kind: types.Type) -> nodes.Value:
            params.append((name, kind))
            return nodes.Argument(len(params) - 1, kind)

        if signature.through_memory:
            body.result_pointer = argument("result", types.PTR)
        self._bind_arguments(body, instance, argument)
        for env in instance.envs:
            made_here = instance.kernel
            pointer = body.environment_local(env.set.functions[0]) if made_here else argument("env", types.PTR)
            body.env_args[env.set.functions[0]] = pointer
            if env.set.functions[0] is fn and fn.parent is not None:
                body.env_value = pointer
        if signature.raises:
            body.error_argument = argument("error", types.PTR)
        body.block(fn.node.body)
        if instance.failed:  # before the next check: a statement that is missing for its mistake may be the 'return'
            raise Abort
        if not body.dead:
            self._fall_off(body, instance)
        kind: types.Type = types.BOOL if signature.raises else types.VOID
        if not signature.raises and signature.result in ("direct", "ref"):
            kind = types.PTR if signature.result == "ref" else self.ir(signature.result_ty)
        first = body.kernel_environments(instance, argument) if instance.kernel and instance.envs else []
        statements = (*first, *body.finish_closures())
        inline = {"always": "always", "builtin": "always", "never": "never"}.get(fn.inline, "")
        if fn.parameter and not instance.kernel:
            inline = "always"
        linkage = "export" if fn.export or instance.kernel else "internal"
        most = most_threads(body, fn.node.decorators) if instance.kernel and fn.node.decorators else 0
        symbol = instance.symbol
        instance.refs = body.refs
        instance.function = nodes.Function(
            symbol, instance.title, tuple(params), kind, statements, linkage, inline, False, fn.span(), body.lends, most
        )

    def _fall_off(self, body: Any, instance: Instance) -> None:
        signature = instance.signature
        if signature.result == "none" or body.out_var is not None:
            body.leaving = None
            body.span = instance.fn.span()
            body.leave(None)
            return
        if instance.failed:
            raise Abort  # the statement that failed may have been the one that returns
        span = instance.fn.span()
        text = f"'{instance.fn.name}' must return a value of type '{self.type_name(signature.result_ty)}' on every path"
        self.fail(Code.RETURN_TYPE, text, span)

    def _bind_arguments(self, body: Any, instance: Instance, argument: Any) -> None:
        signature = instance.signature
        for sig in signature.args:
            span = Span(instance.fn.module.source, sig.node.start, sig.node.end)
            if sig.convention == "out":
                self._bind_out(body, instance, sig, span)
                continue
            if sig.variadic:
                self._bind_variadic(body, sig, span, argument)
                continue
            body.scope.names[sig.name] = self._bind_one(body, sig, span, argument)

    def _bind_one(self, body: Any, sig: ArgSig, span: Span, argument: Any) -> Any:
        ty = sig.ty
        if isinstance(ty, FnTy) and ty.of is not None:
            return ty.of
        why = f"the argument '{sig.name}', which is read only"
        if sig.convention in ("mut", "ref"):
            pointer = argument(sig.name, types.PTR)
            if sig.convention == "mut" and not self.is_trivial(ty) and sig.name in replaced(body.instance.fn):
                return self._bind_behind(body, sig, pointer, span)
            return Var(sig.name, ty, LV(ty, pointer, True, loans=()), span, "arg", body=body)
        if sig.passing == "memory":
            pointer = argument(sig.name, types.PTR)
            if sig.convention == "read":
                return Var(sig.name, ty, LV(ty, pointer, False, why=why, loans=()), span, "arg", body=body)
            if not self.is_trivial(ty):
                return self._bind_behind(body, sig, pointer, span)
            local = body.local(self.ir(ty), sig.name, ty, loans=())
            size = nodes.Const(types.I64, types.size_of(self.ir(ty)))
            place = LV(ty, nodes.LocalAddress(local), True, local)
            body.emit(nodes.MemCopy(place.pointer, pointer, size, types.align_of(self.ir(ty)), span=span))
            body.mark("init", place)
            return Var(sig.name, ty, place, span, "arg", local, body)
        kind = self.ir(ty)
        value = RV(ty, argument(sig.name, kind) if sig.passing == "direct" else body.constant(KV(ty, ())), loans=())
        if sig.convention in ("var", "deinit"):
            return self._own_direct(body, sig, value, span)
        return Var(sig.name, ty, value, span, "arg", body=body)

    def _bind_behind(self, body: Any, sig: ArgSig, pointer: nodes.Value, span: Span) -> Var:
        """Bind an argument of which the function may give away the value, or must destroy it."""
        local = body.behind(pointer, sig.ty, sig.name, span)
        if sig.convention == "deinit":
            body.by_field(local, sig.ty)
            local.drop = ""
        local.kept = sig.convention == "mut"
        place = LV(sig.ty, pointer, True, local)
        body.mark("init", place)
        return Var(sig.name, sig.ty, place, span, "arg", local, body)

    def _own_direct(self, body: Any, sig: ArgSig, value: RV, span: Span) -> Var:
        local = body.local(self.ir(sig.ty), sig.name, sig.ty, loans=())
        place = LV(sig.ty, nodes.LocalAddress(local), True, local)
        body.store_bits(place.pointer, value)
        return Var(sig.name, sig.ty, place, span, "arg", local, body)

    def _bind_out(self, body: Any, instance: Instance, sig: ArgSig, span: Span) -> None:
        signature = instance.signature
        ty = signature.result_ty
        if signature.result == "memory" and self.is_trivial(ty) and body.module.is_library:
            place = LV(ty, body.result_pointer, True, loans=())
        elif signature.result == "memory":
            local = body.behind(body.result_pointer, ty, sig.name, span)
            place = LV(ty, body.result_pointer, True, local)
        else:
            local = body.local(self.ir(ty), sig.name)
            place = LV(ty, nodes.LocalAddress(local), True, None if body.module.is_library else local)
        if place.local is not None:
            if isinstance(ty, StructTy):
                body.by_field(place.local, ty)
                if instance.fn.name == "__init__":
                    place.local.drop = ""  # what is not finished when an error is raised is destroyed field by field
            trusted = body.module.is_library or (isinstance(ty, StructTy) and not place.local.fields)
            (body.trusted if trusted else body.late_locals).add(place.local)
        body.out_var = Var(sig.name, ty, place, span, "var", None, body)
        body.scope.names[sig.name] = body.out_var

    def _bind_variadic(self, body: Any, sig: ArgSig, span: Span, argument: Any) -> None:
        if sig.variadic == "pack":
            args = [argument(f"{sig.name}.{i}", types.PTR) for i in range(len(sig.pack))]
        else:
            args = [argument(sig.name, types.PTR), argument(f"{sig.name}.count", types.I64)]
        value = body.variadic_value(sig, args)
        body.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=body)

    def make_template(self, instance: Instance) -> None:
        """Expand a "builtin" function once with open arguments; where that gives one pure value, calls become that."""
        instance.template = False
        signature = instance.signature
        if signature.result != "direct" or any(
            a.variadic or (a.passing == "memory" and a.convention != "out") or isinstance(a.ty, FnTy)
            for a in signature.args
        ):
            return
        scratch = self.new_body(instance.fn.module, instance.scope, instance)
        values: list[Any] = []
        count = 0
        for sig in signature.args:
            if sig.convention == "out":
                values.append(None)
            elif sig.passing == "direct":
                values.append(RV(sig.ty, nodes.Argument(count, self.ir(sig.ty))))
                count += 1
            else:
                values.append(KV(sig.ty, ()))
        errors = self.sink.error_count
        try:
            made = scratch.inline(instance, values, instance.fn.span())
        except Symbolic:
            return
        is_pure = not (scratch.statements or scratch.hoisted or scratch.lends)
        if self.sink.error_count != errors or not is_pure or isinstance(made, LV):
            return
        if isinstance(made, (RV, KV)):
            value = scratch.rvalue(made)
            if value is not UNIT_CONST and not scratch.statements:
                instance.template = value
                instance.refs = scratch.refs

    # ---- destructors ----

    def destructor(self, ty: StructTy) -> str:
        """Return the symbol of the function that destroys a value: its `__del__`, then its fields."""
        if ty.drop_name is not None and ty.drop_name in self.state.extra:
            return ty.drop_name
        own, parts = self._dropped(ty)
        if own is None and not parts:
            ty.drop_name = ""
            return ""
        digest = hashlib.sha256(self.key_text(self.canonical(ty)).encode()).hexdigest()[:12]
        symbol = ty.drop_name = f"{ty.info.name}_drop${digest}"
        if symbol in self.state.extra:
            return symbol
        archived = self.state.archived.get(symbol)
        if archived is not None:
            self.state.extra[symbol] = (archived, set())
            self.state.undrawn[symbol] = ty
            return symbol
        self.draw_destructor(ty, symbol)
        return symbol

    def _dropped(self, ty: StructTy) -> tuple[FnSet | None, list[str]]:
        """Return a type's own `__del__`, and the fields that are to be destroyed."""
        parts = [name for name, kind in self.fields(ty) if not self.is_trivial(kind)]
        return self.method_set(ty, "__del__"), parts

    def draw_destructor(self, ty: StructTy, symbol: str) -> None:
        """Make the body of a destructor."""
        own, parts = self._dropped(ty)
        empty = nodes.Function(symbol, f"destructor of {ty}", (("self", types.PTR),), types.VOID, (nodes.Return(),))
        self.state.extra[symbol] = (empty, set())
        body = self.new_body(ty.info.module, ty.info.scope, self.current)
        body.comptime = False
        place = LV(ty, nodes.Argument(0, types.PTR), True)
        if own is not None:
            self._call_del(body, ty, own, place)  # which destroys the fields
            parts = []
        for name in parts:
            field = body.field(place, name)
            body.destroy_place(field.ty, field.pointer, None)
        body.emit(nodes.Return())
        made = nodes.Function(symbol, f"destructor of {ty}", (("self", types.PTR),), types.VOID, body.finish())
        self.state.extra[symbol] = (made, body.refs)

    def _call_del(self, body: Any, ty: StructTy, own: FnSet, place: LV) -> None:
        fn = own.functions[0]
        instance = self.instance(fn, ty, {}, [ty] * len(fn.node.args), None, body)
        self.request(instance)
        body.refs.add(instance.symbol)
        args = (place.pointer,) if instance.signature.args[0].passing == "memory" else ()
        body.let(nodes.Call(instance.symbol, args, types.VOID), types.VOID)

    # ---- units ----

    def unit_of(self, state: UnitState) -> nodes.Unit:
        """Return what the entry or the kernels of a target reach."""
        unit = nodes.Unit(state.target)
        roots = [self.entry_refs] if state.index < 0 else list(state.kernels)
        roots += [s for s, i in state.by_symbol.items() if i.fn.export and i.function is not None and state.index < 0]
        if state.archived:
            roots.append(TARGETS_TABLE)  # the archive reads it
        work = [root for root in roots if root]
        seen: set[str] = set()
        while work:
            symbol = work.pop()
            if symbol in seen:
                continue
            seen.add(symbol)
            instance = state.by_symbol.get(symbol)
            if symbol in state.archived and (symbol in state.extra or (instance is not None and instance.archived)):
                unit.functions[symbol] = state.archived[symbol]
            elif symbol in state.extra:
                function, refs = state.extra[symbol]
                unit.functions[symbol] = function
                work += refs
            elif instance is not None:
                if instance.function is not None:
                    unit.functions[symbol] = instance.function
                    work += instance.refs
            elif symbol in self.globals:
                item = self.globals[symbol]
                if symbol in state.archived_variables:
                    item = replace(item, linkage="external", content=None)
                unit.globals[symbol] = item
                if isinstance(item.content, nodes.Const):
                    work += _addresses(item.content.value)
        unit.kernels = tuple(state.kernels[s] for s in sorted(state.kernels))
        return unit


def _is_specialised(arg: ast.Param, fn: FnInfo) -> bool:
    """Is a function given for this argument a part of the instance: not where its type is a parameter's value."""
    if arg.kind == "star" or convention_of(arg) != "read":
        return False
    if isinstance(arg.type, ast.Name):
        own = (*fn.node.params, *(fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()))
        return all(param.name != arg.type.id or isinstance(param.type, ast.FunctionType) for param in own)
    return isinstance(arg.type, (ast.FunctionType, ast.Attribute))


def phantom(name: str, ty: Ty, fn: FnInfo, node: ast.Param) -> Var:
    """Return an argument of which only the type is known, for the types that speak of it."""
    place = LV(ty, nodes.LocalAddress(FOREIGN), True, None, (), False, "foreign", ())
    return Var(name, ty, place, Span(fn.module.source, node.start, node.end), "arg")


def _addresses(value: Any) -> list[str]:
    if isinstance(value, nodes.Address):
        return [value.name]
    if isinstance(value, tuple):
        return [name for item in value for name in _addresses(item)]
    return []
