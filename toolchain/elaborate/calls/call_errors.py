"""Errors of calls that no overload matches: one error from the mismatch of each overload."""

from collections.abc import Sequence
from typing import NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Label
from ktc.diag.source import Span
from ktc.elaborate.calls import parameter_inference
from ktc.elaborate.model.declarations import FunctionInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.values import Arg
from ktc.elaborate.resolve.hints import call_hint, foreign_call_hint
from ktc.elaborate.tree.parameter_spans import parameter_node
from ktc.elaborate.types import type_printer, well_known

FEW, MANY = 4, 10
"""So many overloads are all shown; of more those that are near, up to so many."""


_ORDER = (2, 5, 4, 1, 3, 0)
"""A type is wrong; a parameter is unknown; the number or a name of arguments; of parameters; another type is meant."""


def no_match(
    body: Body,
    name: str,
    failures: list[tuple[FunctionInfo, Mismatch]],
    pos: Sequence[Arg],
    kw: Sequence[Arg],
    span: Span,
) -> NoReturn:
    """Report why no overload matches: the reason of the nearest overload, or all reasons."""
    if not failures:
        body.fail(Code.NO_MATCHING_OVERLOAD, f"'{name}' cannot be called here", span)
    if any(arg.start == arg.end for fn, _ in failures for arg in fn.node.args[:1]):
        raise ErrorReported  # the declaration has a mistake, which is reported there
    if body.elab.coverage.speculation is not None:  # whether a condition holds is known with the types only
        failures = [one for one in failures if one[1].code is Code.UNSATISFIED_CONSTRAINT] or failures
    failures = sorted(failures, key=lambda failure: _ORDER.index(failure[1].weight))
    near = [one for one in failures if one[1].weight == failures[0][1].weight]
    fn, reason = near[0]
    if len({(one.code, one.message, one.span) for _, one in near}) == 1 or all(map(_lacks_conformance, near)):
        notes = tuple(Label(fn.span(), "declared here") for fn, _ in near)
        written = parameter_node(body.site.callee_syntax, reason, fn.name)
        where = reason.span or (
            _argument_of(body, reason.culprit, (*pos, *kw), span) if written is None else body.at(written)
        )
        help = reason.help() or foreign_call_hint(fn.name, fn.module.is_library, reason.code.id)
        body.elab.report(reason.code, reason.message, where, help, body.frame.instance, notes[:3])
        raise ErrorReported
    reasons = dict[str, Label]()
    for one, reason in failures if len(failures) <= FEW else near:
        reasons.setdefault(reason.message, Label(one.span(), reason.message))
    what = f"constructor of {fn.title}" if fn.name == "__init__" else f"overload of {fn.title}"
    given = [f"'{_shown(body, arg)}'" for arg in pos if arg.span != span] + [f"{arg.name}=" for arg in kw]
    text = f"no {what} accepts these arguments" + (f": {', '.join(given)}" if given else "")
    hints = [reason.help() for _, reason in failures if reason.code is Code.UNSATISFIED_TRAIT]
    foreign = foreign_call_hint(name, fn.module.is_library, Code.NO_MATCHING_OVERLOAD.id)
    help = next(filter(None, hints), "") or call_hint(name, given) or foreign
    body.elab.report(Code.NO_MATCHING_OVERLOAD, text, span, help, body.frame.instance, tuple(reasons.values())[:MANY])
    raise ErrorReported


def _argument_of(body: Body, kind: object, given: Sequence[Arg], span: Span) -> Span:
    """Return the span of the argument of a type, or that of the call if there is none."""
    found = (
        arg.span
        for arg in given
        if (have := parameter_inference.type_of(body, arg.value)) is not None
        and kind in (have, well_known.materialized(body.elab, have))
    )
    return next(found, span)


def _lacks_conformance(failure: tuple[FunctionInfo, Mismatch]) -> bool:
    """Return whether a library overload requires a missing conformance: the first such error is reported for all."""
    return failure[1].code is Code.UNSATISFIED_TRAIT and failure[0].module.is_library


def _shown(body: Body, arg: Arg) -> str:
    kind = parameter_inference.type_of(body, arg.value)
    return "…" if kind is None else type_printer.type_name(body.elab, kind)
