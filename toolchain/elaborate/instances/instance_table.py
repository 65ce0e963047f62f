"""The table of instances: one for each (declaration, parameter values, open types, target)."""

from collections.abc import Container, Mapping, Sequence
from typing import NoReturn

from ktc.base.records import record, replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics import unification
from ktc.elaborate.generics.function_types import environments
from ktc.elaborate.instances import signatures
from ktc.elaborate.instances.signatures import is_specialised
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Instance, UnitState
from ktc.elaborate.model.types import (
    Actual,
    FunctionTy,
    FunctionValue,
    OpenTy,
    ParameterArgument,
    PartialTy,
    StructTy,
    TraitTy,
)
from ktc.elaborate.types import mangling, struct_types
from ktc.targets.target import Target

MAX_DEPTH = 400
"""Instantiations in one another; more is taken for a recursion without end."""


TARGETS_TABLE = "ktc.targets"
"""Symbol of the program's list of device targets."""


@record
class Specialisation:
    """A function with the types and values that determine its instance.

    Args:
        fn: the declaration.
        self_ty: the struct of a method.
        given: the value of each parameter.
        actual: the type of each argument of the call, for declared types that leave something open.
        env: of a nested function that captures: the body in which it stands.
        kernel: the instance is the entry of a kernel.
    """

    fn: FunctionInfo
    self_ty: StructTy | None
    given: Mapping[str, ParameterArgument]
    actual: Sequence[Actual]
    env: Body | None = None
    kernel: bool = False


def instance(elab: Elaboration, wanted: Specialisation, asking: Body | None, span: Span | None = None) -> Instance:
    """Return the instance of a function with these parameters; its signature is made on the first call.

    Args:
        asking: the body with the call; None where no code of a program calls it.
        span: the call; that of `asking` if it is None.
    """
    fn, actual, kernel = wanted.fn, wanted.actual, wanted.kernel
    state = elab.instances.state
    values = tuple(struct_types.canonical(elab, wanted.given[p.name]) for p in fn.node.params)
    canonical_self = struct_types.canonical_struct(elab, wanted.self_ty) if wanted.self_ty is not None else None
    call_span = span or (asking.frame.span if asking is not None else None)
    place = _place(call_span) if fn.reads_call_location else ()
    key = (fn.uid, canonical_self, values, kernel, *place)
    plain = state.by_parameters.get(key)
    if plain is not None:
        return plain
    scope = Scope(unification.fn_scope_parent(elab, fn, canonical_self), "function")
    for param, value in zip(fn.node.params, values, strict=True):
        scope.names[param.name] = value
    declared: list[ParameterArgument] | None = state.memo.get(key)
    if declared is None:
        declared = signatures.declared_types(elab, fn, scope, canonical_self, actual)
        if not any(isinstance(kind, (PartialTy, TraitTy)) for kind in declared):
            state.memo[key] = declared
    open_types = tuple(
        signatures.known(elab, kind, have) if isinstance(kind, FunctionTy) and is_specialised(arg, fn)
        else signatures.open_key(elab, kind, have)
        for arg, kind, have in zip(fn.node.args, declared, actual, strict=True)
        if isinstance(kind, (PartialTy, TraitTy, FunctionTy))
    )  # fmt: skip
    full = (key, open_types)
    found = state.instances.get(full)
    if found is None:
        parent = asking.frame.instance if asking is not None else elab.instances.current
        depth = parent.depth + 1 if parent is not None else 0
        if depth > MAX_DEPTH:
            _fail_endless_instantiation(elab, fn, call_span, parent)
        symbol = mangling.symbol_for(elab, fn, (canonical_self, values, open_types, *place), kernel)
        if symbol in state.by_symbol:  # of a function that is nested in a loop that is unrolled
            symbol = _unique_symbol(symbol, state.by_symbol)
        signature = signatures.signature(elab, fn, canonical_self, scope, declared, actual)
        found = Instance(fn, symbol, values, scope, canonical_self, state, signature, parent, call_span, depth)
        found.environments = environments(elab, (*values, *open_types, canonical_self))
        env = wanted.env
        if env is not None and all(known.overloads.functions[0] is not fn for known in found.environments):
            found.environments = (*found.environments, FunctionValue(OverloadSet(fn.name, [fn]), (), (), None, env))
        found.is_kernel = kernel
        if fn.parent is None and fn.module.is_library and not found.environments:
            found.archived = None if state.archived is None else state.archived.get(symbol)
            found.has_stored_body = state.bodies is not None and symbol in state.bodies.symbols
        state.instances[full] = found
        if key in state.memo and not open_types:
            state.by_parameters[key] = found
        state.by_symbol[symbol] = found
    return found


def _place(span: Span | None) -> tuple[str, int, int]:
    return (span.source.path, span.start, span.end) if span is not None else ("", 0, 0)


def open_arguments(elab: Elaboration, instance: Instance) -> bool:
    """Return whether a signature has an open type."""
    return any(isinstance(a.ty, (TraitTy, OpenTy)) for a in instance.signature.args)


def _fail_endless_instantiation(
    elab: Elaboration, fn: FunctionInfo, span: Span | None, parent: Instance | None
) -> NoReturn:
    """Report a function that instantiates itself, once for all that do so through one another."""
    if fn.uid not in elab.instances.nonterminating:
        elab.report(Code.INSTANTIATION_LIMIT, f"'{fn.name}' instantiates itself without end", span, "", parent)
    while parent is not None:
        elab.instances.nonterminating.add(parent.fn.uid)
        parent = parent.parent
    raise ErrorReported


def _unique_symbol(symbol: str, taken: Container[str]) -> str:
    """Return a symbol that is not taken: this one with a number."""
    number = 2
    while f"{symbol}_{number}" in taken:
        number += 1
    return f"{symbol}_{number}"


def device_state(elab: Elaboration, target: Target) -> UnitState:
    """Return the state of a device target."""
    known = elab.instances.states
    state = known.get(target.name)
    if state is None or state.index < 0:
        state = known.get("device " + target.name)
    if state is None:
        name = "device " + target.name if target.name == elab.config.host.name else target.name
        state = elab.instances.add_state(name, UnitState(target, len(known) - 1))
    return state


def single_target_state(elab: Elaboration, target: Target) -> UnitState:
    """Return the state of the host of a program that has only this target."""
    state = elab.instances.launch_states.get(target.name)
    if state is None:
        host = replace(elab.config.host, name=f"{elab.config.host.name} for {target.name}")
        state = elab.instances.launch_states[target.name] = UnitState(host, -1, assumed_targets=(target,))
    return state
