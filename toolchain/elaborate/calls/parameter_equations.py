"""Parameters that stand only inside calls: `fn f[m: Int, k: Int](a: Tensor[Layout.row_major(m, k)])`.

Input: a function, a call's arguments, the parameters that are not inferred otherwise. Output: integers for these. A
function cannot be run backwards, but what it made of its numbers usually shows them: the numbers within the argument's
own parameter are tried, and count where exactly one choice of them gives that parameter.
"""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import product

from ktc.diag.diagnostic import Sink
from ktc.elaborate.calls import parameter_inference
from ktc.elaborate.generics import unification
from ktc.elaborate.model.declarations import FunctionInfo, Scope
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ConstValue, Opaque, ParameterArgument, StructTy, UnboundParameter
from ktc.elaborate.model.values import Arg, Slot
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import well_known
from ktc.syntax import ast

_MAX_CHOICES = 150
"""A hundred evaluations cost a tenth of a second, and are made where the call would be an error else."""


def solve_calls(
    body: Body, fn: FunctionInfo, self_ty: StructTy | None, given: dict[str, ParameterArgument], slots: Sequence[Slot]
) -> None:
    """Add to the given parameters the numbers with which calls in the types of arguments were made."""
    params = {p.name: p for p in fn.node.params}
    for formal, slot in zip(fn.node.args, slots, strict=True):
        if not isinstance(slot, Arg) or not isinstance(formal.type, ast.Subscript):
            continue
        have = parameter_inference.type_of(body, slot.value)
        if not isinstance(have, StructTy):
            continue
        for node in (*formal.type.args, *(keyword.value for keyword in formal.type.keywords)):
            if not isinstance(node, ast.Call):
                continue
            mentioned = names_in(node)
            open_names = [name for name in params if name in mentioned and name not in given]
            if open_names and all(_is_int(params[name]) for name in open_names):
                scope = Scope(unification.fn_scope_parent(body.elab, fn, self_ty), "function", dict(given))
                _solve(body, node, have, open_names, scope, fn, given)


def solve_self(
    body: Body, fn: FunctionInfo, self_ty: StructTy, bound: dict[UnboundParameter, ParameterArgument]
) -> None:
    """Bind what a constructor's `out self: S[f(n)]` computes of parameters that its arguments told."""
    elab, node = body.elab, fn.node.args[0].type if fn.name == "__init__" and fn.node.args else None
    told = {own.name: value for own, value in bound.items() if own.owner == fn.uid and value is not None}
    open_ones = [own for own in self_ty.params if isinstance(own, UnboundParameter) and own not in bound]
    if node is None or not open_ones or len(told) < len(fn.node.params):
        return
    scope = Scope(unification.fn_scope_parent(elab, fn, self_ty), "function", dict(told))
    sink, outer = elab.reporter.redirect(Sink()), elab.coverage.set_speculation(None)
    try:
        with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
            made = elab.api.evaluate(elab, node, scope, fn.module)
            if isinstance(made, StructTy) and made.info is self_ty.info:
                for own, value in zip(self_ty.params, made.params, strict=True):
                    if isinstance(own, UnboundParameter) and not isinstance(value, (UnboundParameter, Opaque)):
                        bound.setdefault(own, value)
    finally:
        elab.reporter.redirect(sink)
        elab.coverage.set_speculation(outer)


def _is_int(param: ast.Param) -> bool:
    return isinstance(param.type, ast.Name) and param.type.id == "Int"


def _solve(
    body: Body,
    node: ast.Call,
    have: StructTy,
    names: list[str],
    scope: Scope,
    fn: FunctionInfo,
    given: dict[str, ParameterArgument],
) -> None:
    elab = body.elab
    expected = [value for value in have.params if isinstance(value, ConstValue) and isinstance(value.ty, StructTy)]
    numbers = list(dict.fromkeys(n for value in expected for n in _numbers(value.data)))
    if len(numbers) ** len(names) > _MAX_CHOICES:
        return
    kind = well_known.library_type(elab, "Int")
    found: list[dict[str, ParameterArgument]] = []
    # that a choice makes no sense is no mistake of anybody's
    sink, outer = elab.reporter.redirect(Sink()), elab.coverage.set_speculation(None)
    try:
        for choice in product(numbers, repeat=len(names)):
            tentative: dict[str, ParameterArgument] = {
                name: ConstValue(kind, number) for name, number in zip(names, choice, strict=True)
            }
            scope.names.update(tentative)
            with contextlib.suppress(ErrorReported, Mismatch, Symbolic):
                if elab.api.evaluate(elab, node, scope, fn.module) in expected:
                    found.append(tentative)
    finally:
        elab.reporter.redirect(sink)
        elab.coverage.set_speculation(outer)
    if len(found) == 1:
        given.update(found[0])


def _numbers(data: object) -> Iterator[int]:
    """Yield the whole numbers of a plain value, in their order."""
    if isinstance(data, tuple):
        for part in data:
            yield from _numbers(part)
    elif isinstance(data, int):
        yield data
