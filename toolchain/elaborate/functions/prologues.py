"""Binding: the variables that a body has for its arguments.

In: the signature of an instance and the values of the function in the IR. Out: variables in the body's scope.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.instances.instance_table import (
    ArgSig,
    Instance,
)  # fmt: skip
from ktc.elaborate.instances.reference_mutability import is_fixed
from ktc.elaborate.instances.signatures import Signatures
from ktc.elaborate.kernels.kernel_attributes import bounds_of
from ktc.elaborate.model.declarations import Scope, Var
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    FnTy,
    StructTy,
)  # fmt: skip
from ktc.elaborate.resolve.suggestions import read_only_argument
from ktc.elaborate.tree.argument_uses import replaced
from ktc.ir import nodes, types
from ktc.records import replace


class Binding(Signatures):
    """The part of the elaborator that binds arguments."""

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
        bounds = bounds_of(body, fn.node.decorators) if instance.kernel and fn.node.decorators else {}
        symbol = instance.symbol
        instance.refs = body.refs
        passed = {one.closure: at.index for one, at in body.env_args.items() if isinstance(at, nodes.Argument)}
        instance.function = nodes.Function(
            symbol, instance.title, tuple(params), kind, statements, linkage, inline, False, fn.span(), body.lends,
            bounds, passed, self._values(instance, params) | body.whole_captures if instance.kernel else {},
            traced=fn.traced, must_end=dict(body.linear),
        )  # fmt: skip

    def _values(self, instance: Instance, params: list[tuple[str, types.Type]]) -> dict[int, types.Type]:
        """Return which arguments of a kernel are addresses of values, and the types of these."""
        places = {name: index for index, (name, _) in enumerate(params)}
        found = [sig for sig in instance.signature.args if sig.passing == "memory"]
        return {places[sig.name]: self.ir(sig.ty) for sig in found}

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
        signature, before = instance.signature, len(body.statements)
        for sig in signature.args:
            span = Span(instance.fn.module.source, sig.node.start, sig.node.end)
            if sig.convention == "out":
                self._bind_out(body, instance, sig, span)
                continue
            if sig.variadic:
                self._bind_variadic(body, sig, span, argument)
                continue
            body.scope.names[sig.name] = self._bind_one(body, sig, span, argument)
        made = body.statements[before:]
        marks = [one for one in made if isinstance(one, nodes.Mark)]
        if len(marks) > 1:  # what is never looked at is destroyed from the last one on, and what stands for many last
            marks.sort(key=lambda mark: mark.local.at is not None)
            body.statements[before:] = [one for one in made if not isinstance(one, nodes.Mark)] + marks[::-1]

    def _bind_one(self, body: Any, sig: ArgSig, span: Span, argument: Any) -> Any:
        ty = sig.ty
        if isinstance(ty, FnTy) and ty.of is not None:
            return ty.of
        why = read_only_argument(sig.name)
        if sig.convention in ("mut", "ref"):
            pointer = argument(sig.name, types.PTR)
            if sig.convention == "mut" and not self.is_trivial(ty) and self._is_replaced(body, sig):
                return self._bind_behind(body, sig, pointer, span)
            fixed = sig.convention == "ref" and not body.module.is_library and is_fixed(self, body.instance, sig)
            return Var(
                sig.name, ty, LV(ty, pointer, not fixed, why=why if fixed else "", loans=()), span, "arg", body=body
            )
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

    def _is_replaced(self, body: Any, sig: ArgSig) -> bool:
        """Say whether the function replaces the value of a `mut` argument, or a field that has a destructor. For the
        library's own functions it is of no interest when exactly a field dies."""
        found = replaced(body.instance.fn)
        if sig.name in found or body.module.is_library or not isinstance(sig.ty, StructTy):
            return sig.name in found
        return any(f"{sig.name}.{name}" in found and not self.is_trivial(ty) for name, ty in self.fields(sig.ty))

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

    def owned_type(self, sig: ArgSig) -> StructTy:
        """Return the type of `var *args` (in `Elaborator`)."""
        raise NotImplementedError

    def _bind_variadic(self, body: Any, sig: ArgSig, span: Span, argument: Any) -> None:
        if sig.variadic == "pack":
            args = [argument(f"{sig.name}.{i}", types.PTR) for i in range(len(sig.pack))]
        else:
            args = [argument(sig.name, types.PTR), argument(f"{sig.name}.count", types.I64)]
        if sig.convention in ("var", "owned") and not body.module.is_library:
            kind = self.owned_type(sig)
            value = RV(kind, body.variadic_value(sig, args).ir)
            owned = self._own_direct(body, replace(sig, ty=kind), value, span)
            body.mark("init", owned.value)
            body.scope.names[sig.name] = owned
            return
        value = body.variadic_value(sig, args)
        body.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=body)
