"""Evaluation at compile time: what a body has emitted is run, and its value is a constant.

In: IR of a body that is no part of any unit. Out: a constant, and globals for the memory that it points to.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.comptime.run_keys import computation
from ktc.elaborate.instances.body_store import Bodies, KeptBody
from ktc.elaborate.instances.instance_table import Instances, UnitState
from ktc.elaborate.model.declarations import ModuleInfo, Scope, Var
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import KV, LV, RV, StructTy
from ktc.ir import nodes, types, walk
from ktc.ir.interpret import EvaluationError, Interpreter

if TYPE_CHECKING:
    from ktc.elaborate.builder.place_operations import Places

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


class Evaluation(Instances):
    """The part of the elaborator that runs code."""

    def run(self, body: "Places", value: Any, span: Span) -> KV:
        """Run what a body has emitted at compile time and return its value as a constant."""
        kind = self.ir(value.ty)
        held = value.ir if isinstance(value, RV) else value.pointer
        emitted = (*body.hoisted, *body.statements)
        known = self.state.computed
        key = computation(emitted, held, kind, self._is_constant)
        if key is not None and key in known:
            return KV(value.ty, known[key])
        const = self._ran(body, value, span, emitted, held)
        if key is not None:
            known[key] = const.value
        return KV(value.ty, const.value)

    def run_to_block(self, body: "Places", value: RV | LV, span: Span) -> str:
        """Run what a body has emitted at compile time; return the name of a constant with the bytes of its value."""
        held = value.ir if isinstance(value, RV) else value.pointer
        const = self._ran(body, value, span, (*body.hoisted, *body.statements), held, True)
        assert isinstance(const.value, nodes.Address)
        return const.value.name

    def _ran(
        self, body: "Places", value: Any, span: Span, emitted: Sequence[nodes.Statement], held: nodes.Value,
        as_block: bool = False,
    ) -> nodes.Const:  # fmt: skip
        if _reaches_out(emitted, held):
            what, help = _run_time_name(body, span)
            text = f"{what} is known only at run time, and is needed at compile time"
            self.report(Code.NOT_COMPILE_TIME, text, span, help)
            raise Abort
        kind = self.ir(value.ty)
        body.store_bits(nodes.Argument(0, types.PTR), value)
        body.emit(nodes.Return(None))
        function = nodes.Function("comptime", "compile-time value", (("to", types.PTR),), types.VOID, body.finish())
        interpreter = self.interpreter()
        try:
            address = interpreter.allocate(max(1, types.size_of(kind)), 64)
            interpreter.run(function, (address,))
            if as_block:
                const, made = interpreter.freeze(types.PTR, address)
            else:
                const, made = interpreter.freeze(kind, interpreter.read(kind, address))
        except EvaluationError as error:
            self.evaluation_failed(error, span)
        for item in made:
            self.globals[item.name] = item
        return const

    def materialized(self, ty: Any, pack: bool = False) -> Any:
        """Return a literal's run-time type (in `Elaborator`)."""
        raise NotImplementedError

    def settled_type(self, ty: Any) -> Any:
        """Return the type that a parameter of this type says for another one: a literal's run-time type."""
        return self.materialized(ty) if isinstance(ty, StructTy) else ty

    def _is_constant(self, name: str) -> bool:
        known = self.globals.get(name)
        return known.constant if known is not None else name in self.state.by_symbol

    def evaluation_failed(self, error: EvaluationError, span: Span) -> NoReturn:
        """Report that compile-time evaluation failed, with its chain of calls."""
        code = Code.COMPILE_TIME_LIMIT if error.kind == "limit" else Code.COMPILE_TIME_FAILED
        notes = [Label(at, f"in {title}") for title, at in error.stack if at is not None and at != span]
        if error.span is not None and (not notes or notes[-1].span != error.span):
            notes.append(Label(error.span, "failed here"))
        self.report(code, f"this cannot be computed at compile time: {error.message}", span, extra=tuple(notes[-6:]))
        raise Abort

    def interpreter(self) -> Interpreter:
        """Return the interpreter for the current target's functions."""
        state = self.state
        if state.interpreter is None:
            state.interpreter = Interpreter(
                lambda symbol: self.function_of(state, symbol), self.globals.get,
                shapes=state.bodies.shapes if state.bodies is not None else None,
            )  # fmt: skip
        return state.interpreter

    def check_where(
        self, conditions: Sequence[Any], scope: Scope, module: ModuleInfo, what: str, made: Any = None
    ) -> None:
        """Check the `where` conditions of a declaration with its parameters; not of a struct that is still open.

        Raises:
            Mismatch: one does not hold.
        """
        if not conditions or (made is not None and (not isinstance(made, StructTy) or made.symbolic)):
            return
        for node in conditions:
            if not getattr(self.evaluate(node, scope, module), "data", True):
                raise Mismatch(Code.CONSTRAINT_FAILED, f"a 'where' condition of {what} does not hold", weight=2)

    def function_of(self, state: UnitState, symbol: str) -> nodes.Function:
        """Return the function of a symbol, elaborated if need be; KeyError if there is none."""
        instance = state.by_symbol.get(symbol)
        if instance is None or symbol in state.undrawn:
            found = self.recall(state, symbol)
            if found is not None:
                return found[0]
        if symbol in state.undrawn:
            self.draw_destructor(state.undrawn.pop(symbol), symbol)
        if symbol in state.extra:
            return state.extra[symbol][0]
        if instance is None:
            raise KeyError(symbol)
        self.elaborate_instance(instance)
        if instance.function is None:
            raise Abort
        return instance.function

    def recall(self, state: UnitState, symbol: str) -> KeptBody | None:
        """Return the body of a library function that is kept, and what it refers to; None if none is kept."""
        found = state.bodies.get(symbol) if state.bodies is not None else None
        if found is not None:
            assert state.bodies is not None
            for name in found[1]:
                if name not in self.globals:
                    self._recall_constant(state.bodies, name)
        return found

    def _recall_constant(self, bodies: Bodies, name: str) -> None:
        made = bodies.constant(name)
        if made is None:
            return
        self.globals[name] = made
        if isinstance(made.content, nodes.Const):
            for inner in walk.addresses_of(made.content.value):
                if inner not in self.globals:
                    self._recall_constant(bodies, inner)


def _run_time_name(body: Any, span: Span) -> tuple[str, str]:
    """Return what to call an expression of the user's that no compile-time value can be made of, and what to do."""
    for name in _NAME.findall(span.source.text[span.start : span.end]):
        var = body.find(name)
        if isinstance(var, Var) and var.kind == "loop":
            return f"'{name}'", "write '@parameter' above the loop"
        if isinstance(var, Var):
            help = "make it a parameter of the function" if var.kind == "arg" else "declare it with 'alias'"
            return f"'{name}'", help
    return "this value", "use 'alias' where it is declared, or a parameter"


def _reaches_out(body: Sequence[nodes.Statement], result: nodes.Value) -> bool:
    """Does a body use values of the function around it: what it neither computes nor declares."""
    own: set[object] = set()
    used: list[nodes.Value] = [result]
    for statement in walk.statements(tuple(body)):
        used += walk.operands(statement)
        if isinstance(statement, nodes.Let) and statement.temp is not None:
            own.add(statement.temp)
        elif isinstance(statement, nodes.Declare):
            own.add(statement.local)
    for leaf in walk.leaves(used):
        match leaf:
            case nodes.Argument():
                return True
            case nodes.Temp():
                outside = leaf not in own
            case nodes.LocalAddress(local):
                outside = local not in own
            case _:
                outside = False
        if outside:
            return True
    return False
