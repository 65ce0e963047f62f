"""Calls: of functions and of types, and the expansion of "builtin" functions in place.

In: the callee and the arguments. Out: the value of the call; `Matching` chooses the function, `Passing` emits the call.
"""

from collections.abc import Sequence
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.function_builder import UNIT_CONST, zero_of
from ktc.elaborate.calls.conversions import Conversions
from ktc.elaborate.calls.default_arguments import default_value
from ktc.elaborate.calls.parameter_inference import Candidate
from ktc.elaborate.calls.writeback import lend_all, put_back
from ktc.elaborate.instances.instance_table import ArgSig, Instance
from ktc.elaborate.instances.reference_mutability import seen_result
from ktc.elaborate.model.declarations import Scope, Var
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
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
from ktc.elaborate.ownership.access_paths import note_place
from ktc.elaborate.ownership.exclusivity import check_call
from ktc.elaborate.ownership.reference_escapes import check_kept
from ktc.elaborate.types.function_types import NAMELESS
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast

MANY_ITEMS = 32
"""So many constants that are passed as `*values` lie in one constant array; fewer are better seen by LLVM."""


class Calls(Conversions):
    """The part of a body that emits calls."""

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
                if self.comptime and callee.info is self.elab.list_info() and pos and not kw and not callee.symbolic:
                    made = self._constants(pos, callee.params[0])
                    if made is not None:
                        return self._list_of(made)
                return self.construct(callee, pos, kw, span)
            case PartialTy(info, params):
                if len(pos) == 1 and isinstance(pos[0].value, (PackPV, PackVal)) and info is self.elab.list_info():
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
            case TraitTy():
                name = self.elab.type_name(callee)
                help = "call a struct that conforms to it"
                self.fail(Code.NOT_CALLABLE, f"'{name}' is a trait, which no value can be made of", span, help)
            case _:
                self.fail(Code.NOT_CALLABLE, "this cannot be called", span)

    def call_fn(self, fn: FnVal, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False) -> Any:
        """Call a function with the parameters that it was given."""
        found = self.chosen(fn, pos, kw, span, receiver)
        assert found is not None
        return self.emit_call(found, span)

    def construct(self, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        """Make a value of a struct by its constructors."""
        inits = self.elab.method_set(ty, "__init__")
        if ty.info.fieldwise and (inits is None or ty.info.members.get("__init__") is None):
            return self._fieldwise(ty, pos, kw, span)
        if inits is None:
            if len(pos) == 1 and not kw and getattr(pos[0].value, "ty", None) is ty:
                return pos[0].value
            self.promised(KV(ty, ()), "__init__", ast.Pass(span.start, span.end))
            help = "write '@fieldwise_init' above the struct, or give it an '__init__'"
            self.fail(Code.NOT_CALLABLE, f"'{ty.info.name}' has no constructor", span, help)
        if ty.info.fieldwise and not ty.symbolic:
            found = self.chosen(FnVal(inits, (), (), ty), pos, kw, span, quiet=True)
            if found is None:
                return self._fieldwise(ty, pos, kw, span)
            return self.emit_call(found, span)
        found = self.chosen(FnVal(inits, (), (), ty), pos, kw, span)
        assert found is not None
        return self.emit_call(found, span)

    def _fieldwise(self, ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Any:
        names = [n.target.id for n in ty.info.field_nodes]  # type: ignore[union-attr]
        given: dict[str, Arg] = {}
        if len(names) < sum(isinstance(node, ast.VarDecl) for node in ty.info.node.body):
            raise Abort  # a field of a name that another one has was reported
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
        fields, loans = self.elab.fields(ty), self._loans_of_all([arg.value for arg in given.values()])
        values = {name: self.convert(given[name].value, kind, given[name].span) for name, kind in fields}
        if self.elab.abi(ty) != "memory":
            parts = {name: self.rvalue(value) for name, value in values.items()}
            return RV(ty, self.build_struct(ty, parts), loans=loans)
        for name, kind in fields:  # as for a call's arguments: all are made before one is moved
            if not (self.module.is_library or self.elab.is_trivial(kind)):
                values[name] = self.own(values[name], given[name].span, True)
        made = self.temporary(ty, "", loans)
        for name, kind in fields:
            self.init_moved(kind, self.field(made, name).pointer, values[name], given[name].span)
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

    def emit_call(self, found: Candidate, span: Span) -> Any:
        """Emit the call of a chosen candidate."""
        outer, self.span = self.span, span if self.span is None or not self.module.is_library else self.span
        try:
            values = self._values(found, span)
            instance = found.instance
            if not self.module.is_library:
                if instance.fn.deprecated:
                    self.elab.warn_deprecated(instance.fn, span)
                after = lend_all(self, instance.signature.args, values)
                check_kept(self, found)
                check_call(self, instance, values, found.slots)
                if after:
                    made = self._emit(instance, values, span)
                    put_back(self, after)
                    return made
            if instance.fn.inline != "builtin":
                made = self._emit(instance, values, span)
            else:
                made = self.expand(instance, values, span)
                if not self.module.is_library:
                    note_place(self, made, instance.signature, values)
                behind = isinstance(made, LV) and made.local is None and not self.module.is_library
                if isinstance(made, (RV, LV)) and made.loans is None and (behind or self.elab.origins(made.ty)):
                    made.loans = self.loans_of_call(instance.signature, values)
            if not self.module.is_library and isinstance(made, (RV, LV)) and made.ty is instance.signature.result_ty:
                made.ty = seen_result(self.elab, instance.signature, values)
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
                values.append(default_value(self, found.instance, sig, span))
            elif isinstance(slot, list):
                if not found.instance.rest_spans:
                    found.instance.rest_spans = tuple(arg.span for arg in slot)
                values.append(self._star(sig, slot, span, found.instance.fn.module.is_library))
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

    def _constants(self, args: list[Arg], want: Any) -> PackVal | None:
        items = [self.elab.convert_constant(arg.value, want) for arg in args if isinstance(arg.value, KV)]
        found = tuple(item for item in items if item is not None)
        return PackVal(found) if len(found) == len(args) else None

    def _list_of(self, pack: PackPV | PackVal) -> Any:
        """Return the values of a variadic parameter as a list; of types and functions it has only the length."""
        items: list[Any] = list(pack.items)
        empty = getattr(pack, "kind", None)
        kind: Any = empty if isinstance(empty, (StructTy, FnTy)) else self.elab.library_type("NoneType")
        start: Value | None = nodes.Const(types.PTR, 0)
        if items and (isinstance(pack, PackVal) or all(isinstance(item, KV) for item in items)):
            items = [self.materialize(item) for item in items]
            kind, start = items[0].ty, None
            if self.comptime and all(isinstance(item, KV) for item in items):
                start = self.constant_places(items)  # the list may become a constant, and outlive this evaluation
        sig = ArgSig("", kind, "read", "star", NAMELESS, "memory", "list")
        if start is not None:
            return self.variadic_value(sig, [start, nodes.Const(types.I64, len(items))])
        return self.pack_value(sig, PackVal(tuple(self.place(item) for item in items)))

    def evaluate_in(self, node: Any, scope: Scope, module: Any, expected: Ty | None) -> Any:
        """Elaborate an expression of another scope here."""
        outer = self.scope, self.module
        self.scope, self.module = scope, module
        try:
            return self.expr(node, expected)  # type: ignore[attr-defined]
        finally:
            self.scope, self.module = outer

    def _star(self, sig: ArgSig, slot: list[Arg], span: Span, library: bool) -> Any:
        """Gather variadic arguments: the addresses of the values in an array or a pack.

        Args:
            library: the callee is the library's, which changes no trivial value that it is given.
        """
        items: list[Any] = []
        for arg in slot:
            items += [Arg(v, arg.span) for v in arg.value.items] if isinstance(arg.value, PackVal) else [arg]
        if sig.variadic == "pack":
            values = [self.convert(a.value, kind, a.span) for a, kind in zip(items, sig.pack, strict=True)]
        else:
            values = [self.convert(a.value, sig.ty, a.span) for a in items]
            if len(values) >= MANY_ITEMS and (sig.convention == "read" or library) and self.elab.is_trivial(sig.ty):
                constants = self.constant_items(sig.ty, values)
                if constants is not None:
                    return PackVal(tuple(constants))
        owned = sig.convention in ("var", "owned")
        places = []
        for value, arg in zip(values, items, strict=True):
            if sig.convention == "mut" and not (isinstance(value, LV) and value.mutable and not value.owned):
                self.fail(Code.IMMUTABLE, f"'*{sig.name}' changes its arguments, and this one cannot be", arg.span)
            shown = self.unchanged_place if sig.convention == "read" else self.place
            places.append(self.own(value, arg.span) if owned else shown(value))
        return PackVal(tuple(places))

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
        ty = self.elab.list_type(sig.ty, sig.convention == "mut")
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
        return RV(signature.result_ty, nodes.Const(kind, zero_of(kind)))

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
