"""Closures as values that outlive the function around them: what has a type `fn(...) escaping -> T`.

In: a nested function that captures by value, and the type that is wanted. Out: the address of a block on the heap, as
the library's `builtin._closure` describes it: {owners, destroyer, code, environment}, then the environments of other
closures that it uses, then what all of them captured. Copies of the value share the block; the last one destroys it.
"""

import hashlib
from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.expressions.collection_literals import Displays
from ktc.elaborate.instances.instance_table import Instance
from ktc.elaborate.model.declarations import FnInfo, Var
from ktc.elaborate.model.values import LV, FnTy, FnVal, Ty
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value

_DESTROY, _CODE, _ENVIRONMENT = 1, 2, 3
_HEAD = (types.I64, types.PTR, types.PTR)
_ANY = types.StructType((*_HEAD, types.ArrayType(types.PTR, 1)))
"""A block, as far as a call must know it."""


class KeptClosures(Displays):
    """The part of a body that makes closures of their own."""

    def environment_place(self, var: Var) -> LV:
        """Return the place of a variable that a closure captures (in `Closures`)."""
        raise NotImplementedError

    def bridge(self, instance: Instance, want: FnTy) -> str:
        """Return a function that has the convention of a type and calls another (in `FunctionValues`)."""
        raise NotImplementedError

    def keep_closure(self, fn: FnVal, instance: Instance, want: FnTy, span: Span | None) -> LV:
        """Move or copy what a function captured to the heap, and return the closure."""
        where = span or self.span or self.elab.main_span()
        own = fn.set.functions[0]
        if any(env.set.functions[0] is not own for env in instance.envs):
            self.fail(Code.UNSUPPORTED, f"'{own.name}' is given other closures, so it cannot be kept", span)
        layout: list[tuple[FnInfo, list[tuple[Any, int]]]] = []
        held: list[tuple[LV, Ty]] = []
        if instance.envs:
            instance.envs[0].env.captures_anything(instance.envs[0])
            self._lay_out(own, layout, held, where)
        # a function that captures nothing has an environment that nobody reads
        arrays = [types.ArrayType(types.PTR, max(1, len(slots))) for _, slots in layout or ((own, ()),)]
        kind = types.StructType((*_HEAD, *arrays, *(self.elab.ir(ty) for _, ty in held)))
        made = self._allocate(want, kind, where)
        block = self.let(nodes.Load(made.pointer, types.PTR), types.PTR)
        first = _ENVIRONMENT + len(arrays)
        self._put(block, kind, _DESTROY, self._destroyer(kind, [ty for _, ty in held], first))
        direct = bool(instance.envs) and instance.signature.raises == want.raises
        self._put(block, kind, _CODE, instance.symbol if direct else self.bridge(instance, want))
        if direct:
            self.refs.add(instance.symbol)
        for at, (place, ty) in enumerate(held):
            self.init_place(ty, _field(block, kind, first + at), place, where)
        for at, (one, slots) in enumerate(layout):
            # made in the frame as for any call, so that the passes know of it
            made_here = nodes.Local(self.fresh(), arrays[at], "env", span=where, environment_of=one.closure)
            self.hoisted.append(nodes.Declare(made_here))
            for i, (item, number) in enumerate(slots):
                target = _field(block, kind, (first if isinstance(item, Var) else _ENVIRONMENT) + number)
                slot = ops.build("offset", (nodes.LocalAddress(made_here), nodes.Const(types.I64, i)), None, types.PTR)
                self.emit(nodes.Store(slot, target, span=where))
            size = nodes.Const(types.I64, types.size_of(arrays[at]))
            origin = nodes.LocalAddress(made_here)
            self.emit(nodes.MemCopy(_field(block, kind, _ENVIRONMENT + at), origin, size, 8, span=where))
        self.mark("init", made)
        return made

    def _lay_out(self, fn: FnInfo, layout: list[Any], held: list[tuple[LV, Ty]], span: Span) -> int:
        """Number the environments and the values that a function needs, each once; return its environment's number."""
        known = next((at for at, (one, _) in enumerate(layout) if one is fn), -1)
        if known >= 0:
            return known
        slots: list[tuple[Any, int]] = []
        layout.append((fn, slots))
        number = len(layout) - 1
        for item in list(fn.parent.captures_of(fn)):
            if isinstance(item, FnInfo):
                slots.append((item, self._lay_out(item, layout, held, span)))
                continue
            if not self.is_by_value(item, fn):
                text = f"'{fn.name}' uses '{item.name}' by reference, so it cannot be kept as a value"
                self.fail(Code.ESCAPING_REFERENCE, text, span, "let it capture by value: 'unified {var ...}', or none")
            if any(origin.kind in ("local", "some") for origin in self.elab.origins(item.ty)):
                text = f"'{fn.name}' captures '{item.name}', which points into other variables"
                self.fail(Code.ESCAPING_REFERENCE, text, span, "capture what it points to")
            slots.append((item, len(held)))
            held.append((self._captured_place(fn, item, span), item.ty))
        return number

    def _captured_place(self, fn: FnInfo, var: Var, span: Span) -> LV:
        """Return where a variable lies that a function captured: here, or in the environment that came with it."""
        environment = self.env_args.get(fn)
        if var.body is self or environment is None:
            if var.body is not self and self.env_value is None:
                self.fail(Code.UNSUPPORTED, f"the closure '{fn.name}' cannot be kept here", span)
            return self.environment_place(var)
        number = fn.parent.captures_of(fn).index(var)
        slot = ops.build("offset", (environment, nodes.Const(types.I64, number)), None, types.PTR)
        return LV(var.ty, self.let(nodes.Load(slot, types.PTR), types.PTR), False, why="captured")

    def is_by_value(self, var: Var, fn: FnInfo) -> bool:
        """Does a nested function have a copy of a variable around it (in `Closures`)."""
        raise NotImplementedError

    def _allocate(self, want: FnTy, kind: types.Type, span: Span) -> LV:
        symbol = self.library_symbol("__ktc_new_closure__")
        made = self.temporary(want)
        size = nodes.Const(types.I64, types.size_of(kind))
        block = self.let(nodes.Call(symbol, (size,), types.PTR), types.PTR)
        self.emit(nodes.Store(made.pointer, block, span=span))
        return made

    def _put(self, block: Value, kind: types.StructType, field: int, symbol: str) -> None:
        self.refs.add(symbol)
        self.emit(nodes.Store(_field(block, kind, field), nodes.Const(types.PTR, nodes.Address(symbol))))

    def _destroyer(self, kind: types.StructType, held: list[Ty], first: int) -> str:
        """Return the symbol of the function that destroys what a closure keeps."""
        key = "\n".join((str(kind), *(self.elab.key_text(self.elab.canonical(ty)) for ty in held)))
        symbol = f"closure_drop${hashlib.sha256(key.encode()).hexdigest()[:12]}"
        if symbol in self.state.extra:
            return symbol
        body = self.elab.new_body(self.module, self.scope, None)
        block = nodes.Argument(0, types.PTR)
        for at, ty in enumerate(held):
            body.destroy_place(ty, _field(block, kind, first + at), None)
        body.emit(nodes.Return())
        params = (("closure", types.PTR),)
        made = nodes.Function(symbol, "destructor of a closure", params, types.VOID, body.finish())
        self.state.extra[symbol] = (made, body.refs)
        return symbol


def code_and_environment(body: Any, callee: LV) -> tuple[Value, Value]:
    """Return what a call of a closure needs."""
    block = body.let(nodes.Load(callee.pointer, types.PTR), types.PTR)
    code = body.let(nodes.Load(_field(block, _ANY, _CODE), types.PTR), types.PTR)
    return code, _field(block, _ANY, _ENVIRONMENT)


def _field(block: Value, kind: types.StructType, number: int) -> Value:
    return ops.build("field", (block,), None, (kind, number))
