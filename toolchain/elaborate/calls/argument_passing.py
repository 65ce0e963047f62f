"""Passing: how the values of a call reach the function, and what a call lends.

In: the chosen function and the values. Out: the call in the IR. The convention: an address for a result in memory comes
first, then the arguments that take memory, then the environments of captured variables, then, in a function that may
raise, the address for the error. A raising function returns an i1: true if it raised; its result goes through memory.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.function_builder import zero_of
from ktc.elaborate.calls.overload_resolution import Matching
from ktc.elaborate.instances.instance_table import ArgSig, Instance, Signature
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    FnVal,
    PackVal,
)  # fmt: skip
from ktc.elaborate.ownership.access_paths import note_place, of_result
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value


class Passing(Matching):
    """The part of a body that emits calls."""

    def call_fn(self, fn: FnVal, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False) -> Any:
        """Call a function with the parameters that it was given (in `Calls`)."""
        raise NotImplementedError

    def _lend(self, target: LV, values: list[Any]) -> None:
        """A changed argument may keep pointers that stand in the others."""
        if target.local is None or not any(o.kind == "some" for o in self.elab.origins(target.ty)):
            return
        for value in values:
            for one in value.items if isinstance(value, PackVal) else (value,):
                if one is not target and isinstance(one, (LV, RV)) and self.elab.origins(one.ty):
                    self.pin_more(target.local, target.ty, self.loans_of(one))

    def own(self, value: Any, span: Span, passed: bool = False) -> LV:
        """Return a place whose value the callee may take; `passed` as in `init_place`."""
        if isinstance(value, LV) and value.owned:
            return value
        if not isinstance(value, (RV, LV, KV)):
            self.fail_no_value(value, span)
        made = self.temporary(value.ty, "", self.loans_of(value))
        self.init_place(value.ty, made.pointer, value, span, passed)
        self.mark("init", made)
        return made

    def _emit(self, instance: Instance, values: list[Any], span: Span) -> Any:
        self.elab.request(instance)
        self.refs.add(instance.symbol)
        return self.emit_through(
            lambda args, kind: nodes.Call(instance.symbol, args, kind),
            instance.signature, values, instance.envs, called(instance), span,
        )  # fmt: skip

    def emit_through(
        self, call: Callable[[tuple[Value, ...], types.Type], nodes.Action], signature: Signature, values: list[Any],
        envs: Sequence[FnVal | Value], name: str, span: Span,
    ) -> Any:  # fmt: skip
        """Emit a call whose action `call` makes."""
        args: list[Value] = []
        result: LV | None = None
        self.given = None
        loans: tuple[nodes.Local, ...] | None = ()
        points = False
        if signature.result == "ref" or self.elab.origins(signature.result_ty):
            loans = self.loans_of_call(signature, values)
            points = not self.module.is_library
        if signature.through_memory:
            if signature.result == "ref":
                local = self.local(types.PTR, "", None)
                local.pins, local.pins_all = loans or (), loans is None
                result = LV(signature.result_ty, nodes.LocalAddress(local), loans=loans)
            else:
                # what a 'try' waits for has a place of its own, from which it is moved
                named = "result" if signature.raises and self.handlers else ""
                result = self.temporary(signature.result_ty, named, loans)
                if named and result.local is not None:
                    self.awaited.add(result.local)
            args.append(result.pointer)
        consumed: list[LV] = []
        for sig, value in zip(signature.args, values, strict=True):
            if sig.convention != "out":
                if sig.convention in ("mut", "ref") and isinstance(value, LV) and value.local is not None:
                    value.local.is_shared = True
                    if sig.convention == "mut":
                        self._lend(value, values)
                self._pass(sig, value, args, consumed, span)
        for env in envs:
            args.append(self.environment(env, span) if isinstance(env, FnVal) else env)
        made = self._call_action(call, signature, name, args, consumed, result, span)
        if isinstance(made, LV) and signature.result == "ref":
            made.loans = loans
            if not self.module.is_library:
                note_place(self, made, signature, values)
            made.mutable = signature.result_mutable and all(
                values[i].mutable if signature.args[i].convention == "ref" else signature.args[i].convention != "read"
                for i in signature.named
                if isinstance(values[i], LV)
            )
            made.why = "" if made.mutable else "a reference that is read only"
        elif isinstance(made, RV):
            made.loans = loans
            if points:
                made.via = of_result(self, signature, values)
        elif points and isinstance(made, LV) and made.local is not None:
            self.ways[made.local] = of_result(self, signature, values)
        if signature.noreturn:
            self.emit(nodes.Unreachable())
        if isinstance(made, LV) and made.local is not None:
            self.given = made.local, values
        return made

    def _call_action(
        self, call: Any, signature: Signature, name: str, args: list[Value], consumed: list[LV], result: LV | None,
        span: Span,
    ) -> Any:  # fmt: skip
        if signature.raises:
            self._call_raising(call, name, args, consumed, span)
        else:
            direct = signature.result == "direct"
            kind = self.elab.ir(signature.result_ty) if direct else types.VOID
            if signature.result == "ref":
                kind = types.PTR
            value = self.let(call(tuple(args), kind), kind)
            for place in consumed:
                self.mark("consume", place, span)
            if direct:
                return RV(signature.result_ty, value)
            if signature.result == "ref":
                return LV(signature.result_ty, value)
        if signature.result == "none":
            kind = self.elab.ir(signature.result_ty)
            return RV(signature.result_ty, nodes.Const(kind, zero_of(kind)))
        assert result is not None
        if signature.result == "ref":
            pointer = self.let(nodes.Load(result.pointer, types.PTR), types.PTR)
            return LV(signature.result_ty, pointer)
        self.mark("init", result)
        if signature.result == "direct":
            return RV(signature.result_ty, self.rvalue(result))
        return result

    def loans_of_call(self, signature: Signature, values: list[Any]) -> tuple[nodes.Local, ...] | None:
        """Return the locals into which the result of a call may point, None if that is not known."""
        found: list[nodes.Local] = []
        for i, value in enumerate(values):
            lent = i in signature.lends
            for one in value.items if isinstance(value, PackVal) else (value,):
                if lent and isinstance(one, LV):
                    if one.local is None and one.loans is None:
                        return None
                    found += (one.local,) if one.local is not None else one.loans or ()
                elif isinstance(one, FnVal) and one.env is not None:
                    return None
                inside = self.loans_of(one)
                if inside is None:
                    return None
                found += inside
        return tuple(dict.fromkeys(found))

    def _call_raising(self, call: Any, name: str, args: list[Value], consumed: list[LV], span: Span) -> None:
        if self.handlers:
            label, local = self.handlers[-1]
            pointer: Value = nodes.LocalAddress(local)
        elif self.error_argument is not None:
            label, local, pointer = 0, None, self.error_argument
        elif self.reflects or (self.comptime and self.module.is_library):
            kind = self.elab.error_type()
            label, local = -1, self.local(self.elab.ir(kind), "error")
            pointer = nodes.LocalAddress(local)
        else:
            help = "put the call in a 'try' block, or declare this function with 'raises'"
            if self.comptime:
                help = "call a function that catches the error: a value at compile time cannot be missing"
            self.fail(Code.RAISES, f"{name} may raise, and nothing here catches it", span, help)
        raised = self.let(call((*args, pointer), types.BOOL), types.BOOL)
        for place in consumed:
            self.mark("consume", place, span)
        self.open()
        if label < 0:
            error = Arg(LV(self.elab.error_type(), pointer, False, local), span)
            self.call_fn(self.elab.startup_function("__ktc_uncaught__"), [error], [], span)
        self._leave_raising(label, local)
        then = self.close()
        self.dead = False
        self.emit(nodes.If(raised, then, (), span))

    def _leave_raising(self, label: int, local: nodes.Local | None) -> None:
        if label > 0 and local is not None:
            self.used_labels.add(label)
            self.emit(nodes.Mark("init", local))
            self.run_finals(self.handler_depths[-1])  # type: ignore[attr-defined]
            self.emit(nodes.Break(label))
        elif label < 0:
            self.emit(nodes.Unreachable())
        else:
            self.run_finals(0)  # type: ignore[attr-defined]
            self.emit(nodes.Return(nodes.Const(types.BOOL, 1), self.span))

    def _pass(self, sig: ArgSig, value: Any, args: list[Value], consumed: list[LV], span: Span) -> None:
        if isinstance(value, PackVal):
            self._pass_pack(sig, value, args, consumed)
            return
        if sig.passing == "none" or isinstance(value, FnVal):
            return
        if sig.passing == "direct":
            if sig.convention in ("var", "deinit") and isinstance(value, LV):
                if value.owned:
                    consumed.append(value)
                else:
                    self.check_copy(value, span)
            args.append(self.rvalue(value))
            return
        if sig.convention in ("var", "deinit", "owned"):
            place = self.own(value, span, True)
            args.append(place.pointer)
            if not self.elab.is_trivial(place.ty):
                consumed.append(place)
            return
        pointer = self.place(value).pointer
        if pointer.type != types.PTR:  # a place in shared memory, say: functions take addresses of any memory
            pointer = ops.build("spacecast", (pointer,), types.PTR)
        args.append(pointer)

    def _pass_pack(self, sig: ArgSig, value: PackVal, args: list[Value], consumed: list[LV]) -> None:
        places = [item for item in value.items if isinstance(item, LV)]
        if sig.variadic == "pack":
            args.extend(place.pointer for place in places)
        elif places and len(fixed := [p.pointer.value for p in places if isinstance(p.pointer, nodes.Const)]) == len(
            places
        ):
            args += [self.constant_addresses(tuple(fixed)), nodes.Const(types.I64, len(places))]
        else:
            kind = types.ArrayType(types.PTR, max(1, len(places)))
            local = self.local(kind, "arguments")
            local.pins = tuple(p.local for p in places if p.local is not None)
            for i, place in enumerate(places):
                at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, i)), None, types.PTR)
                self.emit(nodes.Store(at, place.pointer))
            start = nodes.LocalAddress(local) if places else nodes.Const(types.PTR, 0)
            args += [start, nodes.Const(types.I64, len(places))]
        if sig.convention in ("var", "owned"):
            consumed.extend(p for p in places if not self.elab.is_trivial(p.ty))


def called(instance: Instance) -> str:
    """Return what messages call a function that may raise: a constructor is called by its struct's name."""
    owner = instance.fn.owner
    return f"'{owner.name if instance.fn.name == '__init__' and owner is not None else instance.fn.name}'"
