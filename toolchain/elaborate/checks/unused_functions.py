"""The main file's functions that nothing reaches: they are elaborated for their mistakes.

Input: the main file. Output: diagnostics. Generic declarations are checked by themselves (`generic_bodies.py`), all
others as instances.
"""

import contextlib

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.elaborate.builder.variables import CLOSURE
from ktc.elaborate.checks.default_argument_checks import check_defaults
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.functions import function_bodies
from ktc.elaborate.generics import archetypes
from ktc.elaborate.instances import instance_table, work_queue
from ktc.elaborate.instances.instance_table import Specialisation
from ktc.elaborate.kernels.kernel_attributes import may_be_kernel
from ktc.elaborate.model.declarations import AliasInfo, FunctionInfo, OverloadSet, StructInfo
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import StructTy
from ktc.elaborate.types import struct_types

_NEEDS_A_USE = frozenset(
    (Code.UNSATISFIED_CONSTRAINT, Code.COMPILE_TIME_EVALUATION_FAILED, Code.COMPILE_TIME_EVALUATION_LIMIT)
)
"""Errors that only a use can show."""


def check_rest(elab: Elaboration) -> None:
    """Elaborate the main file's functions that have no parameters and that nothing called, for their mistakes."""
    # it is for a target that the program does not start it on, so what it needs there says nothing
    elab.reporter.ignore(frozenset() if elab.is_archive else _NEEDS_A_USE)
    _check_all(elab)
    work_queue.drain(elab)
    _check_nested(elab)
    work_queue.drain(elab)
    elab.reporter.ignore(frozenset())


def check_edited(elab: Elaboration, start: int, end: int) -> None:
    """Check only the main file's declarations that touch some characters: their bodies, and no other's.

    Errors that appear only in an instance of another declaration (the launch of a kernel) are not found.
    """
    elab.coverage.edited_range = start, end
    main = elab.modules.main.scope.names.get("main")
    entry = main.functions[0] if isinstance(main, OverloadSet) else None
    if entry is not None:
        _check_function(elab, entry)
    elab.reporter.ignore(_NEEDS_A_USE)
    _check_all(elab)
    _check_nested(elab)
    elab.reporter.ignore(frozenset())
    for state in elab.instances.states.values():
        state.queue.clear()  # bodies of other functions


def check_sizes(elab: Elaboration) -> None:
    """Lay out the main file's structs: an infinite one is reported, used or not."""
    for value in list(elab.modules.main.scope.names.values()):
        if isinstance(value, StructInfo) and value.module is elab.modules.main and not value.node.params:
            with contextlib.suppress(ErrorReported):
                struct_types.ir_type(elab, struct_types.struct_type(elab, value, ()))


def _check_all(elab: Elaboration) -> None:
    for value in list(elab.modules.main.scope.names.values()):
        if elab.coverage.edited_range is None:
            check_defaults(elab, value)
        if isinstance(value, OverloadSet):
            for fn in value.functions:
                _check_function(elab, fn)
            continue
        if isinstance(value, AliasInfo):
            _check_alias(elab, value)
            continue
        if not isinstance(value, StructInfo) or value.module is not elab.modules.main:
            continue
        if elab.coverage.leaves_out(value.node):
            continue
        from ktc.elaborate.checks import trait_conformance  # late: only for some programs

        trait_conformance.check_traits(elab, value)
        if not value.node.params:
            ty = struct_types.struct_type(elab, value, ())
            try:
                struct_types.fields_of(elab, ty)
            except ErrorReported:
                continue
            for member in value.members.values():
                if isinstance(member, OverloadSet):
                    for fn in member.functions:
                        _check_function(elab, fn, ty)
                elif isinstance(member, AliasInfo):
                    _check_alias(elab, member, ty)


def _check_nested(elab: Elaboration) -> None:
    """Elaborate nested functions that nothing calls, in functions that have no parameters."""
    called = {fn.node for fn in elab.coverage.nested if fn.uid in elab.instances.elaborated}
    for fn in elab.coverage.nested:
        around = fn.parent.frame.instance
        open_ = (
            fn.node.params
            or any(arg.type is None and arg.name != CLOSURE for arg in fn.node.args)
            or archetypes.is_open(elab, fn)
        )
        if fn.module is not elab.modules.main or around is None or around.is_parametric or open_ or fn.node in called:
            continue
        called.add(fn.node)
        outer = elab.instances.enter_state(around.state)
        try:
            ty = fn.closure_type
            _check_instance(elab, fn, ty if isinstance(ty, StructTy) else None, fn.parent if ty is None else None)
        finally:
            elab.instances.enter_state(outer)
    elab.coverage.nested.clear()


def _check_alias(elab: Elaboration, alias: AliasInfo, ty: StructTy | None = None) -> None:
    if alias.module is not elab.modules.main or alias.node.params or alias.node.value is None:
        return
    if elab.coverage.leaves_out(alias.node):
        return
    used = alias.values or (ty is not None and any(key.startswith(f"{alias.uid}@") for key in ty.aliases))
    if not used:  # one that only kernels use may mean nothing on the host
        with contextlib.suppress(ErrorReported, Symbolic, Mismatch):
            evaluation.alias_value(elab, alias, ty)


def _check_function(elab: Elaboration, fn: FunctionInfo, ty: StructTy | None = None) -> None:
    if (
        fn.module is not elab.modules.main
        or fn.node.params
        or fn.node.body is None
        or fn.unavailable
        or _is_derived_text(fn)
        or elab.coverage.leaves_out(fn.node)
    ):
        return
    if any(a.type is None and a.name != "self" for a in fn.node.args):
        return
    if fn.uid in elab.instances.elaborated or archetypes.is_open(elab, fn):
        return
    on_device = may_be_kernel(elab.config, fn)
    states = elab.instances.states
    outer = elab.instances.enter_state(states[elab.config.accelerators[0].name] if on_device else elab.instances.state)
    try:
        _check_instance(elab, fn, ty)
    finally:
        elab.instances.enter_state(outer)


def _is_derived_text(fn: FunctionInfo) -> bool:
    """Return whether a method is the `__repr__` of edition 2026 that nobody wrote; some fields may have no text."""
    return (
        fn.node.name == "__repr__"
        and isinstance(fn.owner, StructInfo)
        and fn.module.edition is Edition.Y2026
        and fn.node.start == fn.owner.node.name_start
    )


def _check_instance(elab: Elaboration, fn: FunctionInfo, ty: StructTy | None, env: Body | None = None) -> None:
    try:
        actual = [None] * len(fn.node.args)
        instance = instance_table.instance(elab, Specialisation(fn, ty, {}, actual, env), None, fn.span())
    except (ErrorReported, Symbolic, Mismatch):
        return
    if not instance_table.open_arguments(elab, instance):
        function_bodies.elaborate_instance(elab, instance)
