"""Conversions: a value where another type is wanted."""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.calls.argument_passing import Passing
from ktc.elaborate.calls.parameter_inference import Candidate
from ktc.elaborate.model.declarations import FnSet
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    DisplayVal,
    FnTy,
    FnVal,
    Method,
    PackVal,
    StructTy,
    TraitTy,
    Ty,
)  # fmt: skip
from ktc.elaborate.resolve.suggestions import conversion_help
from ktc.ir import nodes, types
from ktc.ir.nodes import Value
from ktc.records import replace


class Conversions(Passing):
    """The part of a body that converts values."""

    def emit_call(self, found: Candidate, span: Span) -> Any:
        """Emit the call of a chosen candidate (in `Calls`)."""
        raise NotImplementedError

    def construct(self, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Make a value of a struct by its constructors (in `Calls`)."""
        raise NotImplementedError

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

    def convert(self, value: Any, want: Ty | None, span: Span, convention: str = "read") -> Any:
        """Return a value converted implicitly to a type; an error if it cannot be."""
        kind = type(value)
        if (kind is RV or kind is LV or kind is KV) and value.ty is want:
            return value
        if want is None or isinstance(want, TraitTy) or isinstance(value, PackVal):
            return self.build_display(value, None) if isinstance(value, DisplayVal) else value
        if isinstance(value, DisplayVal):
            value = self.build_display(value, want)
        made = self.try_convert(value, want, span)
        if made is None:
            if isinstance(value, FnVal):
                text = f"'{value.set.name}', a '{value.described()}', is no '{self.elab.type_name(want)}'"
                self.fail(Code.TYPE_MISMATCH, text, span)
            if isinstance(value, Method):
                self.fail_no_value(value, span)
            if not isinstance(value, (RV, LV, KV)):
                self.fail(Code.TYPE_MISMATCH, f"a value of type '{self.elab.type_name(want)}' is wanted here", span)
            have, wanted = self.elab.type_name(value.ty), self.elab.type_name(want)
            text = f"'{have}' does not convert to '{wanted}'"
            self.fail(Code.TYPE_MISMATCH, text, span, conversion_help(have, wanted))
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

    def function_value(self, fn: FnVal, want: FnTy, span: Span | None) -> RV | LV | None:
        """Return the address of a function (in `FunctionValues`)."""
        raise NotImplementedError

    def call_value(self, callee: RV | LV | KV, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Call a function that is known only at run time (in `FunctionValues`)."""
        raise NotImplementedError

    def _through_init(self, value: Any, have: Ty, want: StructTy, span: Span | None) -> Any:
        where = span or self.span or self.elab.main_span()
        outer, self.span = self.span, where  # what the constructor finds wrong is wrong here
        found = self.implicit_init(have, want)
        self.span = outer
        if found is None:
            return self.construct(want, [Arg(value, where)], [], where) if self.through_only_field(have, want) else None
        given = Arg(value, where)
        slots = [given if isinstance(slot, Arg) else [given] if slot else slot for slot in found.slots]
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
