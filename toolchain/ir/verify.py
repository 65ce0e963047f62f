"""The rules of the IR. Input: a unit. Output: nothing, or a `Bug` that names the function which breaks one.

Checked: every name is known and bound before and around its use, every operation, access, call and return has fitting
types, every path ends, labels enclose their jumps, locals are declared where they are used.
"""

from collections.abc import Iterable
from typing import Any

from ktc.diag.diagnostic import Bug
from ktc.diag.source import Span
from ktc.ir import nodes as ir
from ktc.ir.ops import ROWS
from ktc.ir.types import (
    BOOL,
    I8,
    I64,
    VOID,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    VoidType,
    size_of,
)
from ktc.ir.walk import operands

_MARKS = frozenset({"init", "consume", "overwrite", "use", "require", "result", "copy", "copied"})
_ATOMICS = frozenset({"add", "sub", "and", "or", "xor", "xchg", "smin", "smax", "umin", "umax", "fadd", "fmin", "fmax"})
_ORDERINGS = frozenset({"relaxed", "acquire", "release", "acq_rel", "seq_cst"})
_LINKAGES = frozenset({"internal", "export", "hidden", "external"})


def verify(unit: ir.Unit) -> None:
    """Check all functions and globals of a unit.

    Raises:
        Bug: the unit breaks a rule; `where` is the function's symbol.
    """
    for name, variable in unit.globals.items():
        _check_global(unit, name, variable)
    for symbol, function in unit.functions.items():
        if symbol != function.symbol:
            raise Bug(f"function '{function.symbol}' is listed as '{symbol}'", symbol)
        verify_function(function, unit)
    for kernel in unit.kernels:
        if kernel.symbol not in unit.functions:
            raise Bug(f"kernel '{kernel.symbol}' has no function", kernel.symbol)


def verify_function(function: ir.Function, unit: ir.Unit) -> None:
    """Check one function of a unit.

    Raises:
        Bug: it breaks a rule.
    """
    checker = _Checker(function, unit)
    checker.run()


def _check_global(unit: ir.Unit, name: str, variable: ir.Global) -> None:
    if variable.name != name:
        raise Bug(f"global '{variable.name}' is listed as '{name}'", name)
    match variable.content:
        case bytes() as raw:
            if variable.type != ArrayType(I8, len(raw)):
                raise Bug(f"global '{name}' has {len(raw)} bytes and the type {variable.type}", name)
        case ir.Const(kind, plain):
            if kind != variable.type:
                raise Bug(f"global '{name}' of type {variable.type} has a content of type {kind}", name)
            _check_plain(unit, kind, plain, name)
        case _:
            pass


def _is_known(unit: ir.Unit, name: str) -> bool:
    """Tell whether an address may name this: a global, a function, or a C function. Units do not list the C functions
    that they use, but no C name has the `$` or `.` of our own symbols."""
    return name in unit.globals or name in unit.functions or ("$" not in name and "." not in name)


def _check_plain(unit: ir.Unit, kind: Type, plain: Any, where: str) -> None:
    """Check that a plain value is one of its type."""
    match kind, plain:
        case IntType(bits), int():
            fits = 0 <= plain < 1 << bits
        case IntType(), ir.ImageSize(name):
            fits = name in unit.globals
        case IntType(64), ir.Address(name):
            fits = _is_known(unit, name)
        case PointerType(), int():
            fits = 0 <= plain < 1 << 64
        case PointerType(), ir.Address(name):
            fits = _is_known(unit, name)
        case FloatType(), float():
            fits = True
        case ((VectorType(element, count) | ArrayType(element, count)), tuple()):
            fits = len(plain) == count
            # a long array of numbers is checked through its first member: this runs on every constant
            for part in plain[:1] if isinstance(element, IntType | FloatType) else plain:
                _check_plain(unit, element, part, where)
        case StructType(fields), tuple():
            fits = len(plain) == len(fields)
            for field, part in zip(fields, plain, strict=False):
                _check_plain(unit, field, part, where)
        case _:
            fits = False
    if not fits:
        raise Bug(f"constant {str(plain)[:80]} is no value of {kind}", where)


class _Checker:
    """Checks one function."""

    def __init__(self, function: ir.Function, unit: ir.Unit) -> None:
        self.function = function
        self.unit = unit
        self.temps: dict[int, Type] = {}
        self.visible: set[int] = set()
        self.local_ids: dict[int, ir.Local] = {}
        self.locals: set[ir.Local] = set()
        self.labels: list[tuple[int, bool]] = []
        self.used_labels: set[int] = set()
        self.span: Span | None = function.span

    def fail(self, message: str) -> Bug:
        """Return the `Bug` to raise."""
        return Bug(f"IR of '{self.function.symbol}': {message}", self.function.symbol, self.span)

    def require(self, holds: bool, message: str) -> None:
        """Raise unless a rule holds. For messages that cost nothing to write."""
        if not holds:
            raise self.fail(message)

    def run(self) -> None:
        """Check the whole function."""
        function = self.function
        self.require(function.linkage in _LINKAGES, f"no such linkage: {function.linkage}")
        self.require(function.inline in ("", "always", "never"), f"no such inline mode: {function.inline}")
        self.require(all(kind != VOID for _, kind in function.params), "a parameter is void")
        if function.linkage == "external":
            self.require(not function.body, "an external function has a body")
            return
        self.body(function.body)
        self.require(_ends(function.body), "a path has no Return or Unreachable at its end")

    # ---- statements ------------------------------------------------------------------------------------

    def body(self, body: tuple[ir.Statement, ...]) -> None:
        """Check statements; what they bind is visible only among them."""
        outer_temps, outer_locals = set(self.visible), set(self.locals)
        for statement in body:
            self.statement(statement)
        self.visible, self.locals = outer_temps, outer_locals

    def statement(self, statement: ir.Statement) -> None:
        """Check one statement."""
        self.span = getattr(statement, "span", None) or self.span
        for value in operands(statement):
            self.value(value)
        match statement:
            case ir.Let(temp, action):
                self.let(temp, action)
            case ir.Store(pointer, value):
                self.pointer(pointer)
                self.require(value.type != VOID, "a void value is stored")
                self.local_access(pointer, value.type)
            case ir.MemCopy(target, origin, size):
                self.pointer(target)
                self.pointer(origin)
                self.typed(size, I64, "the size of a copy")
            case ir.MemSet(target, byte, size):
                self.pointer(target)
                self.typed(byte, I8, "the byte of a memset")
                self.typed(size, I64, "the size of a memset")
            case ir.Declare(local):
                self.declare(local)
            case ir.Mark(kind, local, path):
                self.require(kind in _MARKS, f"no such mark: {kind}")
                self.local(local)
                self.path(local, path)
            case ir.If(condition, then, orelse):
                self.typed(condition, BOOL, "a condition")
                self.body(then)
                self.body(orelse)
            case ir.Loop(label, body) | ir.Block(label, body):
                self.labelled(label, body, isinstance(statement, ir.Loop))
            case ir.Break(label):
                self.require(any(label == known for known, _ in self.labels), f"break to unknown label {label}")
            case ir.Continue(label):
                self.require((label, True) in self.labels, f"continue of unknown loop {label}")
            case ir.Return(value_or_none):
                found = VOID if value_or_none is None else value_or_none.type
                if found != self.function.result:
                    raise self.fail(f"returns {found}, declared {self.function.result}")
            case ir.Unreachable():
                pass

    def labelled(self, label: int, body: tuple[ir.Statement, ...], is_loop: bool) -> None:
        """Check a loop or block."""
        self.require(label not in self.used_labels, f"label {label} is used twice")
        self.used_labels.add(label)
        self.labels.append((label, is_loop))
        self.body(body)
        self.labels.pop()

    def declare(self, local: ir.Local) -> None:
        """Check a declaration."""
        known = self.local_ids.setdefault(local.id, local)
        self.require(known is local, f"two locals have the id {local.id}")
        self.require(local.type != VOID, f"local {local.id} is void")
        if local.drop:
            drop = self.unit.functions.get(local.drop)
            self.require(drop is not None, f"unknown destructor '{local.drop}'")
        self.locals.add(local)

    def local(self, local: ir.Local) -> None:
        """Check that a local is declared here, or lies behind an argument."""
        if local not in self.locals and local.at is None:
            raise self.fail(f"local '{local.name}.{local.id}' is used outside its declaration")

    def path(self, local: ir.Local, path: tuple[int, ...]) -> None:
        """Check the fields that a mark names."""
        kind = local.type
        for index in path:
            if not isinstance(kind, StructType) or not 0 <= index < len(kind.fields):
                raise self.fail(f"{kind} has no field {index}")
            kind = kind.fields[index]

    def let(self, temp: ir.Temp | None, action: ir.Action) -> None:
        """Check a Let and bind its temp."""
        self.action(action)
        if temp is None:
            return
        self.require(temp.id not in self.temps, f"temp {temp.id} is bound twice")
        if temp.type != action.type or isinstance(temp.type, VoidType):
            raise self.fail(f"temp {temp.id} of type {temp.type} is bound to {action.type}")
        self.temps[temp.id] = temp.type
        self.visible.add(temp.id)

    def action(self, action: ir.Action) -> None:
        """Check the right-hand side of a Let; its operands are checked already."""
        match action:
            case ir.Op():
                pass
            case ir.Load(pointer, kind):
                self.pointer(pointer)
                self.require(kind != VOID, "a void value is loaded")
                self.local_access(pointer, kind)
            case ir.Call(symbol, args, kind):
                self.call(symbol, args, kind)
            case ir.CallExternal(symbol, args, kind, fixed):
                self.foreign(symbol, (*(arg.type for arg in args), kind), fixed <= len(args))
            case ir.CallIndirect(pointer, _, _):
                self.pointer(pointer)
            case ir.AtomicRmw(op, pointer, value, kind, ordering):
                self.pointer(pointer)
                self.require(op in _ATOMICS, f"no such atomic operation: {op}")
                self.require(ordering in _ORDERINGS, f"no such ordering: {ordering}")
                self.typed(value, kind, "the operand of an atomic")
            case ir.CompareExchange(pointer, expected, desired, kind, ordering):
                self.pointer(pointer)
                self.require(ordering in _ORDERINGS, f"no such ordering: {ordering}")
                self.typed(desired, expected.type, "the new value of a compare-exchange")
                self.require(kind == StructType((expected.type, BOOL)), f"a compare-exchange gives {kind}")
            case ir.Fence(kind, ordering):
                self.require(kind == VOID and ordering in _ORDERINGS, "a fence with a result or a wrong ordering")
            case ir.CallIntrinsic() | ir.InlineAsm():
                pass

    def call(self, symbol: str, args: tuple[ir.Value, ...], kind: Type) -> None:
        """Check a call of a function of the unit."""
        callee = self.unit.functions.get(symbol)
        if callee is None:
            raise self.fail(f"call of unknown function '{symbol}'")
        expected = tuple(param for _, param in callee.params)
        found = tuple(arg.type for arg in args)
        if found != expected:
            raise self.fail(f"call of '{symbol}' with ({_list(found)}), declared ({_list(expected)})")
        if kind != callee.result:
            raise self.fail(f"call of '{symbol}' gives {kind}, declared {callee.result}")

    def foreign(self, symbol: str, types: tuple[Type, ...], fixed_fits: bool) -> None:
        """Check a call of a C function: no vectors."""
        self.require(fixed_fits, f"call of '{symbol}' with fewer arguments than are fixed")
        for kind in types:
            if not isinstance(kind, IntType | FloatType | PointerType | VoidType | StructType | ArrayType):
                raise self.fail(f"call of C function '{symbol}' with a {kind}")

    # ---- values ------------------------------------------------------------------------------------------

    def typed(self, value: ir.Value, kind: Type, what: str) -> None:
        """Check that a value has a type."""
        if value.type != kind:
            raise self.fail(f"{what} is {value.type}, not {kind}")

    def pointer(self, value: ir.Value) -> None:
        """Check that a value is a pointer."""
        if not isinstance(value.type, PointerType):
            raise self.fail(f"{value.type} is used as a pointer")

    def local_access(self, pointer: ir.Value, kind: Type) -> None:
        """Check that a direct access to a local stays inside it."""
        if isinstance(pointer, ir.LocalAddress) and size_of(kind) > size_of(pointer.local.type):
            raise self.fail(f"access of {kind} to local '{pointer.local.name}' of type {pointer.local.type}")

    def value(self, root: ir.Value) -> None:
        """Check a value and all below it; a shared operation once for each statement."""
        seen: set[int] = set()
        stack = [root]
        while stack:
            value = stack.pop()
            match value:
                case ir.Op():
                    if id(value) not in seen:
                        seen.add(id(value))
                        self.operation(value)
                        stack += value.args
                case ir.Const(kind, plain):
                    _check_plain(self.unit, kind, plain, self.function.symbol)
                case ir.Temp(number, kind):
                    if number not in self.visible:
                        raise self.fail(f"temp {number} is used before or outside its Let")
                    self.require(self.temps[number] == kind, f"temp {number} is used with another type")
                case ir.Argument(index, kind):
                    params = self.function.params
                    if not 0 <= index < len(params) or params[index][1] != kind:
                        raise self.fail(f"no argument {index} of type {kind}")
                case ir.LocalAddress(local):
                    self.local(local)
                case ir.GlobalAddress(name, space):
                    known = self.unit.globals.get(name)
                    self.require(_is_known(self.unit, name), f"address of unknown '{name}'")
                    self.require(known is None or known.space == space, f"global '{name}' is in another space")

    def operation(self, op: ir.Op) -> None:
        """Check one operation by its row."""
        row = ROWS.get(op.name)
        if row is None:
            raise self.fail(f"unknown operation '{op.name}'")
        if row.arity >= 0 and len(op.args) != row.arity:
            raise self.fail(f"operation '{op.name}' has {len(op.args)} operands, not {row.arity}")
        try:
            row.rule(op.name, tuple(arg.type for arg in op.args), op.attr, op.type)
        except Bug as bug:
            raise self.fail(str(bug)) from None


def _ends(body: tuple[ir.Statement, ...]) -> bool:
    """Tell whether control cannot run off the end of a body."""
    if not body:
        return False
    match body[-1]:
        case ir.Return() | ir.Unreachable() | ir.Break() | ir.Continue():
            return True
        case ir.If(_, then, orelse):
            return _ends(then) and _ends(orelse)
        case ir.Loop(label, inner):
            return not _breaks(inner, label)
        case ir.Block(label, inner):
            return _ends(inner) and not _breaks(inner, label)
        case _:
            return False


def _breaks(body: tuple[ir.Statement, ...], label: int) -> bool:
    for statement in body:
        match statement:
            case ir.Break(target) if target == label:
                return True
            case ir.If(_, then, orelse):
                if _breaks(then, label) or _breaks(orelse, label):
                    return True
            case ir.Loop(_, inner) | ir.Block(_, inner):
                if _breaks(inner, label):
                    return True
            case _:
                pass
    return False


def _list(types: Iterable[Type]) -> str:
    return ", ".join(map(str, types))
