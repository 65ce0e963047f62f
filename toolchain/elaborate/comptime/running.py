"""Running IR at compile time, and reporting its failures."""

import re
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

from ktc import passes
from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.builder import place_operations, variables
from ktc.elaborate.comptime.run_keys import computation
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import UnitState
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import Place, RValue, Var
from ktc.elaborate.types import struct_types
from ktc.ir import nodes, types, walk
from ktc.ir.interpreter.interpret import EvaluationError, Interpreter

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*")


def run(elab: Elaboration, body: Body, value: RValue | Place, span: Span) -> ConstValue:
    """Run what a body has emitted at compile time and return its value as a constant."""
    kind = struct_types.ir_type(elab, value.ty)
    held = value.ir if isinstance(value, RValue) else value.pointer
    emitted = (*body.hoisted, *body.statements)
    known = elab.instances.state.evaluated
    key = computation(emitted, held, kind, partial(_is_constant, elab))
    if key is not None and key in known:
        return ConstValue(value.ty, known[key])
    memory = interpreter_for(elab).memory
    unprinted = memory.unprinted
    const = _run(elab, body, value, span, emitted, held)
    if key is not None and memory.unprinted == unprinted:  # what was not printed is computed again where it is meant
        known[key] = const.value
    return ConstValue(value.ty, const.value)


def run_to_block(elab: Elaboration, body: Body, value: RValue | Place, span: Span) -> str:
    """Run what a body has emitted at compile time; return the name of a constant with the bytes of its value."""
    held = value.ir if isinstance(value, RValue) else value.pointer
    const = _run(elab, body, value, span, (*body.hoisted, *body.statements), held, True)
    assert isinstance(const.value, nodes.Address)
    return const.value.name


def _run(
    elab: Elaboration, body: Body, value: RValue | Place, span: Span, emitted: Sequence[nodes.Statement],
    held: nodes.Value, as_block: bool = False,
) -> nodes.Const:  # fmt: skip
    if _uses_outer_values(emitted, held):
        what, help = _run_time_name(body, span)
        text = f"{what} is known only at run time, and is needed at compile time"
        elab.report(Code.NON_CONSTANT_VALUE, text, span, help)
        raise ErrorReported
    kind = struct_types.ir_type(elab, value.ty)
    place_operations.store_bits(body, nodes.Argument(0, types.PTR), value)
    body.emit(nodes.Return(None))
    function = nodes.Function("comptime", "compile-time value", (("to", types.PTR),), types.VOID, body.finish())
    interpreter = interpreter_for(elab)
    interpreter.memory.is_quiet = elab.coverage.speculation is not None or elab.comptime.is_quiet
    try:
        address = interpreter.allocate(max(1, types.size_of(kind)), 64)
        interpreter.run(function, (address,))
        if as_block:
            const, made = interpreter.freeze(types.PTR, address)
        else:
            const, made = interpreter.freeze(kind, interpreter.read(kind, address))
    except EvaluationError as error:
        evaluation_failed(elab, error, span)
    for item in made:
        elab.instances.add_global(item)
    return const


def _is_constant(elab: Elaboration, name: str) -> bool:
    known = elab.instances.globals.get(name)
    return known.constant if known is not None else name in elab.instances.state.by_symbol


def evaluation_failed(elab: Elaboration, error: EvaluationError, span: Span) -> NoReturn:
    """Report that compile-time evaluation failed, with its chain of calls."""
    code = Code.COMPILE_TIME_EVALUATION_LIMIT if error.kind == "limit" else Code.COMPILE_TIME_EVALUATION_FAILED
    notes = [Label(at, f"in {title}") for title, at in error.stack if at is not None and at != span]
    if error.span is not None and (not notes or notes[-1].span != error.span):
        notes.append(Label(error.span, "failed here"))
    if error.kind == "trap":  # the message says why the library stopped; its own lines add nothing to it
        notes = [note for note in notes if not note.span.source.is_library]
    elab.report(code, f"this cannot be computed at compile time: {error.message}", span, extra=tuple(notes[-6:]))
    raise ErrorReported


def interpreter_for(elab: Elaboration) -> Interpreter:
    """Return the interpreter for the current target's functions."""
    state = elab.instances.state
    if state.interpreter is None:
        state.interpreter = Interpreter(
            lambda symbol: passes.settled(function_of(elab, state, symbol)),
            lambda name: elab.instances.globals.get(name) or state.shared.get(name),
            shapes=state.bodies.shapes if state.bodies is not None else None,
        )  # fmt: skip
    return state.interpreter


def function_of(elab: Elaboration, state: UnitState, symbol: str) -> nodes.Function:
    """Return the function of a symbol, elaborated if need be; KeyError if there is none."""
    instance = state.by_symbol.get(symbol)
    if instance is None or symbol in state.pending_destructors:
        found = work_queue.recall(elab, state, symbol)
        if found is not None:
            return found[0]
    if symbol in state.pending_destructors:
        elab.api.synthesize_destructor(elab, state.pending_destructors.pop(symbol), symbol)
    if symbol in state.synthesized:
        return state.synthesized[symbol][0]
    if instance is None:
        raise KeyError(symbol)
    elab.api.elaborate_instance(elab, instance)
    if instance.function is None:
        raise ErrorReported
    return instance.function


def _run_time_name(body: Body, span: Span) -> tuple[str, str]:
    """Return the name of an expression that has no compile-time value, and a help text."""
    is_2026 = body.frame.module.edition is Edition.Y2026
    word = "comptime" if is_2026 else "alias"
    for name in _NAME.findall(span.source.text[span.start : span.end]):
        var = variables.find(body, name)
        if isinstance(var, Var) and var.kind == "loop":
            return f"'{name}'", "write 'comptime for'" if is_2026 else "write '@parameter' above the loop"
        if isinstance(var, Var) and isinstance(var.ty, StructTy) and var.ty.info.closure is not None:
            return f"the closure '{name}'", "pass it as an argument, of a type 'F: def(…) -> …' that is a parameter"
        if isinstance(var, Var):
            help = "make it a parameter of the function" if var.kind == "arg" else f"declare it with '{word}'"
            return f"'{name}'", help
    return "this value", f"use '{word}' where it is declared, or a parameter"


def _uses_outer_values(body: Sequence[nodes.Statement], result: nodes.Value) -> bool:
    """Return whether a body uses values of the enclosing function."""
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
