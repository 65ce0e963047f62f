"""Functions as values at run time: their addresses, calls through them, and bridges between two conventions.

In: a function by name and the function type that is wanted, or a value of a function type and arguments. Out: values
and calls in the body.
"""

import hashlib
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.closures.escaping_closures import KeptClosures, code_and_environment
from ktc.elaborate.instances.instance_table import ArgSig, Instance, Signature
from ktc.elaborate.model.values import KV, LV, RV, Arg, FnTy, FnVal
from ktc.ir import nodes, types
from ktc.ir.nodes import Value


class FunctionValues(KeptClosures):
    """The part of a body that handles functions that are known only at run time."""

    # ---- values ----

    def function_value(self, fn: FnVal, want: FnTy, span: Span | None) -> RV | LV | None:
        """Return the address of the function that a type means by a name, or a closure; None if none fits."""
        if not self.elab.is_plain(want):
            return None
        instance = self.elab.instance_as(fn, want)
        if instance is None or (instance.signature.raises != want.raises and not self.module.is_library):
            return None
        self.elab.request(instance)
        if want.kept:
            return self.keep_closure(fn, instance, want, span)
        symbol = instance.symbol
        words = tuple(sig.convention for sig in instance.signature.args if sig.convention != "out")
        differs = instance.signature.raises != want.raises or words != tuple(word for word, _ in want.args)
        if instance.envs or differs:
            for env in instance.envs:
                if self.captures_anything(env):
                    text = f"'{instance.fn.name}' uses variables of the function around it, so it is no '{want}'"
                    self.fail(
                        Code.TYPE_MISMATCH,
                        text,
                        span,
                        "write 'escaping' in the type, or pass it by its name, as an argument or a parameter",
                    )
            symbol = self.bridge(instance, want)
        self.refs.add(symbol)
        return RV(want, nodes.Const(types.PTR, nodes.Address(symbol)))

    def captures_anything(self, env: FnVal) -> bool:
        """Does a nested function use variables around it (in `Closures`)."""
        raise NotImplementedError

    def bridge(self, instance: Instance, want: FnTy) -> str:
        """Return the symbol of a function that has the convention of a type and calls another."""
        text = f"{instance.symbol}:{want.raises}:{want.kept}:{' '.join(word for word, _ in want.args)}"
        symbol = f"bridge${hashlib.sha256(text.encode()).hexdigest()[:12]}"
        if symbol in self.state.extra:
            return symbol
        inner, outer = instance.signature, self.elab.call_signature(want)
        params: list[tuple[str, types.Type]] = []

        def take(name: str, kind: types.Type) -> Value:
            params.append((name, kind))
            return nodes.Argument(len(params) - 1, kind)

        body = self.elab.new_body(instance.fn.module, instance.scope, None)
        back = take("result", types.PTR) if outer.through_memory else None
        args = [back] if inner.through_memory and back is not None else []
        owned: list[LV] = []
        for sig, own in zip(outer.args, (sig for sig in inner.args if sig.convention != "out"), strict=True):
            if sig.passing == "none":
                continue
            given = take(sig.name, types.PTR if sig.passing == "memory" else self.elab.ir(sig.ty))
            place = LV(sig.ty, given)
            if sig.passing == "memory" and own.passing != "memory":  # what is changed there, and only read here
                args += [body.rvalue(place)] if own.passing == "direct" else []
            else:
                args.append(given)
            if sig.convention in ("var", "deinit") and own.convention == "read":
                owned += [place if sig.passing == "memory" else body.place(RV(sig.ty, given))]
        environment = take("env", types.PTR) if want.kept else nodes.Const(types.PTR, 0)
        args += [environment for _ in instance.envs]
        if inner.raises:
            args.append(take("error", types.PTR))
        elif outer.raises:
            take("error", types.PTR)
        kind = _result_type(self, inner)
        value = body.let(nodes.Call(instance.symbol, tuple(args), kind), kind)
        for place in owned:
            body.destroy_place(place.ty, place.pointer, None)
        if outer.raises and not inner.raises:
            if back is not None and inner.result in ("direct", "ref"):
                body.emit(nodes.Store(back, value))
            value = nodes.Const(types.BOOL, 0)
        result = _result_type(self, outer)
        body.emit(nodes.Return(None if isinstance(result, types.VoidType) else value))
        made = nodes.Function(symbol, f"{instance.title} as {want}", tuple(params), result, body.finish())
        self.state.extra[symbol] = (made, {instance.symbol})
        return symbol

    # ---- calls ----

    def call_value(self, callee: RV | LV | KV, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Call a function that is known only at run time."""
        ty = callee.ty
        assert isinstance(ty, FnTy)
        if not self.elab.is_plain(ty):
            self.fail(Code.UNSUPPORTED, f"a value of type '{ty}' cannot be called at run time", span)
        signature = self.elab.call_signature(ty)
        given = self._given(signature, ty, pos, kw, span)
        extra: tuple[Value, ...] = ()
        if ty.kept:
            pointer, environment = code_and_environment(self, self.place(callee))
            extra = (environment,)
        else:
            pointer = self.rvalue(callee)
        values = [self._passed(sig, arg, ty) for sig, arg in zip(signature.args, given, strict=True)]
        return self.emit_through(
            lambda args, kind: nodes.CallIndirect(pointer, args, kind), signature, values, extra, "the function", span
        )

    def _given(self, signature: Signature, ty: FnTy, pos: list[Arg], kw: list[Arg], span: Span) -> list[Arg]:
        names = [sig.name for sig in signature.args]
        given: list[Arg | None] = [*pos, *[None] * (len(names) - len(pos))]
        if len(pos) > len(names):
            text = f"a function of type '{ty}' takes {len(names)} argument{'s' * (len(names) != 1)}"
            self.fail(Code.TOO_MANY_ARGUMENTS, f"{text}, but {len(pos)} are given", pos[len(names)].span)
        for arg in kw:
            if arg.name not in names or given[names.index(arg.name)] is not None:
                self.fail(Code.UNKNOWN_ARGUMENT, f"a '{ty}' has no argument '{arg.name}' left to give", arg.span)
            given[names.index(arg.name)] = arg
        found = [arg for arg in given if arg is not None]
        if len(found) < len(names):
            self.fail(Code.MISSING_ARGUMENT, f"argument {given.index(None) + 1} of a '{ty}' is missing", span)
        return found

    def _passed(self, sig: ArgSig, arg: Arg, ty: FnTy) -> Any:
        value = self.convert(arg.value, sig.ty, arg.span)
        if sig.convention in ("mut", "ref") and not (isinstance(value, LV) and (value.mutable or value.owned)):
            self.fail(Code.IMMUTABLE, f"a '{ty}' changes this argument, and what is passed cannot be", arg.span)
        return value


def _result_type(body: Any, signature: Signature) -> types.Type:
    if signature.raises:
        return types.BOOL
    if signature.result == "ref":
        return types.PTR
    kind: types.Type = body.elab.ir(signature.result_ty) if signature.result == "direct" else types.VOID
    return kind
