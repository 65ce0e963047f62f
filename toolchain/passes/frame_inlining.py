"""Memory that an always-inlined function hands out belongs to its caller: such functions are inlined here.

Input: a unit without marks. Output: the same with every call of a function that is always inlined and takes memory of
its frame (`pop.stack_alloc`) or of the block (`pop.global_alloc`) replaced by a copy of the function. LLVM's inliner
would end the life of such memory at the end of the call, and two calls would share one place in shared memory.

For the CPU device the same is done with functions in which a thread waits for others, for a kernel is cut into
pieces there.
"""

from collections.abc import Iterator, Set
from typing import Any

from ktc.base.records import field_names, replace
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Span
from ktc.ir import nodes as ir
from ktc.ir import walk
from ktc.ir.types import VOID, Type
from ktc.passes import suspending_functions

SHARED = "shared$"
"""The prefix of a global in shared memory; then follow the function's symbol, `$`, and a number."""


def run(unit: ir.Unit, sink: Sink) -> ir.Unit:
    """Return the unit with such calls replaced.

    Reports: UNSUPPORTED_ON_TARGET.
    """
    lending = {
        name for name, function in unit.functions.items() if function.exposes_frame and function.inline == "always"
    }
    waiting = suspending_functions.blocking_functions(unit)
    lending |= waiting
    if not lending:
        return unit
    work = _Unit(unit, lending)
    functions = {name: work.expanded(name) for name in unit.functions}
    unit = replace(unit, functions=functions, globals={**unit.globals, **work.globals})
    unit = _without_unused(unit, lending - {kernel.symbol for kernel in unit.kernels})
    suspending_functions.report_not_inlined(unit, waiting, sink)
    return unit


def owner_prefix(symbol: str) -> str:
    """Return how the names of a function's own shared globals begin."""
    return f"{SHARED}{symbol}$".replace(".", "_")


class _Unit:
    """The functions of a unit, callees expanded before their callers."""

    def __init__(self, unit: ir.Unit, lending: set[str]) -> None:
        self.unit = unit
        self.lending = lending
        self.globals: dict[str, ir.Global] = {}
        self.done: dict[str, ir.Function] = {}
        self.busy: set[str] = set()

    def expanded(self, symbol: str) -> ir.Function:
        """Return a function with such calls in it replaced."""
        if symbol in self.done:
            return self.done[symbol]
        function = self.unit.functions[symbol]
        self.busy.add(symbol)
        caller = _Caller(self, function)
        body = caller.statements(function.body)
        self.busy.discard(symbol)
        if caller.count:
            if function.inline == "always":
                self.lending.add(symbol)
            function = replace(function, body=(*caller.declared, *body), exposes_frame=True)
        self.done[symbol] = function
        return function

    def exposes_frame(self, symbol: str) -> bool:
        """Return whether calls of a function are to be replaced, which its own calls decide too."""
        if symbol in self.busy or symbol not in self.unit.functions:
            return False
        if self.unit.functions[symbol].inline == "always":
            self.expanded(symbol)
        return symbol in self.lending


class _Caller:
    """Rewrites one function."""

    def __init__(self, unit: _Unit, function: ir.Function) -> None:
        self.unit = unit
        self.symbol = function.symbol
        self.declared: list[ir.Statement] = []
        self.count = 0
        self._body = function.body
        self._next = 0

    def fresh(self) -> int:
        """Return a number that no temp, local or label of the function has."""
        if not self._next:
            self._next = 1 + max(walk.numbers(self._body), default=0)
        self._next += 1
        return self._next

    def statements(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """Return a body with calls replaced, the same object if there are none."""
        made: list[ir.Statement] = []
        changed = False
        for statement in body:
            match statement:
                case ir.Let(temp, ir.Call(name, args, kind), span) if self.unit.exposes_frame(name):
                    made += self._inline(temp, self.unit.expanded(name), args, kind, span)
                    changed = True
                    continue
                case ir.If(condition, then, orelse, span):
                    parts = (self.statements(then), self.statements(orelse))
                    if parts != (then, orelse):
                        statement = ir.If(condition, *parts, span)
                        changed = True
                case ir.Loop(_, inner) | ir.Block(_, inner):
                    new = self.statements(inner)
                    if new is not inner:
                        statement = replace(statement, body=new)
                        changed = True
            made.append(statement)
        return tuple(made) if changed else body

    def _inline(
        self, temp: ir.Temp | None, callee: ir.Function, args: tuple[ir.Value, ...], kind: Type, span: Span | None
    ) -> Iterator[ir.Statement]:
        self.count += 1
        result = None
        if temp is not None and kind != VOID:
            result = ir.Local(self.fresh(), kind, "result")
            self.declared.append(ir.Declare(result))
        copy = _Copy(self, callee.symbol, args, result)
        copy.called_at = span
        yield ir.Block(copy.end, copy.body(callee.body, True))
        if result is not None:
            yield ir.Let(temp, ir.Load(ir.LocalAddress(result), kind))


class _Copy:
    """One copy of a callee's body inside its caller."""

    def __init__(self, caller: _Caller, callee: str, args: tuple[ir.Value, ...], result: ir.Local | None) -> None:
        self.caller, self.args, self.result = caller, args, result
        self.end = caller.fresh()
        self.called_at: Span | None = None
        self._is_checked = bool(getattr(caller.unit.unit.target, "checks", ()))
        self._waits: Set[str] = getattr(caller.unit.unit.target, "blocking_intrinsics", frozenset())
        self._prefix = owner_prefix(callee)
        self._temps: dict[int, ir.Temp] = {}
        self._locals: dict[ir.Local, ir.Local] = {}
        self._labels: dict[int, int] = {}
        self._globals: dict[str, str] = {}
        self._ops: dict[int, tuple[ir.Op, ir.Op]] = {}

    def body(self, body: tuple[ir.Statement, ...], is_outermost: bool = False) -> tuple[ir.Statement, ...]:
        """Return copies of statements; places declared at the function's beginning go to that of the caller."""
        made: list[ir.Statement] = []
        for statement in body:
            match statement:
                case ir.Declare(local) if is_outermost:
                    self.caller.declared.append(ir.Declare(self._local(local)))
                case ir.Return(value, span):
                    if value is not None and self.result is not None:
                        made.append(ir.Store(ir.LocalAddress(self.result), self.node(value), span=self.node(span)))
                    made.append(ir.Break(self.end))
                case ir.Loop(label, inner, span):
                    made.append(ir.Loop(self._label(label), self.body(inner), span))
                case ir.Block(label, inner):
                    made.append(ir.Block(self._label(label), self.body(inner)))
                case ir.Break(label) | ir.Continue(label):
                    made.append(type(statement)(self._label(label)))
                case ir.If(condition, then, orelse, span):
                    made.append(ir.If(self.node(condition), self.body(then), self.body(orelse), span))
                case ir.Let(_, ir.CallIntrinsic(name)) if name in self._waits and self.called_at is not None:
                    # A message about a barrier is about the program's call.
                    made.append(replace(self.node(statement), span=self.called_at))
                case _:
                    made.append(self.node(statement))
        return tuple(made)

    def node(self, node: Any) -> Any:
        """Return a copy of a value, an action or a plain statement."""
        match node:
            case ir.Temp(number, kind):
                if number not in self._temps:
                    self._temps[number] = ir.Temp(self.caller.fresh(), kind)
                return self._temps[number]
            case ir.Argument(index):
                return self.args[index]
            case Span():
                at = self.called_at if self._is_checked and node.source.is_library else None
                return node if at is None or at.source.is_library else at  # checks name the place in the program
            case ir.LocalAddress(local):
                return ir.LocalAddress(self._local(local))
            case ir.Local():
                return self._local(node)
            case ir.GlobalAddress(name, space):
                return ir.GlobalAddress(self._global(name), space)
            case ir.Op():
                known = self._ops.get(id(node))
                if known is None:
                    known = self._ops[id(node)] = (node, replace(node, args=tuple(map(self.node, node.args))))
                return known[1]
            case tuple():
                return tuple(map(self.node, node))
        if isinstance(node, walk.WITH_PARTS):
            return type(node)(*(self.node(getattr(node, name)) for name in field_names(node)))
        return node

    def _local(self, local: ir.Local) -> ir.Local:
        if local not in self._locals:
            self._locals[local] = replace(local, id=self.caller.fresh())
        return self._locals[local]

    def _label(self, label: int) -> int:
        return self._labels.setdefault(label, self.caller.fresh())

    def _global(self, name: str) -> str:
        if not name.startswith(self._prefix):
            return name
        if name not in self._globals:
            unit = self.caller.unit
            made = f"{owner_prefix(self.caller.symbol)}{self.caller.fresh()}"
            held = unit.globals.get(name) or unit.unit.globals[name]
            unit.globals[made] = replace(held, name=made)
            self._globals[name] = made
        return self._globals[name]


def _without_unused(unit: ir.Unit, lending: set[str]) -> ir.Unit:
    """Leave out inlined functions and shared memory that nothing refers to any more."""
    named: set[str] = set()
    for name, function in unit.functions.items():
        if name not in lending:
            named |= walk.names(function)
    work = [name for name in lending if name in named]
    while work:
        found = walk.names(unit.functions[work.pop()]) - named
        named |= found
        work += [name for name in found if name in lending]
    functions = {name: held for name, held in unit.functions.items() if name not in lending or name in named}
    kept = {
        name: held for name, held in unit.globals.items() if not name.startswith(SHARED) or name in named
    }  # fmt: skip
    return replace(unit, functions=functions, globals=kept)
