"""Calls: passing arguments, results, errors, and the expansion of "builtin" functions in place.

The convention: an address for a result in memory comes first, then the arguments that take memory, then the
environments of captured variables, then, in a function that may raise, the address for the error. A raising function
returns an i1: true if it raised; its result goes through memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.body import UNIT_CONST
from ktc.elaborate.function_types import NAMELESS
from ktc.elaborate.instances import ArgSig, Instance, Signature
from ktc.elaborate.matching import Candidate, Matching
from ktc.elaborate.mismatch import Mismatch
from ktc.elaborate.scope import FnSet, Scope, Var
from ktc.elaborate.values import (
    KV,
    LV,
    RV,
    Arg,
    DisplayVal,
    FnTy,
    FnVal,
    Method,
    PackPV,
    PackVal,
    PartialTy,
    StructTy,
    TraitTy,
    Ty,
)  # fmt: skip
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value


class Calls(Matching):
    """The part of a body that emits calls."""

    # ---- what is called ----

    def call(self, callee: Any, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Call what an expression gave."""
        match callee:
            case FnVal():
                return self.call_fn(callee, pos, kw, span)
            case Method(base, fn):
                if base is None:
                    return self.call_fn(fn, pos, kw, span)
                return self.call_fn(fn, [Arg(base, span), *pos], kw, span, receiver=True)
            case StructTy():
                return self.construct(callee, pos, kw, span)
            case PartialTy(info, params):
                if len(pos) == 1 and isinstance(pos[0].value, PackPV) and info is self.elab.list_info():
                    return self._list_of(pos[0].value)
                open_ty = self.elab.symbolic_struct(info)
                values = tuple(b if p is None else p for p, b in zip(params, open_ty.params, strict=True))
                return self.construct(self.elab.struct(info, values), pos, kw, span)
            case RV() | LV() | KV():
                if isinstance(callee.ty, FnTy):
                    return self.call_value(callee, pos, kw, span)
                fns = self.elab.method_set(callee.ty, "__call__")
                if fns is not None:
                    return self.call_fn(FnVal(fns, (), (), callee.ty), [Arg(callee, span), *pos], kw, span, True)  # type: ignore[arg-type]
                self.fail(
                    Code.NOT_CALLABLE, f"a value of type '{self.elab.type_name(callee.ty)}' cannot be called", span
                )
            case _:
                self.fail(Code.NOT_CALLABLE, "this cannot be called", span)

    def call_fn(self, fn: FnVal, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False) -> Any:
        """Call a function with the parameters that it was given."""
        self_ty = fn.self_ty
        key = self._site_key(fn, pos, kw, receiver)
        found = self.state.memo.get(key) if key is not None else None
        if found is None:
            found = self.choose(fn.set, self_ty, fn.params, fn.named, pos, kw, span, fn.env, receiver=receiver)
            if key is not None:
                self.state.memo[key] = found
        else:
            found = self._reslot(found, pos, kw, receiver)
        assert found is not None
        return self.emit_call(found, span)

    def _site_key(self, fn: FnVal, pos: list[Arg], kw: list[Arg], receiver: bool) -> Any:
        if kw or fn.env is not None or len(pos) > 3:
            return None
        kinds = []
        for arg in pos:
            value = arg.value
            if not isinstance(value, (RV, LV, KV)) or isinstance(value.ty, FnTy):
                return None
            kinds.append((value.ty, isinstance(value, LV) and value.mutable and (2 if value.owned else 1)))
            if isinstance(value, LV) and any(o.kind == "local" for o in self.elab.origins(value.ty)):
                return None
        functions = fn.set.functions
        if any(a.origin or a.kind in ("star", "starstar") for f in functions for a in f.node.args):
            return None
        try:
            hash(fn)
        except TypeError:
            return None
        return ("call", fn.set, fn.params, fn.named, fn.self_ty, receiver, tuple(kinds))

    def _reslot(self, found: Candidate, pos: list[Arg], kw: list[Arg], receiver: bool) -> Candidate:
        fn = found.instance.fn
        arguments = pos[1:] if receiver and fn.static else pos
        return Candidate(found.instance, self._slots(fn, arguments, kw, False), 0)

    def construct(self, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Make a value of a struct by its constructors."""
        inits = self.elab.method_set(ty, "__init__")
        if ty.info.fieldwise and (inits is None or ty.info.members.get("__init__") is None):
            return self._fieldwise(ty, pos, kw, span)
        if inits is None:
            if len(pos) == 1 and not kw and getattr(pos[0].value, "ty", None) is ty:
                return pos[0].value
            help = "write '@fieldwise_init' above the struct, or give it an '__init__'"
            self.fail(Code.NOT_CALLABLE, f"'{ty.info.name}' has no constructor", span, help)
        if ty.info.fieldwise and not ty.symbolic:
            found = self.choose(inits, ty, (), (), pos, kw, span, quiet=True)
            if found is None:
                return self._fieldwise(ty, pos, kw, span)
            return self.emit_call(found, span)
        found = self.choose(inits, ty, (), (), pos, kw, span)
        assert found is not None
        return self.emit_call(found, span)

    def _fieldwise(self, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        names = [n.target.id for n in ty.info.field_nodes]  # type: ignore[union-attr]
        given: dict[str, Arg] = {}
        if len(pos) > len(names):
            text = f"'{ty.info.name}' has {len(names)} field{'s' * (len(names) != 1)}, but {len(pos)} values are given"
            self.fail(Code.TOO_MANY_ARGUMENTS, text, pos[len(names)].span)
        given.update(zip(names, pos, strict=False))
        for arg in kw:
            if arg.name not in names or arg.name in given:
                self.fail(Code.UNKNOWN_ARGUMENT, f"'{ty.info.name}' has no field '{arg.name}' left to give", arg.span)
            given[arg.name] = arg
        if ty.symbolic:
            ty = self._infer_fieldwise(ty, given, span)
        for name in names:
            if name not in given:
                self.fail(Code.MISSING_ARGUMENT, f"argument '{name}' of '{ty.info.name}' is missing", span)
        if self.elab.abi(ty) != "memory":
            parts = {}
            for name, kind in self.elab.fields(ty):
                parts[name] = self.rvalue(self.convert(given[name].value, kind, given[name].span))
            return RV(ty, self.build_struct(ty, parts), loans=self._loans_of_all([a.value for a in given.values()]))
        made = self.temporary(ty, "", self._loans_of_all([a.value for a in given.values()]))
        for name, kind in self.elab.fields(ty):
            value = self.convert(given[name].value, kind, given[name].span)
            self.init_place(kind, self.field(made, name).pointer, value, given[name].span)
        self.mark("init", made)
        return made

    def _loans_of_all(self, values: list[Any]) -> tuple[nodes.Local, ...] | None:
        found: list[nodes.Local] = []
        for value in values:
            loans = self.loans_of(value)
            if loans is None:
                return None
            found += loans
        return tuple(dict.fromkeys(found))

    def _infer_fieldwise(self, ty: StructTy, given: dict[str, Arg], span: Span) -> StructTy:
        bound: dict[Any, Any] = {}
        for node in ty.info.field_nodes:
            arg = given.get(node.target.id)  # type: ignore[union-attr]
            if arg is not None and node.type is not None and ty.scope is not None:
                want = self.elab.evaluate_pattern(node.type, ty.scope, ty.info.module)
                self._infer_one(arg, want, bound, node)
        try:
            return self._concrete_self(ty, bound)
        except Mismatch as why:
            self.fail(why.code, why.message, span)

    def build_struct(self, ty: StructTy, parts: dict[str, Value]) -> Value:
        """Return the IR value of a directly passed struct from its fields' values."""
        kind = self.elab.ir(ty)
        if types.size_of(kind) == 0:
            return nodes.Const(kind, ())
        found: list[Value] = []
        for name, _ in self.elab.fields(ty):
            slot = self.elab.slot(ty, name)[1]
            if slot == -2:
                return parts[name]
            if slot >= 0:
                found.append(parts[name])
        return ops.build("make", tuple(found), kind)

    # ---- emitting ----

    def emit_call(self, found: Candidate, span: Span) -> Any:
        """Emit the call of a chosen candidate."""
        outer, self.span = self.span, span if self.span is None or not self.module.is_library else self.span
        try:
            values = self._values(found, span)
            instance = found.instance
            if not self.module.is_library:
                if instance.fn.deprecated:
                    self.elab.warn_deprecated(instance.fn, span)
                if instance.signature.changes:
                    self._check_aliasing(instance, values, [getattr(slot, "span", None) for slot in found.slots])
            if instance.fn.inline != "builtin":
                return self._emit(instance, values, span)
            made = self.expand(instance, values, span)
            if isinstance(made, (RV, LV)) and made.loans is None and self.elab.origins(made.ty):
                made.loans = self.loans_of_call(instance.signature, values)
            return made
        finally:
            self.span = outer

    def _values(self, found: Candidate, span: Span) -> list[Any]:
        values: list[Any] = []
        for sig, slot in zip(found.instance.signature.args, found.slots, strict=True):
            if sig.convention == "out":
                values.append(None)
            elif sig.kind == "starstar":
                values.append(self._keywords(sig, slot or [], span))
            elif slot is None:
                assert sig.node.default is not None
                with_scope = self.evaluate_in(sig.node.default, found.instance.scope, found.instance.fn.module, sig.ty)
                module, default = found.instance.fn.module, sig.node.default
                where = span if module.is_library else Span(module.source, default.start, default.end)
                values.append(self.convert(with_scope, sig.ty, where))
            elif isinstance(slot, list):
                if not found.instance.rest_spans:
                    found.instance.rest_spans = tuple(arg.span for arg in slot)
                values.append(self._star(sig, slot, span))
            elif isinstance(slot.value, FnVal) and isinstance(sig.ty, FnTy) and sig.ty.of is not None:
                values.append(sig.ty.of)
            else:
                values.append(self.convert(slot.value, sig.ty, slot.span, sig.convention))
        return values

    def _keywords(self, sig: ArgSig, slot: list[Arg], span: Span) -> Any:
        """Gather the keyword arguments that no argument is named for in a dictionary."""
        assert isinstance(sig.ty, StructTy)
        made = self.place(self.call(sig.ty, [], [], span))
        inner = sig.ty.params[0]
        insert = FnVal(self.elab.known_methods(sig.ty, "_insert"), (), (), sig.ty)
        for arg in slot:
            target = LV(sig.ty, made.pointer, True, made.local)
            name = self.elab.literal("StringLiteral", "!kgen.string", arg.name)
            value = Arg(self.convert(arg.value, inner, arg.span), arg.span)  # type: ignore[arg-type]
            self.call_fn(insert, [Arg(target, span), Arg(name, arg.span), value], [], span, True)
        return made

    def _list_of(self, pack: PackPV) -> Any:
        """Return the values of a variadic parameter as a list; of types and functions it has only the length."""
        items: list[Any] = list(pack.items)
        empty = pack.kind if isinstance(pack.kind, (StructTy, FnTy)) else None
        kind: Any = empty or self.elab.library_type("NoneType")
        if items and all(isinstance(item, KV) for item in items):
            items = [self.materialize(item) for item in items]
            kind = items[0].ty
        else:
            items = [KV(kind, ()) for _ in items]
        places = PackVal(tuple(self.place(item) for item in items))
        return self.pack_value(ArgSig("", kind, "read", "star", NAMELESS, "memory", "list"), places)

    def evaluate_in(self, node: Any, scope: Scope, module: Any, expected: Ty | None) -> Any:
        """Elaborate an expression of another scope here."""
        outer = self.scope, self.module
        self.scope, self.module = scope, module
        try:
            return self.expr(node, expected)  # type: ignore[attr-defined]
        finally:
            self.scope, self.module = outer

    def _star(self, sig: ArgSig, slot: list[Arg], span: Span) -> Any:
        """Gather variadic arguments: the addresses of the values in an array or a pack."""
        items: list[Any] = []
        for arg in slot:
            items += [Arg(v, arg.span) for v in arg.value.items] if isinstance(arg.value, PackVal) else [arg]
        if sig.variadic == "pack":
            values = [self.convert(a.value, kind, a.span) for a, kind in zip(items, sig.pack, strict=True)]
        else:
            values = [self.convert(a.value, sig.ty, a.span) for a in items]
        owned = sig.convention in ("var", "owned")
        places = []
        for value, arg in zip(values, items, strict=True):
            place = self.own(value, arg.span) if owned else self.place(value)
            places.append(place)
        return PackVal(tuple(places))

    def _check_aliasing(self, instance: Instance, values: list[Any], spans: Sequence[Span | None]) -> None:
        """Report a call that changes an argument and reaches the same place through another one."""
        seen: list[tuple[Any, ArgSig]] = []
        for sig, value, span in zip(instance.signature.args, values, spans, strict=True):
            if sig.convention in ("var", "deinit") or not isinstance(value, (LV, RV)):
                continue
            if sig.passing == "direct" and not self.elab.origins(value.ty):
                continue
            for other, before in seen:
                changed, same = (sig, before) if sig.convention == "mut" else (before, sig)
                if changed.convention == "mut" and self._overlap(value, other):
                    text = f"{instance.fn.title} changes the argument '{changed.name}', and '{same.name}' is the same"
                    self.fail(Code.ALIASING, f"{text} value", span or self.span, "pass a copy")
            seen.append((value, sig))

    def _overlap(self, a: Any, b: Any) -> bool:
        """Do two arguments surely reach the same place."""
        if isinstance(a, LV) and isinstance(b, LV) and a.local is not None and a.local is b.local:
            return not a.owned and not b.owned and a.path[: len(b.path)] == b.path[: len(a.path)]
        reached = [
            {x.local} if isinstance(x, LV) and x.local is not None and not x.owned else set(x.loans or ())
            for x in (a, b)
        ]
        inside = [set(self.loans_of(x) or ()) for x in (a, b)]
        return bool(reached[0] & (reached[1] | inside[1]) or inside[0] & reached[1])

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
            instance.signature, values, instance.envs, f"'{instance.fn.name}'", span,
        )  # fmt: skip

    def emit_through(
        self, call: Callable[[tuple[Value, ...], types.Type], nodes.Action], signature: Signature, values: list[Any],
        envs: Sequence[FnVal], name: str, span: Span,
    ) -> Any:  # fmt: skip
        """Emit a call whose action `call` makes."""
        args: list[Value] = []
        result: LV | None = None
        loans: tuple[nodes.Local, ...] | None = ()
        if signature.result == "ref" or self.elab.origins(signature.result_ty):
            loans = self.loans_of_call(signature, values)
        if signature.through_memory:
            if signature.result == "ref":
                local = self.local(types.PTR, "", None)
                local.pins, local.pins_all = loans or (), loans is None
                result = LV(signature.result_ty, nodes.LocalAddress(local), loans=loans)
            else:
                # what a 'try' waits for has a place of its own, from which it is moved
                named = "result" if signature.raises and self.handlers else ""
                result = self.temporary(signature.result_ty, named, loans)
            args.append(result.pointer)
        consumed: list[LV] = []
        for sig, value in zip(signature.args, values, strict=True):
            if sig.convention != "out":
                if sig.convention == "mut" and isinstance(value, LV) and value.local is not None:
                    self._lend(value, values)
                self._pass(sig, value, args, consumed, span)
        for env in envs:
            args.append(self.environment(env, span))
        made = self._call_action(call, signature, name, args, consumed, result, span)
        if isinstance(made, LV) and signature.result == "ref":
            made.loans = loans
            made.mutable = signature.result_mutable and all(
                values[i].mutable if signature.args[i].convention == "ref" else signature.args[i].convention != "read"
                for i in signature.named
                if isinstance(values[i], LV)
            )
            made.why = "" if made.mutable else "a reference that is read only"
        elif isinstance(made, RV):
            made.loans = loans
        if signature.noreturn:
            self.emit(nodes.Unreachable())
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
            return RV(signature.result_ty, nodes.Const(kind, self._zero(kind)))
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

    @staticmethod
    def _zero(kind: types.Type) -> Any:
        return tuple(() for _ in kind.fields) if isinstance(kind, types.StructType) else ()

    def _call_raising(self, call: Any, name: str, args: list[Value], consumed: list[LV], span: Span) -> None:
        if self.handlers:
            label, local = self.handlers[-1]
            pointer: Value = nodes.LocalAddress(local)
        elif self.error_argument is not None:
            label, local, pointer = 0, None, self.error_argument
        elif self.comptime:
            kind = self.elab.error_type()
            label, local = -1, self.local(self.elab.ir(kind), "error")
            pointer = nodes.LocalAddress(local)
        else:
            self.fail(
                Code.RAISES, f"{name} may raise, and nothing here catches it", span,
                "put the call in a 'try' block, or declare this function with 'raises'",
            )  # fmt: skip
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
        args.append(self.place(value).pointer)

    def _pass_pack(self, sig: ArgSig, value: PackVal, args: list[Value], consumed: list[LV]) -> None:
        places = [item for item in value.items if isinstance(item, LV)]
        if sig.variadic == "pack":
            args.extend(place.pointer for place in places)
        else:
            kind = types.ArrayType(types.PTR, max(1, len(places)))
            local = self.local(kind, "arguments")
            local.pins = tuple(p.local for p in places if p.local is not None)
            for i, place in enumerate(places):
                at = ops.build("offset", (nodes.LocalAddress(local), nodes.Const(types.I64, i)), None, types.PTR)
                self.emit(nodes.Store(at, place.pointer))
            args += [nodes.LocalAddress(local), nodes.Const(types.I64, len(places))]
        if sig.convention in ("var", "owned"):
            consumed.extend(p for p in places if not self.elab.is_trivial(p.ty))

    def call_init(self, ty: Ty, init: FnSet, pointer: Value, val: LV) -> None:
        """Run `__copyinit__` or `__moveinit__` on a place."""
        assert isinstance(ty, StructTy)
        span = self.span or self.elab.main_span()
        found = self.choose(init, ty, (), (), [Arg(val, span)], [], span)
        assert found is not None
        instance = found.instance
        self.elab.request(instance)
        self.refs.add(instance.symbol)
        if instance.signature.result == "memory":
            self.let(nodes.Call(instance.symbol, (pointer, val.pointer), types.VOID), types.VOID)
        else:
            made = self._emit(instance, [None, val], span)
            self.store_bits(pointer, made)

    # ---- conversions ----

    def convert(self, value: Any, want: Ty | None, span: Span, convention: str = "read") -> Any:
        """Return a value converted implicitly to a type; an error if it cannot be."""
        if want is None or isinstance(want, TraitTy) or isinstance(value, PackVal):
            return self.build_display(value, None) if isinstance(value, DisplayVal) else value
        if isinstance(value, DisplayVal):
            value = self.build_display(value, want)
        made = self.try_convert(value, want, span)
        if made is None:
            if isinstance(value, FnVal):
                text = f"'{value.set.name}', a '{value.described()}', is no '{self.elab.type_name(want)}'"
                self.fail(Code.TYPE_MISMATCH, text, span)
            if not isinstance(value, (RV, LV, KV)):
                self.fail(Code.TYPE_MISMATCH, f"a value of type '{self.elab.type_name(want)}' is wanted here", span)
            shown = self.elab.type_name
            self.fail(Code.TYPE_MISMATCH, f"'{shown(value.ty)}' does not convert to '{shown(want)}'", span)
        return made

    def build_display(self, late: DisplayVal, want: Ty | None) -> Any:
        """Make the value that a display stands for; `Displays` does."""
        raise NotImplementedError

    def try_convert(self, value: Any, want: Ty, span: Span | None) -> Any:
        """Return a value converted implicitly to a type, or None."""
        if isinstance(value, FnVal):
            return self._function_to(value, want, span)
        if not isinstance(value, (RV, LV, KV)):
            return None
        if value.ty is want:
            return value
        if self.elab.fits(value.ty, want):
            if isinstance(value, LV):
                return replace(value, ty=want)
            return RV(want, value.ir, loans=value.loans) if isinstance(value, RV) else KV(want, value.data)
        if not isinstance(want, StructTy) or want.symbolic:
            return None
        return self._through_init(value, value.ty, want, span)

    def _function_to(self, value: FnVal, want: Ty, span: Span | None) -> Any:
        if isinstance(want, FnTy):
            return value if want.of is not None else self.function_value(value, want, span)
        if isinstance(want, StructTy) and not want.symbolic:
            return self._through_init(value, self.elab.fn_type_of(value), want, span)
        return None

    def function_value(self, fn: FnVal, want: FnTy, span: Span | None) -> RV | None:
        """Return the address of a function (in `FunctionValues`)."""
        raise NotImplementedError

    def call_value(self, callee: RV | LV | KV, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Call a function that is known only at run time (in `FunctionValues`)."""
        raise NotImplementedError

    def _through_init(self, value: Any, have: Ty, want: StructTy, span: Span | None) -> Any:
        found = self.implicit_init(have, want)
        if found is None:
            return None
        where = span or self.span or self.elab.main_span()
        slots = [Arg(value, where) if isinstance(slot, Arg) else slot for slot in found.slots]
        made = self.emit_call(Candidate(found.instance, slots, 0), where)
        if isinstance(made, (RV, LV)) and made.ty is not want:
            made.ty = want
        return made

    def materialize(self, value: Any) -> Any:
        """Turn a literal into a value of its run-time type."""
        if isinstance(value, (RV, LV, KV)):
            want = self.elab.materialized(value.ty, False)
            if want is not value.ty:
                return self.convert(value, want, self.span or self.elab.main_span())
        elif isinstance(value, FnVal):
            thin = self.elab.thin_type(value)
            return value if thin is None else self.convert(value, thin, self.span or self.elab.main_span())
        return value

    # ---- expansion in place ----

    def expand(self, instance: Instance, values: list[Any], span: Span) -> Any:
        """Expand a "builtin" function: its body becomes part of this one."""
        if instance.template is None:
            self.elab.make_template(instance)
        if instance.template is not False and all(v is None or isinstance(v, (RV, KV)) for v in values):
            args = [
                self.rvalue(v)
                for v, s in zip(values, instance.signature.args, strict=True)
                if s.passing == "direct" and v is not None
            ]
            self.refs |= instance.refs
            return RV(instance.signature.result_ty, substitute(instance.template, args))
        return self.inline(instance, values, span)

    def inline(self, instance: Instance, values: list[Any], span: Span) -> Any:
        """Run a function's statements here, its arguments bound to values."""
        outer = self.scope, self.module, self.instance, self.builtin_self, self.inline_result
        if instance.busy:
            self.fail(Code.INSTANTIATION_DEPTH, f"'{instance.fn.name}' is marked as builtin and calls itself", span)
        instance.busy = True
        self.scope = Scope(instance.scope, "body", body=self)
        self.module = instance.fn.module
        self.instance = instance
        self.builtin_self, self.inline_result = None, []
        signature = instance.signature
        try:
            for sig, value in zip(signature.args, values, strict=True):
                if sig.convention == "out" and signature.out_name == sig.name:
                    self.builtin_self = {"": signature.result_ty, "name": sig.name}
                    self.scope.names[sig.name] = Var(
                        sig.name, signature.result_ty, RV(signature.result_ty, UNIT_CONST), span, "out"
                    )
                else:
                    self._bind(sig, value, span)
            return self._run_inline(instance, span)
        finally:
            instance.busy = False
            self.scope, self.module, self.instance, self.builtin_self, self.inline_result = outer

    def _bind(self, sig: ArgSig, value: Any, span: Span) -> None:
        if isinstance(value, PackVal):
            value = self.pack_value(sig, value)
        elif isinstance(value, FnVal):
            self.scope.names[sig.name] = value
            return
        self.scope.names[sig.name] = Var(sig.name, value.ty, value, span, "arg", body=self)

    def pack_value(self, sig: ArgSig, value: PackVal) -> Any:
        """Return the library's value for variadic arguments that are bound in place."""
        args: list[Value] = []
        self._pass_pack(sig, value, args, [])
        return self.variadic_value(sig, args)

    def variadic_value(self, sig: ArgSig, args: Sequence[Value]) -> Any:
        """Make a `VariadicList` or `VariadicPack` of addresses."""
        if sig.variadic == "pack":
            ty = self.elab.pack_type(sig.pack)
            kind = self.elab.ir(ty)
            if not args:
                return RV(ty, nodes.Const(kind, ()))
            return RV(ty, args[0] if len(args) == 1 else ops.build("make", tuple(args), kind))
        ty = self.elab.list_type(sig.ty)
        return RV(ty, ops.build("make", tuple(args), self.elab.ir(ty)))

    def _run_inline(self, instance: Instance, span: Span) -> Any:
        signature = instance.signature
        assert instance.fn.node.body is not None
        self.block(instance.fn.node.body)  # type: ignore[attr-defined]
        if self.builtin_self is not None:
            return self._built(signature.result_ty, span)
        if self.inline_result:
            return self.inline_result[0]
        kind = self.elab.ir(signature.result_ty)
        return RV(signature.result_ty, nodes.Const(kind, self._zero(kind)))

    def _built(self, ty: Ty, span: Span) -> Any:
        parts = self.builtin_self
        assert parts is not None
        if "whole" in parts:
            return parts["whole"]
        if not isinstance(ty, StructTy):
            self.fail(Code.RETURN_TYPE, "the result has no value", span)
        values = {}
        for name, kind in self.elab.fields(ty):
            if name not in parts:
                self.fail(Code.UNINITIALIZED, f"field '{name}' gets no value", span)
            values[name] = self.rvalue(self.convert(parts[name], kind, span))
        if len(values) == 1 and isinstance(parts[next(iter(values))], KV):
            only = parts[next(iter(values))]
            if self.elab.slot(ty, next(iter(values)))[1] == -2 or types.size_of(self.elab.ir(ty)) == 0:
                return KV(ty, only.data)
        return RV(ty, self.build_struct(ty, values))


def substitute(template: Value, args: list[Value]) -> Value:
    """Return a value with its `Argument`s replaced; constants fold on the way."""
    if isinstance(template, nodes.Argument):
        return args[template.index]
    if isinstance(template, nodes.Op):
        return ops.build(template.name, tuple(substitute(a, args) for a in template.args), template.type, template.attr)
    return template
