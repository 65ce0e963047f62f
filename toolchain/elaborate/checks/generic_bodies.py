"""Generic declarations checked by themselves: the bounds of type parameters must promise all that a body uses.

Input: the main file's generic functions, structs and traits. Output: errors at the lines of their bodies, called or
not.

Each declaration is elaborated once with archetypes for its type parameters (`archetypes.py`), by the same code that
elaborates instances, when all else is done, and thrown away; a message counts if it is about an archetype or about
types that disagree, or if nothing in the declaration depends on a constant that was taken for a parameter. The roads
not taken: a second, smaller type checker over the tree would know less of the library and differ from the elaborator
where it matters; carrying the bound along with the types of an instance would cost every instance and would miss what
is never instantiated.
"""

import contextlib
from collections.abc import Callable, Mapping
from functools import partial

from ktc.elaborate.checks import speculation
from ktc.elaborate.checks.default_argument_checks import check_with
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.functions import function_bodies
from ktc.elaborate.generics import archetypes, unification
from ktc.elaborate.generics.refinement import assume
from ktc.elaborate.instances import instance_table, signatures
from ktc.elaborate.instances.instance_table import Specialisation
from ktc.elaborate.instances.result_references import placeholder_argument
from ktc.elaborate.instances.signatures import with_arguments
from ktc.elaborate.kernels.kernel_attributes import may_be_kernel
from ktc.elaborate.model.declarations import AliasInfo, FunctionInfo, OverloadSet, Scope, StructInfo, TraitInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Instance, Symbolic, unelaborated_copy
from ktc.elaborate.model.types import Actual, ConstValue, OriginValue, ParameterArgument, StructTy
from ktc.elaborate.tree.free_variables import parts
from ktc.elaborate.types import struct_members, struct_types, type_printer
from ktc.syntax import ast


def check_generics(elab: Elaboration) -> None:
    """Check the main file's generic declarations, and those of the program's other modules that are used."""
    _check_module(elab)
    if elab.coverage.edited_range is not None:
        return
    main, elab.coverage.only_used = elab.modules.main, True
    for module in list(elab.modules.infos.values()):
        if module is not main and not module.is_library:
            elab.modules.set_main(module)
            _check_module(elab)
    elab.modules.set_main(main)
    elab.coverage.only_used = False


def _check_module(elab: Elaboration) -> None:
    for value in list(elab.modules.main.scope.names.values()):
        if isinstance(value, StructInfo | TraitInfo | AliasInfo) and elab.coverage.leaves_out(value.node):
            continue
        match value:
            case OverloadSet():
                elab.coverage.outer_assumed_immutable = False
                for fn in value.functions:
                    _check_generic(elab, fn, lambda: None, False)
            case StructInfo() if value.module is elab.modules.main:
                _check_struct(elab, value)
            case TraitInfo() if value.module is elab.modules.main:
                from ktc.elaborate.checks.trait_conformance import check_cycle  # late: only for some programs

                check_cycle(elab, value)
                _check_trait(elab, value)
            case AliasInfo() if value.module is elab.modules.main and value.node.params and not elab.coverage.only_used:
                _check_open_alias(elab, value)


def _check_trait(elab: Elaboration, info: TraitInfo) -> None:
    archetypes.begin(elab)
    at = ast.Name(info.node.name_start, info.node.name_start + len(info.name), info.name)
    ty = archetypes.archetype(elab, "Self", struct_members.trait_type(elab, (info,)), elab.modules.main, at)
    if not elab.coverage.only_used:
        speculation.speculate(elab, info.node, info.span(), lambda: _try_aliases(elab, info, ty), 0, True)
        for member in info.members.values():
            for fn in member.functions if isinstance(member, OverloadSet) else ():
                if fn.node.body is None:
                    speculation.speculate(
                        elab, fn.node, fn.span(), partial(partial(_check_signature, elab), fn, ty), 0, True
                    )
    _check_methods(elab, info, lambda: ty, True)


def _check_open_alias(elab: Elaboration, info: AliasInfo) -> None:
    """Check an alias with parameters."""
    archetypes.begin(elab)

    def value() -> None:
        scope = Scope(info.scope, "function")
        given = archetypes.archetypes_of(elab, info.node.params, scope, info.module, {})
        _note_constants(elab, (*zip(info.node.params, given.values(), strict=False),), None)
        assert info.node.value is not None
        evaluation.typed_constant(elab, info.node.type, info.node.value, scope, info.module)

    speculation.speculate(elab, info.node, info.span(), value, 0, True)


def _check_signature(elab: Elaboration, fn: FunctionInfo, ty: StructTy) -> None:
    """Look at the types that a method without a body is declared with."""
    scope = Scope(unification.fn_scope_parent(elab, fn, ty), "function")
    archetypes.archetypes_of(elab, fn.node.params, scope, fn.module, {})
    inner = Scope(scope, "function")
    _actual(elab, fn, inner, ty)
    if fn.node.result is not None:
        evaluation.evaluate(elab, fn.node.result, inner, fn.module)


def _try_aliases(elab: Elaboration, info: StructInfo | TraitInfo, ty: StructTy) -> None:
    for member in info.members.values():
        if isinstance(member, AliasInfo):
            with contextlib.suppress(ErrorReported):
                evaluation.alias_value(elab, member, ty)


def _check_struct(elab: Elaboration, info: StructInfo) -> None:
    elab.coverage.outer_assumed_immutable = False
    if not info.node.params:
        _check_methods(elab, info, lambda: struct_types.struct_type(elab, info, ()), False)
        return
    made: dict[int, StructTy] = {}

    def own() -> StructTy:
        if elab.coverage.constant_choice not in made:
            scope = Scope(info.scope, "function")
            values = archetypes.archetypes_of(elab, info.node.params, scope, info.module, {})
            elab.coverage.outer_assumed_immutable = (
                elab.coverage.outer_assumed_immutable or elab.coverage.assumed_immutable
            )
            made[elab.coverage.constant_choice] = struct_types.struct_type(
                elab, info, tuple(values[p.name] for p in info.node.params)
            )
        return made[elab.coverage.constant_choice]

    def head() -> None:
        struct_types.fields_of(elab, own())

    def aliases() -> None:
        ty = own()
        _note_constants(elab, (), ty)
        _try_aliases(elab, info, ty)

    archetypes.begin(elab)
    if elab.coverage.only_used and not info.instances:
        return
    speculation.speculate(elab, info.node, info.span(), head, 0, False)
    if made and not elab.coverage.only_used:
        speculation.speculate(elab, info.node, info.span(), aliases, elab.coverage.uncertainty, True)
    if made:
        _check_methods(elab, info, own, True)


def _check_methods(
    elab: Elaboration, info: StructInfo | TraitInfo, own: Callable[[], StructTy], is_generic: bool
) -> None:
    around, uncertainty = (
        elab.generics.archetypes,
        elab.coverage.uncertainty if isinstance(info, StructInfo) and is_generic else 0,
    )
    for member in info.members.values():
        for fn in member.functions if isinstance(member, OverloadSet) else ():
            _check_generic(elab, fn, own, is_generic, uncertainty, around)


def _check_generic(
    elab: Elaboration, fn: FunctionInfo, own: Callable[[], StructTy | None], is_generic: bool, uncertainty: int = 0,
    around: dict[str, StructInfo] | None = None,
) -> None:  # fmt: skip
    if (
        fn.module is not elab.modules.main
        or fn.node.body is None
        or elab.coverage.leaves_out(fn.node)
        or (elab.coverage.only_used and fn.uid not in elab.instances.elaborated)
    ):
        return
    is_open = is_generic or bool(fn.node.params) or archetypes.is_open(elab, fn)
    uninstantiated = uninstantiated_spans(elab, fn)
    if not is_open and not uninstantiated:
        return
    called = fn.uid in elab.instances.elaborated
    archetypes.begin(elab, around if is_generic else None)
    if not is_open and may_be_kernel(elab.config, fn):
        elab.coverage.speculation_state = elab.instances.states[elab.config.accelerators[0].name]
    elab.coverage.uninstantiated_spans = () if any(param.kind == "star" for param in fn.node.params) else uninstantiated
    try:
        speculation.speculate(
            elab,
            fn.node,
            fn.span(),
            lambda: _elaborate_alone(elab, fn, own(), called and not uninstantiated),
            uncertainty,
            not called,
        )
    finally:
        elab.coverage.speculation_state, elab.coverage.uninstantiated_spans = None, ()


def _elaborate_alone(
    elab: Elaboration, fn: FunctionInfo, ty: StructTy | None, is_shown: bool, env: Body | None = None
) -> None:
    scope = Scope(unification.fn_scope_parent(elab, fn, ty), "function")
    elab.coverage.constants_taken = len(ty.params) if ty is not None else 0
    given = archetypes.archetypes_of(elab, fn.node.params, scope, fn.module, {})
    first = fn.node.args[0] if fn.node.args else None
    if ty is not None and not fn.static and first is not None and first.type is not None:
        written = evaluation.evaluate(elab, first.type, scope, fn.module)
        if isinstance(written, StructTy) and written.info is ty.info:
            ty = written
    actual = _actual(elab, fn, Scope(scope, "function"), ty)
    has_defaults = any(arg.default is not None for arg in fn.node.args)
    is_seen = (
        not elab.generics.archetypes
        and not elab.coverage.uncertainty
        and not elab.coverage.assumed_immutable
        and not _has_several_origins(given, ty)
    )
    if is_seen and is_shown and not has_defaults:
        return  # there is nothing in it that an instance does not show
    instance = instance_table.instance(elab, Specialisation(fn, ty, given, actual, env), None, fn.span())
    if instance.function is not None or instance.failed:  # one that is used has the same parameters
        instance = unelaborated_copy(instance)
    if has_defaults:
        check_with(elab, instance)
    _conditions(elab, fn, instance)
    _note_constants(elab, (*zip(fn.node.params, given.values(), strict=False),), ty)
    if instance_table.open_arguments(elab, instance):
        return
    for condition in (*fn.node.where, *(ty.info.node.where if ty is not None else ())):
        assume(elab, condition, instance.scope, fn.module)
    function_bodies.elaborate_instance(elab, instance)
    _elaborate_nested(elab)
    for inner in elab.coverage.nested:
        if inner.uid not in elab.instances.elaborated and inner.module is elab.modules.main:
            with contextlib.suppress(ErrorReported):
                closure = inner.closure_type
                around = inner.parent if closure is None else None
                _elaborate_alone(elab, inner, closure if isinstance(closure, StructTy) else None, False, around)
    elab.coverage.nested.clear()


def _has_several_origins(given: Mapping[str, ParameterArgument], ty: StructTy | None) -> bool:
    """Return whether there are several origins, which are one to the instances."""
    values = (*given.values(), *(ty.params if ty is not None else ()))
    return len({one.data.name for one in values if isinstance(one, ConstValue) and _is_origin(one.data)}) > 1


def _is_origin(data: object) -> bool:
    return isinstance(data, OriginValue) and data.name != ""


def _elaborate_nested(elab: Elaboration) -> None:
    queue = elab.instances.state.queue  # empty before: this comes last
    while queue:
        inner = queue.pop()
        if inner.fn.parent is not None:
            function_bodies.elaborate_instance(elab, inner)


def _conditions(elab: Elaboration, fn: FunctionInfo, instance: Instance) -> None:
    """Look at the names in `where` conditions; whether these hold says nothing here."""
    if not fn.node.where:
        return
    scope = with_arguments(fn, instance.signature.args, instance.scope)
    uncertainty, elab.coverage.uncertainty = elab.coverage.uncertainty, 2
    for node in fn.node.where:
        with contextlib.suppress(ErrorReported, Symbolic, Mismatch):
            evaluation.evaluate(elab, node, scope, fn.module)
    elab.coverage.uncertainty = uncertainty


def _note_constants(
    elab: Elaboration, own: tuple[tuple[ast.Param, ParameterArgument], ...], ty: StructTy | None
) -> None:
    around = zip(ty.info.node.params, ty.params, strict=True) if ty is not None else ()
    taken = [(p, v) for p, v in (*around, *own) if isinstance(v, ConstValue) and not isinstance(v.data, OriginValue)]
    assert elab.coverage.speculation is not None
    elab.coverage.speculation.constants = ", ".join(f"{p.name} = {type_printer.type_name(elab, v)}" for p, v in taken)


def _actual(elab: Elaboration, fn: FunctionInfo, scope: Scope, ty: StructTy | None) -> list[Actual]:
    """Return types for the arguments whose declarations leave something open; the scope gets all arguments."""
    found: list[Actual] = []
    for arg in fn.node.args:
        kind = signatures.declared_type(elab, arg, scope, fn, ty)
        have = archetypes.open_type(elab, kind, arg.name, scope, fn.module, arg)
        found.append([have] if arg.kind == "star" and have is not None else have)
        known = have or kind
        if isinstance(known, Ty):
            scope.names[arg.name] = placeholder_argument(arg.name, known, fn, arg)
    return found


def uninstantiated_spans(elab: Elaboration, fn: FunctionInfo) -> list[tuple[int, int]]:
    """Return the spans of the function's code that no instance elaborated."""
    candidates = fn.patterns.get("hides")
    if candidates is None:
        candidates = fn.patterns["hides"] = tuple(filter(_may_hide, parts(fn.node.body)))
    is_open = bool(fn.node.params) or (isinstance(fn.owner, StructInfo) and bool(fn.owner.node.params))
    found: list[tuple[int, int]] = []
    for part in candidates:
        if isinstance(part, ast.If):
            for taken, arm in ((True, part.body), (False, part.orelse)):
                if arm and (part, taken) not in elab.coverage.arms:
                    found.append((arm[0].start, arm[-1].end))
        elif part not in elab.coverage.reached and (is_open or part.params):
            found.append((part.start, part.end))
    return found


def _may_hide(part: ast.Node) -> bool:
    return (isinstance(part, ast.If) and part.comptime) or isinstance(part, ast.FunctionDecl)
