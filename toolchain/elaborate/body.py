"""The building of one body: statements, temporaries, locals, and the handling of values.

A `Body` elaborates one function of one instance, or one expression at compile time. This file holds what has nothing
to do with syntax: emitting IR, loading, storing, copying, moving and destroying values.
"""

import hashlib
from typing import TYPE_CHECKING, Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.instances import Instance, Symbolic, UnitState
from ktc.elaborate.scope import ModuleInfo, Scope, Var
from ktc.elaborate.values import (
    KV,
    LV,
    RV,
    FnTy,
    FnVal,
    Method,
    ModuleVal,
    Opaque,
    OriginValue,
    PackPV,
    PackVal,
    PartialTy,
    StructTy,
    Sym,
    Ty,
    Val,
)  # fmt: skip
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast
from ktc.targets.target import Target

if TYPE_CHECKING:
    from ktc.elaborate.elaborator import Elaborator

UNIT_CONST = nodes.Const(types.UNIT, ())


class BodyBase:
    """What all parts of a body share."""

    def __init__(self, elab: "Elaborator", module: ModuleInfo, scope: Scope, instance: Instance | None) -> None:
        self.elab = elab
        self.module = module
        self.scope = scope
        self.instance = self.home = instance  # `home` stays where an expansion changes `instance`
        self.state: UnitState = elab.state
        self.statements: list[nodes.Statement] = []
        self.blocks: list[list[nodes.Statement]] = []
        self.hoisted: list[nodes.Statement] = []
        self.refs: set[str] = set()
        self.next_id = 0
        self.lends = False
        self.dead = False
        self.comptime = True
        self.span: Span | None = None
        self.loops: list[tuple[int, bool]] = []
        self.handlers: list[tuple[int, nodes.Local]] = []
        self.handler_depths: list[int] = []
        self.finals: list[Any] = []
        self.error_argument: Value | None = None
        self.result_pointer: Value | None = None
        self.env_args: dict[Any, Value] = {}
        self.env_value: Value | None = None
        self.builtin_self: dict[str, Any] | None = None
        self.inline_result: list[Any] | None = None
        self.used_labels: set[int] = set()
        self.assigned: set[str] = set()
        self.leaving: Span | None = None
        self.out_var: Var | None = None
        self.env_locals: dict[Any, nodes.Local] = {}
        self.function_scope = scope
        self.inferring = False
        self.late_locals: set[nodes.Local] = set()
        self.local_types: dict[nodes.Local, Ty] = {}
        self.closures: dict[Any, list[Any]] = {}
        self.trusted: set[nodes.Local] = set()
        self.current_error: list[LV] = []

    # ---- places in the source ----

    @property
    def target(self) -> Target:
        """The target that is being elaborated."""
        return self.state.target

    def at(self, node: Any) -> Span:
        """Return the span of a node."""
        return Span(self.module.source, node.start, node.end)

    def fail(self, code: Code, message: str, span: Span | None = None, help: str = "") -> NoReturn:
        """Report an error and abort the statement."""
        self.elab.fail(code, message, span or self.span, help, self.instance)

    def fail_no_value(self, val: Any, span: Span | None = None) -> NoReturn:
        """Report that something that is no value stands where one is wanted."""
        match val:
            case ModuleVal():
                text, help = "a module is no value", "name something of it"
            case Ty() | PartialTy():
                text, help = f"the type '{self.elab.type_name(val)}' is no value", "call it to make one"
            case _:
                self.fail(Code.UNSUPPORTED, "a function as a value at run time is not supported here", span)
        self.fail(Code.TYPE_MISMATCH, text, span, help)

    # ---- emitting ----

    def fresh(self) -> int:
        """Return a new number for a temp, a local or a label."""
        self.next_id += 1
        return self.next_id

    def emit(self, statement: nodes.Statement) -> None:
        """Append a statement; what follows a jump is dropped."""
        if not self.dead:
            self.statements.append(statement)
            if isinstance(statement, (nodes.Return, nodes.Break, nodes.Continue, nodes.Unreachable)):
                self.dead = True

    def let(self, action: nodes.Action, type: types.Type) -> Value:
        """Emit a `Let` and return its temp; for void a unit constant."""
        if isinstance(type, types.VoidType):
            self.emit(nodes.Let(None, action, self.span))
            return UNIT_CONST
        temp = nodes.Temp(self.fresh(), type)
        self.emit(nodes.Let(temp, action, self.span))
        return temp

    def open(self) -> None:
        """Begin a nested list of statements."""
        self.blocks.append(self.statements)
        self.statements = []

    def close(self) -> tuple[nodes.Statement, ...]:
        """End the nested list and return it. `dead` says whether its end is reached."""
        done = tuple(self.statements)
        self.statements = self.blocks.pop()
        return done

    def finish(self) -> tuple[nodes.Statement, ...]:
        """Return all statements."""
        return (*self.hoisted, *self.statements)

    def local(
        self, kind: types.Type, name: str = "", ty: Ty | None = None, declare: bool = True,
        loans: tuple[nodes.Local, ...] | None = None,
    ) -> nodes.Local:  # fmt: skip
        """Make a local and declare it."""
        local = nodes.Local(self.fresh(), kind, name, span=self.span)
        if ty is not None:
            local.drop = self.drop_symbol(ty)
            self.pin(local, ty, loans)
        if declare:
            self.emit(nodes.Declare(local))
        return local

    def behind(self, argument: Value, ty: Ty, name: str, span: Span) -> nodes.Local:
        """Make a local of what lies behind an argument."""
        assert isinstance(argument, nodes.Argument)
        local = nodes.Local(self.fresh(), self.elab.ir(ty), name, self.drop_symbol(ty), span=span, at=argument)
        self.pin(local, ty, ())
        return local

    def pin(self, local: nodes.Local, ty: Ty, loans: tuple[nodes.Local, ...] | None = None) -> None:
        """Note what a value of the type keeps alive; `loans`: what this value points into, None: unknown."""
        self.local_types[local] = ty
        origins = self.elab.origins(ty)
        if origins:
            local.pins_all = any(o.kind == "any" or (o.kind == "some" and loans is None) for o in origins)
            pins = (*(o.local for o in origins if o.local is not None), *(loans or ()))
            local.pins = tuple(dict.fromkeys(pin for pin in pins if pin is not local))

    def pin_more(self, local: nodes.Local, ty: Ty, loans: tuple[nodes.Local, ...] | None) -> None:
        """Note what another value that is put into a local keeps alive."""
        if any(o.kind == "some" for o in self.elab.origins(ty)):
            local.pins_all = local.pins_all or loans is None
            local.pins = tuple(dict.fromkeys((*local.pins, *(pin for pin in loans or () if pin is not local))))

    def loans_of(self, value: Any) -> tuple[nodes.Local, ...] | None:
        """Return the locals into which a value points, None if that is not known."""
        if not isinstance(value, (RV, LV)) or not self.elab.origins(value.ty):
            return ()
        if isinstance(value, LV) and value.local is not None:
            return None if value.local.pins_all else value.local.pins
        return value.loans

    def stack_slot(self, type: types.Type, align: int) -> Value:
        """Return the address of a new place of the function's frame."""
        local = nodes.Local(self.fresh(), type, "slot", align=align, span=self.span)
        self.hoisted.append(nodes.Declare(local))
        return nodes.LocalAddress(local)

    def mark(self, kind: str, place: LV, span: Span | None = None) -> None:
        """Emit a mark for the local of a place."""
        if place.local is not None and place.path and not self._taken_apart(place.local):
            return
        if place.local is not None and self.tracked(place.local):
            self.emit(nodes.Mark(kind, place.local, place.path, span))

    def tracked(self, local: nodes.Local) -> bool:
        """Is it of interest whether a local has a value."""
        return bool(local.drop or local.field_drops) or local in self.late_locals

    def _taken_apart(self, local: nodes.Local) -> bool:
        """Prepare a local for marks of its fields; False if only the whole can be destroyed, by its `__del__`."""
        ty = self.local_types.get(local)
        if not isinstance(ty, StructTy) or not local.drop or local.field_drops:
            return True
        self.by_field(local, ty)
        return True

    def by_field(self, local: nodes.Local, ty: StructTy) -> None:
        """Let the fields of a local be given and destroyed one by one."""
        slots = [(self.elab.slot(ty, name)[1], name, kind) for name, kind in self.elab.fields(ty)]
        found = {max(slot, 0): (self.drop_symbol(kind), name) for slot, name, kind in slots if slot != -1}
        local.field_drops = tuple(found[i][0] for i in range(len(found)))
        local.fields = tuple(found[i][1] for i in range(len(found)))

    # ---- values ----

    def rvalue(self, val: Val) -> Value:
        """Return the IR value of a value that is passed directly; loads it from a place."""
        if isinstance(val, RV):
            return val.ir
        if isinstance(val, KV):
            return self.constant(val)
        kind = self.elab.ir(val.ty)
        if types.size_of(kind) == 0:
            return nodes.Const(kind, _zero(kind))
        return self.let(nodes.Load(val.pointer, kind), kind)

    def constant(self, val: KV) -> Value:
        """Return the IR constant of a constant."""
        if isinstance(val.data, str):
            return self.string_global(val.data)
        kind = self.elab.ir(val.ty)
        if types.size_of(kind) == 0:
            return nodes.Const(kind, _zero(kind))
        self._note(val.data)
        return nodes.Const(kind, val.data)

    def _note(self, data: Any) -> None:
        if isinstance(data, nodes.Address):
            self.refs.add(data.name)
        elif isinstance(data, tuple):
            for item in data:
                self._note(item)

    def string_global(self, text: str) -> nodes.Const:
        """Return the constant {address, length} of a text."""
        const = self.elab.string_constant(text)
        self._note(const.value)
        return const

    def string_of_const(self, const: nodes.Const) -> str:
        """Return the text of a constant {address, length}."""
        return self.elab.string_of(const.value)

    def place(self, val: Val) -> LV:
        """Return a value as a place in memory."""
        if isinstance(val, LV):
            return val
        if not isinstance(val, (RV, KV)):
            self.fail_no_value(val)
        kind = self.elab.ir(val.ty)
        if isinstance(val, KV) and self.elab.abi(val.ty) == "memory":
            return self._constant_place(val, kind)
        ir = self.rvalue(val)
        local = self.local(kind, "", val.ty, loans=self.loans_of(val))
        if types.size_of(kind):
            self.emit(nodes.Store(nodes.LocalAddress(local), ir, span=self.span))
        return LV(val.ty, nodes.LocalAddress(local), False, local, owned=True, why="a temporary")

    def _constant_place(self, val: KV, kind: types.Type) -> LV:
        if not (self.comptime or self.module.is_library or self.elab.is_trivial(val.ty)) and not self.elab.has_trait(
            val.ty, "ImplicitlyCopyable"
        ):
            shown = self.elab.type_name(val.ty)
            text = f"a compile-time value of type '{shown}' does not become a run-time value by itself"
            self.fail(Code.NOT_COPYABLE, text, self.span, "make one with 'materialize[…]()'")
        text = self.elab.key_text(val)
        name = "const$" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        if name not in self.elab.globals:
            self.elab.globals[name] = nodes.Global(name, kind, nodes.Const(kind, val.data), True)
        self.refs.add(name)
        self._note(val.data)
        return LV(val.ty, nodes.GlobalAddress(name), False, why="a constant")

    def temporary(self, ty: Ty, name: str = "", loans: tuple[nodes.Local, ...] | None = None) -> LV:
        """Return a new place without a value, owned by whoever fills it."""
        local = self.local(self.elab.ir(ty), name, ty, loans=loans)
        return LV(ty, nodes.LocalAddress(local), True, local, owned=True)

    def field(self, base: LV, name: str) -> LV:
        """Return the place of a field."""
        assert isinstance(base.ty, StructTy)
        number, slot = self.elab.slot(base.ty, name)
        ty = self.elab.fields(base.ty)[number][1]
        pointer = base.pointer
        if slot >= 0:
            pointer = ops.build("field", (pointer,), None, (self.elab.ir(base.ty), slot))
        path = (*base.path, slot if slot >= 0 else 0) if base.local is not None else ()
        return LV(ty, pointer, base.mutable, base.local, path, False, base.why, base.loans)

    def field_value(self, val: RV | KV, name: str) -> Val:
        """Return a field of a value that is not in memory."""
        assert isinstance(val.ty, StructTy)
        number, slot = self.elab.slot(val.ty, name)
        ty = self.elab.fields(val.ty)[number][1]
        if isinstance(val, KV):
            if slot == -2:
                return KV(ty, val.data)
            return KV(ty, val.data[slot] if slot >= 0 else _zero(self.elab.ir(ty)))
        if slot == -2:
            return RV(ty, val.ir, val.why, loans=val.loans)
        if slot == -1:
            kind = self.elab.ir(ty)
            return RV(ty, nodes.Const(kind, _zero(kind)))
        return RV(ty, ops.build("get", (val.ir,), None, slot), val.why, loans=val.loans)

    # ---- copying, moving, destroying ----

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
            self.store_bits(pointer, val)
            if isinstance(val, LV) and val.owned and val.local in self.late_locals:
                self.mark("consume", val, span)
            return
        if isinstance(val, LV) and val.owned:
            named = val.local is not None and val.local.name and not passed
            if named and not self.module.is_library and not self._may_move(ty):
                text = f"a value of type '{self.elab.type_name(ty)}' can be neither copied nor moved"
                self.fail(Code.NOT_COPYABLE, text, span, "let the struct conform to 'Movable'")
            self.move_bits(ty, pointer, val)
            return
        place = self.place(val)
        local = place.local
        if local is None or not local.name or not local.drop or place.path or not self._may_move(ty):
            self.copy_to(ty, pointer, place, span)
            return
        # a copy of what nobody uses any more becomes a move
        self.open()
        owned = LV(ty, place.pointer, True, local, (), True)
        self.move_bits(ty, pointer, owned, passed)
        instead = self.close()
        self.open()
        self.copy_to(ty, pointer, place, span)
        copy = self.close()
        self.emit(nodes.Mark("copy", local, (), span, instead))
        self.emit(nodes.Block(self.fresh(), copy))

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
        if passed or temporary or self.elab.moves_plainly(ty):
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
        else:
            assert isinstance(ty, StructTy)
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

    def _not_copyable(self, ty: Ty, span: Span | None) -> NoReturn:
        name = self.elab.type_name(ty)
        help_text = "move it with '^'"
        if self.elab.has_trait(ty, "Copyable"):
            help_text += ", or copy it with '.copy()'"
        self.fail(Code.NOT_COPYABLE, f"a value of type '{name}' cannot be copied implicitly", span, help_text)

    def check_copy(self, val: Val, span: Span | None) -> None:
        """Report that a value would have to be copied whose type does not do so by itself."""
        is_kept = isinstance(val, LV) and not val.owned
        is_kept = is_kept or (isinstance(val, RV) and bool(val.why) and not self.module.is_library)
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

    def drop_symbol(self, ty: Ty) -> str:
        """Return the symbol of a type's destructor, "" if there is nothing to do."""
        if self.elab.is_trivial(ty) or not isinstance(ty, StructTy):
            return ""
        symbol = self.elab.destructor(ty)
        if symbol:
            self.refs.add(symbol)
        return symbol

    # ---- parameter values ----

    def param(self, value: Any, span: Span | None) -> Any:
        """Turn what an expression gave into a parameter value; runs the interpreter where folding did not suffice."""
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
                return KV(value.ty, _zero(self.elab.ir(value.ty)))
            where = span or self.span or self.elab.main_span()
            return self.elab.run(self, value, where)
        return value

    def origin_of(self, val: Any, mutable: bool) -> OriginValue:
        """Return where a place is."""
        if isinstance(val, LV) and val.local is not None:
            return OriginValue("local", mutable, val.local)
        if isinstance(val, LV) and val.loans is not None:
            return OriginValue("local", mutable, val.loans[0]) if len(val.loans) == 1 else OriginValue("some", mutable)
        return OriginValue("any", mutable)


def _zero(kind: types.Type) -> Any:
    match kind:
        case types.StructType(fields):
            return tuple(map(_zero, fields))
        case types.ArrayType(element, count):
            return (_zero(element),) * count
        case types.VectorType(element, lanes):
            return (_zero(element),) * lanes
        case types.FloatType():
            return 0.0
        case _:
            return 0
