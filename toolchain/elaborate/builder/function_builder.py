"""The building of one body: statements, temporaries, locals, and the handling of values.

A `Body` elaborates one function of one instance, or one expression at compile time. This file holds what has nothing
to do with syntax: emitting IR, and the values, temporaries and locals that it works on.
"""

import hashlib
from typing import TYPE_CHECKING, Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import linear_types as linear
from ktc.elaborate.builder.materialization import check_materialized, points_to_heap, renewed
from ktc.elaborate.builder.partial_moves import divide
from ktc.elaborate.instances.instance_table import Instance, UnitState
from ktc.elaborate.model.declarations import ModuleInfo, Scope, Var
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Method,
    ModuleVal,
    OriginValue,
    PartialTy,
    StructTy,
    Ty,
)  # fmt: skip
from ktc.ir import nodes, types
from ktc.ir.nodes import Value
from ktc.syntax import ast
from ktc.targets.target import Target

if TYPE_CHECKING:
    from ktc.elaborate.program import Elaborator

UNIT_CONST = nodes.Const(types.UNIT, ())


class BodyBase:
    """What all parts of a body share. There is a body for every expression of a parameter list, too."""

    next_id = 0
    lends = False
    dead = False
    placed = False  # was it asked where the call stands
    comptime = True
    reflects = False  # only the type of what is elaborated here is asked for
    span: Span | None = None
    brackets: Any = None
    """What is called by the innermost call around, as it is written."""
    builtin_self: dict[str, Any] | None = None
    inline_result: list[Any] | None = None
    leaving: Span | None = None
    out_var: Var | None = None
    inferring = False
    launch_targets = -1
    """For which of the program's targets kernels are started here, a bit each."""
    waiting: Any = None
    """The operand whose item may be fetched after the other operands (computed.py)."""
    unchanged: dict[nodes.Local, nodes.Const] | None = None  # constants that lie in memory only to have an address
    given: tuple[nodes.Local, list[Any]] | None = None  # the last call's result, if it has a place, and arguments

    def __init__(self, elab: "Elaborator", module: ModuleInfo, scope: Scope, instance: Instance | None) -> None:
        self.elab = elab
        self.module = module
        self.scope = self.function_scope = scope
        self.instance = self.home = instance  # `home` stays where an expansion changes `instance`
        self.state: UnitState = elab.state
        self.statements: list[nodes.Statement] = []
        self.blocks: list[list[nodes.Statement]] = []
        self.hoisted: list[nodes.Statement] = []
        self.refs: set[str] = set()
        self.loops: list[tuple[int, int, int, Any]] = []
        self.handlers: list[tuple[int, nodes.Local]] = []
        self.handler_depths: list[int] = []
        self.finals: list[Any] = []
        self.env_args: dict[Any, Value] = {}
        self.used_labels: set[int] = set()
        self.assigned: set[str] = set()
        self.assigned_once: set[nodes.Local] = set()
        self.env_locals: dict[Any, nodes.Local] = {}
        # arguments of a kernel that are addresses of values that it captures
        self.whole_captures: dict[int, types.Type] = {}
        self.late_locals: set[nodes.Local] = set()
        self.awaited: set[nodes.Local] = set()
        """Results of calls that a 'try' waits for: named, but no variables."""
        self.local_types: dict[nodes.Local, Ty] = {}
        self.ways: dict[nodes.Local, Any] = {}  # to what the values of locals point into (ways.py)
        self.linear: dict[str, tuple[str, str]] = {}  # the destructors that must not be reached (linear.py)
        self.closures: dict[Any, list[Any]] = {}
        self.trusted: set[nodes.Local] = set()
        self.moved: set[nodes.Local] = set()
        self.current_error: list[LV] = []
        self.error_argument: Value | None = None
        self.result_pointer: Value | None = None
        self.env_value: Value | None = None

    @property
    def target(self) -> Target:
        """The target that is being elaborated."""
        return self.state.target

    def at(self, node: ast.Node) -> Span:
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
            case Method(fn=fn):
                text, help = f"'{fn.set.name}' is a method, which nothing calls here", f"write '{fn.set.name}(...)'"
            case _:
                self.fail(Code.UNSUPPORTED, "a function as a value at run time is not supported here", span)
        self.fail(Code.TYPE_MISMATCH, text, span, help)

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
        if place.local is not None and place.path:
            self.taken_apart(place.local, place.path)
        if place.local is not None and self.tracked(place.local):
            self.emit(nodes.Mark(kind, place.local, place.path, span))
            if kind == "consume":
                self.moved.add(place.local)

    def tracked(self, local: nodes.Local) -> bool:
        """Is it of interest whether a local has a value."""
        return bool(local.drop or local.field_drops) or local in self.late_locals

    def taken_apart(self, local: nodes.Local, path: tuple[int, ...]) -> bool:
        """Prepare a local for marks of a field, or of a field of a field; False if that cannot stand alone."""
        ty = self.local_types.get(local)
        if isinstance(ty, StructTy) and local.drop and not local.field_drops:
            self.by_field(local, ty)
        if len(path) <= 1:
            return True
        if not local.field_drops or not isinstance(ty, StructTy) or self.module.is_library:
            return False
        return divide(self, local, ty, path)

    def by_field(self, local: nodes.Local, ty: StructTy) -> None:
        """Let the fields of a local be given and destroyed one by one."""
        slots = [(self.elab.slot(ty, name)[1], name, kind) for name, kind in self.elab.fields(ty)]
        found = {max(slot, 0): (self.drop_symbol(kind), name) for slot, name, kind in slots if slot != -1}
        local.field_drops = tuple(found[i][0] for i in range(len(found)))
        local.fields = tuple(found[i][1] for i in range(len(found)))

    def rvalue(self, val: Any) -> Value:
        """Return the IR value of a value that is passed directly; loads it from a place."""
        if isinstance(val, RV):
            return val.ir
        if isinstance(val, KV):
            return self.constant(val)
        kind = self.elab.ir(val.ty)
        if types.size_of(kind) == 0:
            return nodes.Const(kind, zero_of(kind))
        if self.unchanged and not val.mutable and isinstance(val.pointer, nodes.LocalAddress):
            known = self.unchanged.get(val.pointer.local)
            if known is not None and known.type == kind:
                return known
        return self.let(nodes.Load(val.pointer, kind), kind)

    def constant(self, val: KV) -> Value:
        """Return the IR constant of a constant."""
        if isinstance(val.data, str):
            return self.string_global(val.data)
        kind = self.elab.ir(val.ty)
        if types.size_of(kind) == 0:
            return nodes.Const(kind, zero_of(kind))
        self._note(val.data)
        return nodes.Const(kind, val.data)

    def _note(self, data: Any) -> None:
        if isinstance(data, nodes.Address):
            self.refs.add(data.name)
        elif isinstance(data, tuple):
            for item in data:
                if type(item) is not int:
                    self._note(item)

    def string_global(self, text: str) -> nodes.Const:
        """Return the constant {address, length} of a text."""
        const = self.elab.string_constant(text)
        self._note(const.value)
        return const

    def string_of_const(self, const: nodes.Const) -> str:
        """Return the text of a constant {address, length}."""
        return self.elab.string_of(const.value)

    def place(self, val: Any) -> LV:
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
        if isinstance(val, RV) and val.via:
            self.ways[local] = val.via
        if types.size_of(kind):
            self.emit(nodes.Store(nodes.LocalAddress(local), ir, span=self.span))
        return LV(val.ty, nodes.LocalAddress(local), False, local, owned=True, why="a temporary")

    def unchanged_place(self, val: Any) -> LV:
        """Return a value as a place that nobody changes: of a constant, what is read from there stays known."""
        place = self.place(val)
        if place.local is not None and not isinstance(val, LV):
            ir = self.rvalue(val)
            if isinstance(ir, nodes.Const):
                if self.unchanged is None:
                    self.unchanged = {}
                self.unchanged[place.local] = ir
        return place

    def _constant_place(self, val: KV, kind: types.Type) -> LV:
        check_materialized(self, val)
        if not (self.comptime or self.module.is_library) and points_to_heap(val.data):
            return renewed(self, val)  # a copy of it may change what it points to
        return LV(val.ty, self.constant_global(self.elab.key_text(val), kind, val.data), False, why="a constant")

    def constant_global(self, text: str, kind: types.Type, data: Any) -> nodes.GlobalAddress:
        """Return a constant global whose name follows from a text."""
        name = "const$" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        if name not in self.elab.globals:
            self.elab.globals[name] = nodes.Global(name, kind, nodes.Const(kind, data), True)
        self.refs.add(name)
        self._note(data)
        return nodes.GlobalAddress(name)

    def constant_places(self, items: list[KV]) -> Value:
        """Return where the addresses of constants lie, one after the other."""
        texts = [self.elab.key_text(item) for item in items]
        made = [self.constant_global(t, self.elab.ir(i.ty), i.data) for t, i in zip(texts, items, strict=True)]
        return self.constant_addresses(tuple(nodes.Address(one.name) for one in made))

    def constant_items(self, ty: Ty, items: list[Any]) -> list[LV] | None:
        """Return places in one constant array for many values of a trivial type, or None if one is no constant."""
        data = []
        for item in items:
            known = item.data if isinstance(item, KV) else getattr(getattr(item, "ir", None), "value", None)
            if known is None or item.ty is not ty or not (isinstance(item, KV) or isinstance(item.ir, nodes.Const)):
                return None
            data.append(known)
        kind = self.elab.ir(ty)
        text = f"items {self.elab.key_text(ty)} {data}"
        name = self.constant_global(text, types.ArrayType(kind, len(data)), tuple(data)).name
        size = types.size_of(kind)
        places = (nodes.Const(types.PTR, nodes.Address(name, size * i)) for i in range(len(data)))
        return [LV(ty, place, False, why="a constant") for place in places]

    def constant_addresses(self, addresses: tuple[Any, ...]) -> Value:
        """Return where addresses of constants lie, one after the other."""
        return self.constant_global(f"addresses {addresses}", types.ArrayType(types.PTR, len(addresses)), addresses)

    def temporary(self, ty: Ty, name: str = "", loans: tuple[nodes.Local, ...] | None = None) -> LV:
        """Return a new place without a value, owned by whoever fills it."""
        local = self.local(self.elab.ir(ty), name, ty, loans=loans)
        return LV(ty, nodes.LocalAddress(local), True, local, owned=True)

    def drop_symbol(self, ty: Ty) -> str:
        """Return the symbol of a type's destructor, "" if there is nothing to do."""
        if self.elab.is_trivial(ty):
            return ""
        if not isinstance(ty, StructTy):
            return self.library_symbol("__ktc_drop_closure__")
        symbol = self.elab.destructor(ty)
        if symbol:
            self.refs.add(symbol)
            if ty.info.explicit_destroy is not None:
                linear.note(self, ty, symbol)
        return symbol

    def library_symbol(self, name: str) -> str:
        """Return the symbol of a function of the library that the compiler itself calls."""
        instance = self.elab.instance_of(self.elab.startup_function(name), None, None)
        self.elab.request(instance)
        self.refs.add(instance.symbol)
        return instance.symbol

    def origin_of(self, val: Any, mutable: bool) -> OriginValue:
        """Return where a place is."""
        if isinstance(val, LV) and val.local is not None:
            return OriginValue("local", mutable, val.local)
        if isinstance(val, LV) and val.loans is not None:
            return OriginValue("local", mutable, val.loans[0]) if len(val.loans) == 1 else OriginValue("some", mutable)
        return OriginValue("any", mutable)


def zero_of(kind: types.Type) -> Any:
    match kind:
        case types.StructType(fields):
            return tuple(map(zero_of, fields))
        case types.ArrayType(element, count):
            return (zero_of(element),) * count
        case types.VectorType(element, lanes):
            return (zero_of(element),) * lanes
        case types.FloatType():
            return 0.0
        case _:
            return 0
