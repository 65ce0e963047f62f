"""Places: values in memory, how they are copied, moved, taken and destroyed."""

from typing import Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.function_builder import BodyBase, zero_of
from ktc.elaborate.builder.materialization import check_materialized, renewed
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.declarations import Var
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    FnTy,
    FnVal,
    Method,
    Opaque,
    OriginValue,
    PackPV,
    PackVal,
    StructTy,
    Sym,
    Ty,
    Val,
)  # fmt: skip
from ktc.elaborate.tree.argument_uses import replaced
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast


class Places(BodyBase):
    """The part of a body that works on memory."""

    def field(self, base: LV, name: str) -> LV:
        """Return the place of a field."""
        assert isinstance(base.ty, StructTy)
        number, slot = self.elab.slot(base.ty, name)
        ty = self.elab.fields(base.ty)[number][1]
        pointer = base.pointer
        kept = base.local is not None and bool(base.local.drop or base.local.field_drops)
        kept = kept and not (base.path and self.module.is_library)
        if slot == 0 and (kept or (base.local is None and not self.module.is_library)):
            # the same address, but of this field alone: which fields a statement uses decides when they die, and
            # which of them the arguments of a call are
            pointer = nodes.Op("field", (pointer,), pointer.type, (self.elab.ir(base.ty), 0))
        elif slot >= 0:
            pointer = ops.build("field", (pointer,), None, (self.elab.ir(base.ty), slot))
        path = (*base.path, max(slot, 0))
        if base.local is not None:
            base.local.is_shared = True
        made = LV(ty, pointer, base.mutable, base.local, path, False, base.why, base.loans)
        if base.via:
            made.via = tuple((root, None if way is None else (*way, path[-1])) for root, way in base.via)
        return made

    def field_value(self, val: RV | KV, name: str) -> Val:
        """Return a field of a value that is not in memory."""
        assert isinstance(val.ty, StructTy)
        number, slot = self.elab.slot(val.ty, name)
        ty = self.elab.fields(val.ty)[number][1]
        if isinstance(val, KV):
            if slot == -2 or isinstance(val.data, OriginValue):  # which takes no memory
                return KV(ty, val.data)
            return KV(ty, val.data[slot] if slot >= 0 else zero_of(self.elab.ir(ty)))
        if slot == -2:
            return RV(ty, val.ir, val.why, loans=val.loans)
        if slot == -1:
            kind = self.elab.ir(ty)
            return RV(ty, nodes.Const(kind, zero_of(kind)))
        return RV(ty, ops.build("get", (val.ir,), None, slot), val.why, loans=val.loans)

    def store_bits(self, pointer: Value, val: Val) -> None:
        """Write a value's bytes to memory."""
        kind = self.elab.ir(val.ty)
        size = types.size_of(kind)
        if size == 0:
            return
        if self.elab.abi(val.ty) == "direct":
            self.emit(nodes.Store(pointer, self.rvalue(val), span=self.span))
        else:
            origin = self.place(val).pointer
            count = nodes.Const(types.I64, size)
            self.emit(nodes.MemCopy(pointer, origin, count, types.align_of(kind), span=self.span))

    def init_place(self, ty: Ty, pointer: Value, val: Val, span: Span | None, passed: bool = False) -> None:
        """Construct `val` in memory that holds no value: moved if it may be, else copied. `passed`: the memory is there
        only to pass the value on, so that moving it is nothing that a program can see."""
        if self.elab.is_trivial(ty):
            self.check_copy(val, span)
            is_struct = isinstance(ty, StructTy) and not ty.info.register_passable
            if is_struct and isinstance(val, LV) and val.owned and val.local in self.late_locals and not passed:
                self.check_movable(ty, span)
            self.store_bits(pointer, val)
            if isinstance(val, LV) and val.owned and val.local in self.late_locals:
                self.mark("consume", val, span)
            return
        if isinstance(val, KV) and isinstance(ty, StructTy):
            check_materialized(self, val)
            val, passed = renewed(self, val), True
        if isinstance(val, LV) and val.owned:
            named = val.local is not None and val.local.name and val.local not in self.awaited and not passed
            if named:
                self.check_movable(ty, span)
            self.move_bits(ty, pointer, val)
            return
        place = self.place(val)
        local = place.local
        if local is None or not local.name or not self._may_move(ty) or not self._may_end(local, place):
            self.copy_to(ty, pointer, place, span)
            return
        # a copy of what nobody uses any more becomes a move
        self.open()
        owned = LV(ty, place.pointer, True, local, place.path, True)
        self.move_bits(ty, pointer, owned, passed and not place.path)  # what is taken out of a field is moved
        instead = renamed = self.close()
        if not place.path and not passed and not local.kept and not self.elab.moves_plainly(ty):
            self.open()
            self.move_bits(ty, pointer, owned, True)
            renamed = self.close()
        self.open()
        self.copy_to(ty, pointer, place, span)
        copy = self.close()
        self.emit(nodes.Mark("copy", local, place.path, span, instead, renamed))
        self.emit(nodes.Block(self.fresh(), copy))

    def _may_end(self, local: nodes.Local, place: LV) -> bool:
        """May it be of interest whether a place is used after it was copied: of a field only if the function gives it
        another value, else it ends with the whole."""
        if not place.path:
            return bool(local.drop)
        ty = self.local_types.get(local)
        if place.via or self.module.is_library or self.instance is None or not isinstance(ty, StructTy):
            return False
        given = replaced(self.instance.fn)
        first = [name for name, _ in self.elab.fields(ty) if max(self.elab.slot(ty, name)[1], 0) == place.path[0]]
        return any(f"{local.name}.{name}" in given for name in first) and self.taken_apart(local, place.path)

    def mark_copied(self, place: LV, value: Val) -> None:
        """Note that what follows copies a value to a local, or to a field of one: if nobody looks at it, nothing is
        copied. The next `init` mark of the place is the end."""
        is_copy = isinstance(value, LV) and not value.owned and not self.module.is_library and not self.comptime
        if is_copy and place.local is not None and place.local.name and not self.elab.is_trivial(value.ty):
            self.mark("copied", place)

    def check_movable(self, ty: Ty, span: Span | None) -> None:
        """Report that a value would have to be moved whose type does not allow it."""
        if not self.module.is_library and not self._may_move(ty):
            text = f"a value of type '{self.elab.type_name(ty)}' can be neither copied nor moved"
            self.fail(Code.NOT_COPYABLE, text, span, "let the struct conform to 'Movable'")

    def init_moved(self, ty: Ty, pointer: Value, val: Val, span: Span | None) -> None:
        """Construct as `init_place`; a temporary has its own place first, and `__moveinit__` is called."""
        if isinstance(val, LV) and val.owned and not self.elab.moves_plainly(ty):
            self._move_parts(ty, pointer, val)
            self.mark("consume", val, self.span)
        else:
            self.init_place(ty, pointer, val, span)

    def _may_move(self, ty: Ty) -> bool:
        return self.elab.has_trait(ty, "Movable") or self.elab.method_set(ty, "__moveinit__") is not None

    def move_bits(self, ty: Ty, pointer: Value, val: LV, passed: bool = False) -> None:
        """Move an owned value to other memory; its old place holds none then."""
        # a temporary is made in its final place, as far as a program can see
        temporary = val.local is not None and not val.local.name and not val.path
        made_here = val.local in self.awaited and not self._may_move(ty)
        if passed or temporary or made_here or self.elab.moves_plainly(ty):
            kind = self.elab.ir(ty)
            size = nodes.Const(types.I64, types.size_of(kind))
            self.emit(nodes.MemCopy(pointer, val.pointer, size, types.align_of(kind), span=self.span))
        else:
            self._move_parts(ty, pointer, val)
        self.mark("consume", val, self.span)

    def _move_parts(self, ty: Ty, pointer: Value, val: LV) -> None:
        init = self.elab.method_set(ty, "__moveinit__")
        if init is not None:
            self.call_init(ty, init, pointer, val)
        elif self.elab.moves_plainly(ty):
            self.store_bits(pointer, LV(ty, val.pointer))
        else:
            assert isinstance(ty, StructTy)
            source, target = LV(ty, val.pointer), LV(ty, pointer)
            for name, kind in self.elab.fields(ty):
                self._move_parts(kind, self.field(target, name).pointer, self.field(source, name))

    def copy_to(self, ty: Ty, pointer: Value, val: LV, span: Span | None, explicit: bool = False) -> None:
        """Copy a value to memory that holds none."""
        if not explicit and not self.elab.is_copied_implicitly(ty):
            self._not_copyable(ty, span)
        init = self.elab.method_set(ty, "__copyinit__")
        if init is not None:
            self.call_init(ty, init, pointer, LV(ty, val.pointer, False, val.local, val.path))
        elif self.elab.is_trivial(ty):
            self.store_bits(pointer, val)
        elif not isinstance(ty, StructTy):
            closure = self.let(nodes.Load(val.pointer, types.PTR), types.PTR)
            self.let(nodes.Call(self.library_symbol("__ktc_share_closure__"), (closure,), types.VOID), types.VOID)
            self.emit(nodes.Store(pointer, closure, span=span))
        else:
            target = LV(ty, pointer)
            for name, kind in self.elab.fields(ty):
                self.copy_to(kind, self.field(target, name).pointer, self.field(val, name), span, True)

    def comprehension(self, node: ast.Comprehension) -> Any:
        """Elaborate a comprehension (in `Statements`)."""
        raise NotImplementedError

    def environment(self, env: FnVal, span: Span) -> Value:
        """Return the address of the environment of a closure (in `KernelBody`)."""
        raise NotImplementedError

    def call_init(self, ty: Ty, init: Any, pointer: Value, val: LV) -> None:
        """Run a `__copyinit__` or `__moveinit__` (in `Calls`)."""
        raise NotImplementedError

    def promised(self, value: Any, name: str, node: Any) -> None:
        """Report a member that the bound of a type parameter does not promise, where a value is of an archetype."""
        ty = getattr(value, "ty", None)
        if isinstance(ty, StructTy) and ty.info.bound is not None and name not in ty.info.members:
            start = getattr(node, "name_start", node.start)
            span = Span(self.module.source, start, max(node.end, start + 1))
            self.elab.beyond_bound(ty, name, span, self.instance)

    def _not_copyable(self, ty: Ty, span: Span | None) -> NoReturn:
        name = self.elab.type_name(ty)
        help_text = "move it with '^'"
        if self.elab.has_trait(ty, "Copyable"):
            help_text += ", or copy it with '.copy()'"
        self.fail(Code.NOT_COPYABLE, f"a value of type '{name}' cannot be copied implicitly", span, help_text)

    def check_copy(self, val: Val, span: Span | None) -> None:
        """Report that a value would have to be copied whose type does not do so by itself."""
        is_kept = isinstance(val, LV) and not val.owned
        is_kept = is_kept or (isinstance(val, RV) and val.read_only and not self.module.is_library)
        if is_kept and not self.elab.is_copied_implicitly(val.ty):
            self._not_copyable(val.ty, span)

    def take_place(self, ty: Ty, pointer: Value, span: Span | None) -> Val:
        """Move a value out of memory."""
        if self.elab.abi(ty) != "memory":
            return self.load_place(LV(ty, pointer))
        made = self.temporary(ty)
        if self.elab.is_trivial(ty):
            self.store_bits(made.pointer, LV(ty, pointer))
        else:
            self.move_bits(ty, made.pointer, LV(ty, pointer, owned=True))
        self.mark("init", made)
        return made

    def load_place(self, place: LV) -> Val:
        """Return a directly passed value as a value, others as they are."""
        if self.elab.abi(place.ty) == "memory":
            return place
        return RV(place.ty, self.rvalue(place), loans=self.loans_of(place))

    def destroy_place(self, ty: Ty, pointer: Value, span: Span | None) -> None:
        """Run the destructor of a value in memory."""
        symbol = self.drop_symbol(ty)
        if symbol:
            self.let(nodes.Call(symbol, (pointer,), types.VOID), types.VOID)

    def param(self, value: Any, span: Span | None) -> Any:
        """Turn what an expression gave into a parameter value; runs the interpreter where folding did not suffice."""
        if type(value) is KV or type(value) is StructTy:
            return value
        if isinstance(value, (Sym, Opaque)):
            raise Symbolic
        if isinstance(value, Method):
            if value.base is None:
                return value.fn
            self.fail(Code.NOT_COMPILE_TIME, "a bound method cannot be a parameter value", span)
        if isinstance(value, PackVal):
            return PackPV(tuple(self.param(item, span) for item in value.items))
        if isinstance(value, Var):
            value = value.value
        if isinstance(value, RV) and isinstance(value.ir, nodes.Const):
            return KV(value.ty, value.ir.value)
        if isinstance(value, LV) and isinstance(value.ty, FnTy):
            self.fail(Code.NOT_COMPILE_TIME, "this function is known only at run time", span)
        if isinstance(value, (RV, LV)):
            if not self.comptime:
                self.fail(
                    Code.NOT_COMPILE_TIME, "this value is known only at run time, and a parameter is needed", span
                )
            if types.size_of(self.elab.ir(value.ty)) == 0:
                return KV(value.ty, zero_of(self.elab.ir(value.ty)))
            where = span or self.span or self.elab.main_span()
            return self.elab.run(self, value, where)
        return value
