"""The body of an instance, and the unit of what a program reaches."""

from ktc.base.records import replace
from ktc.elaborate.builder import ir_values
from ktc.elaborate.calls import inlining
from ktc.elaborate.functions import prologues
from ktc.elaborate.instances import work_queue
from ktc.elaborate.instances.instance_table import TARGETS_TABLE
from ktc.elaborate.model.elaboration import UNIT_CONST, Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import DependsOnProgram, Instance, Symbolic, UnitState
from ktc.elaborate.model.types import ConstValue, FunctionTy
from ktc.elaborate.model.values import Place, RValue, Values
from ktc.elaborate.types import struct_types
from ktc.ir import nodes, walk
from ktc.ir.exports import Exports

NO_EXPORTS = Exports()


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


def keep_launched(elab: Elaboration, host: nodes.Unit) -> None:
    """Forget the kernels that the host's code does not name: only unreachable code launches them."""
    named = {symbol for item in host.globals.values() if isinstance(item.content, nodes.Const)
             for symbol in walk.addresses_of(item.content.value)}  # fmt: skip
    images = {(item.content.unit, item.content.kernel) for item in host.globals.values()
              if isinstance(item.content, nodes.ImageRef)}  # fmt: skip
    for state in elab.instances.states.values():
        state.kernels = {
            symbol: kernel for symbol, kernel in state.kernels.items()
            if symbol in named or (state.index, symbol) in images
        }  # fmt: skip


def reachable_unit(elab: Elaboration, state: UnitState, exports: Exports = NO_EXPORTS) -> nodes.Unit:
    """Return what the entry and exported functions, or the kernels of a target, reach."""
    unit = nodes.Unit(state.target, exports=exports, described=elab.types.described)
    roots = [elab.instances.entry, *exports.roots()] if state.index < 0 else list(state.kernels)
    if state.archived is not None:
        roots.append(TARGETS_TABLE)  # the archive reads it
    work = [root for root in roots if root]
    seen: set[str] = set()
    while work:
        symbol = work.pop()
        if symbol in seen:
            continue
        seen.add(symbol)
        instance = state.by_symbol.get(symbol)
        archived = None if state.archived is None else state.archived.get(symbol)
        if archived is not None and (instance is None or instance.archived is not None):
            unit.functions[symbol] = archived
        elif symbol in state.synthesized:
            function, refs = state.synthesized[symbol]
            unit.functions[symbol] = function
            work += refs
        elif instance is not None:
            if not (instance.is_kernel and elab.instances.deferred_kernels is not None):
                # not yet there: only another kept body refers to it, or one that was met first in unreachable code
                elaborate_instance(elab, instance)
            if instance.function is not None:
                unit.functions[symbol] = instance.function
                work += instance.refs
        elif symbol in state.shared:
            unit.globals[symbol] = state.shared[symbol]
        elif symbol in elab.instances.globals:
            item = elab.instances.globals[symbol]
            if symbol in state.archived_variables:
                item = replace(item, linkage="external", content=None)
            unit.globals[symbol] = item
            if isinstance(item.content, nodes.Const):
                work += walk.addresses_of(item.content.value)
        else:
            kept = work_queue.recall(elab, state, symbol)
            if kept is not None:
                unit.functions[symbol] = kept[0]
                work += kept[1]
    unit.kernels = tuple(state.kernels[s] for s in sorted(state.kernels))
    return unit
