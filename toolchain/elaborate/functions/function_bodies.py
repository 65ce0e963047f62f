"""The body of an instance."""

from ktc.elaborate.builder import ir_values
from ktc.elaborate.calls import inlining
from ktc.elaborate.functions import prologues
from ktc.elaborate.instances import work_queue
from ktc.elaborate.model.elaboration import UNIT_CONST, Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import DependsOnProgram, Instance, Symbolic
from ktc.elaborate.model.types import ConstValue, FunctionTy
from ktc.elaborate.model.values import Place, RValue, Values
from ktc.elaborate.types import struct_types
from ktc.ir import nodes


def elaborate_instance(elab: Elaboration, instance: Instance) -> None:
    """Elaborate the body of an instance, unless that is done or in progress."""
    if instance.fn.parent is not None and elab.coverage.speculation is None:
        elab.coverage.note_reached(instance.fn.node)
    _elaborate(elab, instance)
    if elab.coverage.speculation is not None and not instance.fn.module.is_library and not instance.is_reelaborated:
        elab.coverage.speculation.instances.append(instance)


def _elaborate(elab: Elaboration, instance: Instance) -> None:
    if instance.function is not None or instance.in_progress or instance.failed:
        return
    if instance.has_stored_body:
        found = work_queue.recall(elab, instance.state, instance.symbol)
        assert found is not None
        instance.function, instance.refs = found[0], set(found[1])
        return
    instance.in_progress = True
    outer = elab.instances.enter(instance.state, instance)
    elab.instances.note_elaborated(instance.fn.uid)
    try:
        prologues.make_function(elab, instance)
    except (ErrorReported, Symbolic, DependsOnProgram):
        instance.failed = True
    except Mismatch as reason:
        instance.failed = True
        elab.report(reason.code, reason.message, reason.span or instance.fn.span(), reason.help(), instance)
    finally:
        instance.in_progress = False
        elab.instances.enter(*outer)


def make_template(elab: Elaboration, instance: Instance) -> None:
    """Expand a "builtin" function once with open arguments; where that gives one pure value, calls become that."""
    instance.template = False
    signature = instance.signature
    if signature.result != "direct" or any(
        a.variadic or (a.passing == "memory" and a.convention != "out") or isinstance(a.ty, FunctionTy)
        for a in signature.args
    ):
        return
    scratch = Body(elab, instance.fn.module, instance.scope, instance)
    values: Values = []
    count = 0
    for sig in signature.args:
        if sig.convention == "out":
            values.append(None)
        elif sig.passing == "direct":
            values.append(RValue(sig.ty, nodes.Argument(count, struct_types.ir_type(elab, sig.ty))))
            count += 1
        else:
            values.append(ConstValue(sig.ty, ()))
    errors = elab.reporter.sink.error_count
    try:
        made = inlining.inline(scratch, instance, values, instance.fn.span())
    except Symbolic:
        return
    is_pure = not (scratch.statements or scratch.hoisted or scratch.facts.address_taken)
    if elab.reporter.sink.error_count != errors or not is_pure or isinstance(made, Place):
        return
    if isinstance(made, (RValue, ConstValue)):
        value = ir_values.rvalue(scratch, made)
        if value is not UNIT_CONST and not scratch.statements:
            instance.template = value
            instance.refs = scratch.refs
