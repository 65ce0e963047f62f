"""The type that a constructor makes, as the written type of its `out self` says: `out self: S[F[T]]`.

Input: the struct as it is called, and the parameters that its arguments bind.
Output: more of the struct's parameters are bound.
"""

import contextlib
from collections.abc import Sequence

from ktc.diag.codes import Code
from ktc.elaborate.generics import unification
from ktc.elaborate.instances.result_references import placeholder_argument
from ktc.elaborate.model.declarations import FunctionInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    ConstValue,
    Opaque,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.elaborate.types import type_relations
from ktc.elaborate.types.type_relations import is_static


def unify_self(
    elab: Elaboration,
    self_ty: StructTy,
    expected: StructTy | PartialTy,
    bound: dict[UnboundParameter, ParameterArgument],
) -> None:
    """Bind the parameters that the written type of `out self` determines; those that are given must agree with it.

    Raises:
        Mismatch: the constructor makes another type.
    """
    if expected.info is not self_ty.info:
        raise Mismatch(Code.TYPE_MISMATCH, "another type is constructed", weight=0)
    params: tuple[ParameterArgument, ...] = expected.params
    for have, value in zip(self_ty.params, map(unification.without_spread, params), strict=True):
        if isinstance(have, UnboundParameter):
            if value is not None and not _is_open(value):
                bound.setdefault(have, value)
        elif (
            value is not None
            and not unification.unify(elab, value, have, bound)
            and not type_relations.param_fits(elab, value, have)
            and not type_relations.param_fits(elab, have, value)
        ) or (is_static(have) and isinstance(value, ConstValue) and not is_static(value)):
            raise Mismatch(Code.TYPE_MISMATCH, "another type is constructed", weight=0)


def _is_open(value: ParameterArgument) -> bool:
    """Return whether a parameter of a written type is not known yet; of a pack, whether one of its items is not."""
    if isinstance(value, ParameterPack):
        return any(isinstance(item, Opaque) for item in value.items)
    return isinstance(value, (UnboundParameter, Opaque))


def infer_made(
    elab: Elaboration,
    fn: FunctionInfo,
    self_ty: StructTy,
    kinds: Sequence[Ty | None],
    pattern: unification.Pattern,
    bound: dict[UnboundParameter, ParameterArgument],
) -> None:
    """Bind a struct's parameters that `out self: S[...]` computes from parameters which the arguments have bound.

    Args:
        kinds: the types of the arguments, in order of `fn.node.args`; None where one is left out.
    """
    formal = next((arg for arg in fn.node.args if arg.convention == "out" and arg.name == "self"), None)
    values = {name: bound[symbol] for name, symbol in pattern.symbols.items() if symbol in bound}
    if formal is None or formal.type is None or len(values) < len(fn.node.params):
        return
    scope = Scope(unification.fn_scope_parent(elab, fn, self_ty), "function")
    scope.names.update(values)
    for arg, kind in zip(fn.node.args, kinds, strict=True):
        if isinstance(kind, StructTy):
            scope.names[arg.name] = placeholder_argument(arg.name, kind, fn, arg)
    with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
        made = elab.api.evaluate(elab, formal.type, scope, fn.module)
        if isinstance(made, StructTy) and made.info is self_ty.info:
            for own, its in zip(self_ty.params, made.params, strict=True):
                if isinstance(own, UnboundParameter):
                    bound.setdefault(own, its)
