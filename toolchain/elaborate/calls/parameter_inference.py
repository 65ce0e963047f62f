"""Inference: parameters that follow from the types of arguments."""

from collections.abc import Sequence
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.place_operations import Places
from ktc.elaborate.instances.instance_table import Instance
from ktc.elaborate.model.declarations import FnInfo, FnSet, Scope
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.origins import is_static
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    DisplayVal,
    FnVal,
    Opaque,
    OriginValue,
    PackPV,
    PackVal,
    PartialTy,
    StructTy,
    Sym,
)  # fmt: skip
from ktc.records import entity


@entity
class Candidate:
    """A function that fits a call.

    Args:
        slots: for each argument of the function: None for its default, an `Arg`, or a list of them.
    """

    instance: Instance
    slots: list[Any]
    cost: int


class Inference(Places):
    """The part of a body that infers parameters."""

    def choose(
        self, fns: FnSet, self_ty: StructTy | None, params: tuple[Any, ...], named: tuple[tuple[str, Any], ...],
        pos: Sequence[Arg], kw: Sequence[Arg], span: Span, env: Any = None, implicit_only: bool = False,
        quiet: bool = False, receiver: bool = False,
    ) -> Candidate | None:  # fmt: skip
        """Return the best candidate (in `Matching`)."""
        raise NotImplementedError

    def _infer(self, fn: FnInfo, self_ty: StructTy | None, given: dict[str, Any], slots: list[Any]) -> dict[Sym, Any]:
        elab = self.elab
        pattern = elab.pattern(fn, self_ty)
        bound: dict[Sym, Any] = {pattern.symbols[name]: value for name, value in given.items()}
        for name, value in given.items():
            kind = elab.type_of_param(value)
            want = pattern.params.get(name)
            if kind is not None and want is not None:
                elab.unify(want, elab.settled_type(kind) if isinstance(want, Sym) else kind, bound)
        later: list[tuple[Any, Any, Any]] = []
        made: StructTy | None = None
        for formal, slot, want, origin in zip(fn.node.args, slots, pattern.args, pattern.origins, strict=True):
            if formal.convention == "out" and formal.name == "self" and formal.type is not None:
                if self_ty is not None and isinstance(want, (StructTy, PartialTy)):
                    self._unify_self(self_ty, want, bound)
                    made = want if isinstance(want, StructTy) else None
                continue
            if slot is None:
                continue
            if isinstance(slot, list):
                later += self._infer_star(formal, slot, want, bound)
                continue
            if self._is_literal(slot.value) and isinstance(want, (Sym, StructTy)):
                later.append((formal, slot, want))
                continue
            self._infer_one(slot, want, bound, formal)
            if isinstance(origin, Sym) and isinstance(slot.value, (LV, RV, KV, DisplayVal)):
                value = OriginValue("some", False)  # a display becomes a temporary
                if not isinstance(slot.value, DisplayVal):
                    value = self.origin_of(slot.value, isinstance(slot.value, LV) and self._may_change(slot.value))
                bound.setdefault(origin, elab.origin_constant(value))
                self._bind_mut(origin, self_ty, fn, value.mutable, bound)
        for formal, slot, want in later:
            if not isinstance(want, Sym):
                self._infer_one(slot, want, bound, formal)
                self._infer_materialized(slot, want, bound)
            elif bound.get(want) is None:
                self._infer_one(slot, want, bound, formal)
        if made is not None and self_ty is not None:  # `out self: S[U]`: what U is the struct's own parameter is
            for have, value in zip(self_ty.params, made.params, strict=True):
                if isinstance(have, Sym) and isinstance(value, Sym) and value in bound:
                    bound.setdefault(have, bound[value])
        return bound

    def _may_change(self, place: LV) -> bool:
        """May what points to an argument change it: a value that nobody else sees is lent to be read."""
        is_temporary = place.owned and place.local is not None and not place.local.name
        return place.mutable and (self.module.is_library or not is_temporary)

    def _infer_materialized(self, arg: Arg, want: StructTy, bound: dict[Sym, Any]) -> None:
        """Let a literal's run-time type say what nothing else has said."""
        have = self.elab.materialized(self.type_of(arg.value), False)
        trial = dict(bound)
        if want.symbolic and self.elab.unify(want, have, trial):
            bound.update(trial)

    def _bind_mut(
        self, origin: Sym, self_ty: StructTy | None, fn: FnInfo, mutable: bool, bound: dict[Sym, Any]
    ) -> None:
        params = fn.node.params if origin.owner == fn.uid else (self_ty.info.node.params if self_ty is not None else ())
        for param in params:
            if param.name == origin.name and param.type is not None:
                names = [p.name for p in params if p.kind == "infer"]
                text = getattr(
                    getattr(param.type, "args", [None])[0] if getattr(param.type, "args", None) else None, "id", ""
                )
                if text in names:
                    for sym in self._symbols(fn, self_ty):
                        if sym.name == text and sym.owner == origin.owner:
                            bound.setdefault(sym, self.elab.bool_constant(mutable))

    def _symbols(self, fn: FnInfo, self_ty: StructTy | None) -> list[Sym]:
        found = list(self.elab.pattern(fn, self_ty).symbols.values())
        if self_ty is not None:
            found += [p for p in self_ty.params if isinstance(p, Sym)]
        return found

    def _unify_self(self, self_ty: StructTy, want: Any, bound: dict[Sym, Any]) -> None:
        if isinstance(want, PartialTy):
            params: tuple[Any, ...] = want.params
            if want.info is not self_ty.info:
                raise Mismatch(Code.TYPE_MISMATCH, "another type is constructed", weight=0)
        elif want.info is self_ty.info:
            params = want.params
        else:
            raise Mismatch(Code.TYPE_MISMATCH, "another type is constructed", weight=0)
        for have, value in zip(self_ty.params, params, strict=True):
            if isinstance(have, Sym):
                if value is not None and not isinstance(value, (Sym, Opaque)):
                    bound.setdefault(have, value)
            elif (
                value is not None
                and not self.elab.unify(value, have, bound)
                and not self.elab._param_fits(value, have)
                and not self.elab._param_fits(have, value)
            ) or (is_static(have) and isinstance(value, KV) and not is_static(value)):
                raise Mismatch(Code.TYPE_MISMATCH, "another type is constructed", weight=0)

    def _is_literal(self, value: Any) -> bool:
        ty = getattr(value, "ty", None)
        return isinstance(ty, StructTy) and ty.info.materialized is not None

    def _infer_star(self, formal: Any, slot: list[Arg], want: Any, bound: dict[Sym, Any]) -> list[tuple[Any, Any, Any]]:
        """Infer from a variadic argument; returns the literals, which say something only where nothing else does."""
        if formal.splat:
            if isinstance(want, Sym):
                kinds: list[Any] = []
                for arg in slot:
                    if isinstance(arg.value, PackVal):
                        kinds += [v.ty for v in arg.value.items]
                    else:
                        kinds.append(self.elab.materialized(self.type_of(arg.value), True))
                bound[want] = PackPV(tuple(kinds))
            return []
        later: list[tuple[Any, Any, Any]] = []
        for arg in slot:
            parts = [Arg(v, arg.span) for v in arg.value.items] if isinstance(arg.value, PackVal) else [arg]
            for part in parts:
                if self._is_literal(part.value) and isinstance(want, (Sym, StructTy)):
                    later.append((formal, part, want))
                else:
                    self._infer_one(part, want, bound, formal)
        return later

    def _infer_one(self, arg: Arg, want: Any, bound: dict[Sym, Any], formal: Any) -> None:
        have = self.type_of(arg.value)
        if have is None:
            return
        if isinstance(want, Sym):
            have = self.elab.materialized(have, False)
        trial = dict(bound)
        if self.elab.unify(want, have, trial):
            bound.update(trial)
        elif isinstance(have, StructTy) and self._leaves_open(want):
            # what fits may still tell something; the conversion is checked later
            if want.info is have.info:
                bound.update(trial)
            else:
                self._infer_through_conversion(have, want, bound, arg.value)

    def _leaves_open(self, want: Any) -> bool:
        """Say whether a declared type is a struct some of whose parameters are still to be found."""
        if isinstance(want, PartialTy):
            return any(isinstance(value, Sym) or getattr(value, "symbolic", False) for value in want.params)
        return isinstance(want, StructTy) and want.symbolic

    def _infer_through_conversion(
        self, have: StructTy, want: StructTy | PartialTy, bound: dict[Sym, Any], value: Any
    ) -> None:
        if self.inferring:
            return
        open_ty = self.elab.struct(
            want.info,
            tuple(
                base if own is None or isinstance(own, (Sym, Opaque)) or getattr(own, "symbolic", False) else own
                for own, base in zip(want.params, self.elab.symbolic_struct(want.info).params, strict=True)
            ),
        )
        inits = self.elab.method_set(open_ty, "__init__")
        if inits is None:
            return
        arg = Arg(value if isinstance(value, LV) else RV(have, None), self.span)  # type: ignore[arg-type]
        if have.info.materialized is not None:
            arg = Arg(KV(have, ()), self.span)  # type: ignore[arg-type]
        self.inferring = True
        try:
            found = self.choose(inits, open_ty, (), (), [arg], [], self.span, implicit_only=True, quiet=True)  # type: ignore[arg-type]
        except Abort:
            return
        finally:
            self.inferring = False
        if found is not None and found.instance.self_ty is not None:
            self.elab.unify(want, found.instance.self_ty, bound)

    def type_of(self, value: Any) -> Any:
        if isinstance(value, (RV, LV, KV, DisplayVal)):
            return value.ty
        if isinstance(value, FnVal):
            return self.elab.fn_type_of(value)
        return None

    def _concrete_self(self, self_ty: StructTy, bound: dict[Sym, Any]) -> StructTy:
        info = self_ty.info
        values: dict[str, Any] = {}
        for param, own in zip(info.node.params, self_ty.params, strict=True):
            value = bound.get(own) if isinstance(own, Sym) else own
            if value is not None and not isinstance(value, (Sym, Opaque)):
                values[param.name] = value
        scope = Scope(info.scope, "function")
        values = self.elab.settle(info.node.params, values, scope, info.module, f"'{info.name}'")
        return self.elab.struct(info, tuple(values[p.name] for p in info.node.params))

    def _actual_types(self, fn: FnInfo, slots: list[Any]) -> list[Any]:
        """Return the types of the arguments, for declared types that leave something open."""
        found: list[Any] = []
        for slot in slots:
            if isinstance(slot, Arg):
                found.append(self.type_of(slot.value))
            elif isinstance(slot, list):
                kinds: list[Any] = []
                for arg in slot:
                    if isinstance(arg.value, PackVal):
                        kinds += [v.ty for v in arg.value.items]
                    else:
                        kinds.append(self.type_of(arg.value))
                found.append(kinds)
            else:
                found.append(None)
        return found
