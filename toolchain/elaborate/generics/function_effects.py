"""Forms of functions: whether one captures, keeps what it captured, or raises, and which form a function type asks for.

Input: a function of the program with its parameters and arguments given. Output: a `Mismatch` for a function that has
another form than the type that is written there. The library's own functions take more than they say.
"""

from collections.abc import Sequence

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.generics import parameter_binding
from ktc.elaborate.model.declarations import FunctionInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import Mismatch, at_parameter, place_of
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import FunctionValue, Opaque, ParameterArgument, UnboundParameter
from ktc.elaborate.model.values import Arg, Slot
from ktc.elaborate.types import well_known
from ktc.syntax import ast

_FORMS = ("capturing", "escaping")


def check_forms(
    elab: Elaboration, fn: FunctionInfo, given: dict[str, ParameterArgument], slots: Sequence[Slot]
) -> None:
    """Raise a `Mismatch` if a function that is given does not have the form that a parameter or an argument wants."""
    for param in fn.node.params:
        if isinstance(param.type, ast.FunctionType):
            try:
                _check(elab, fn, f"parameter '{param.name}'", param.type, given.get(param.name), None)
            except Mismatch as reason:
                raise at_parameter(reason, param.name, place_of(param, fn.node.params)) from None
    for arg, slot in zip(fn.node.args, slots, strict=True):
        if isinstance(arg.type, ast.FunctionType) and isinstance(slot, Arg):
            _check(elab, fn, f"argument '{arg.name}'", arg.type, slot.value, slot.span)


def _check(
    elab: Elaboration, fn: FunctionInfo, what: str, expected: ast.FunctionType, value: object, span: Span | None
) -> None:
    if not isinstance(value, FunctionValue) or len(value.overloads.functions) != 1:
        return
    info = value.overloads.functions[0]
    have = _form(elab, value, info)
    expected_name = next((word for word in _FORMS if word in expected.effects), "")
    if have == "" and expected_name == "capturing" and info.module.edition is Edition.Y2026:
        have = expected_name
    if have is None or (have == expected_name and info.raises == (expected.raises or expected.is_def)):
        return
    asked, given = _words(expected.raises or expected.is_def, expected_name), _words(info.raises, have)
    text = f"{what} of {fn.title} must be a function of type '{asked}', and '{value.overloads.name}' has type '{given}'"
    raise Mismatch(Code.TYPE_MISMATCH, text, span, 2, hint=_help(value.overloads.name, expected_name, have))


def _help(name: str, expected: str, have: str) -> str:
    """Return how to pass a function that captures where the type does not allow it."""
    if expected or not have:
        return ""
    return f"'{name}' captures variables: write '{have}' in the function type, or pass them as arguments"


def _words(raises: bool, form: str) -> str:
    return "fn" + " raises" * raises + (f" {form}" if form else "")


def _form(elab: Elaboration, value: FunctionValue, info: FunctionInfo) -> str | None:
    """Return "capturing" for what captures by reference, "escaping" for what keeps copies, "" for what captures
    nothing; None where that is not known."""
    if info.parameter:
        return "capturing"
    if info.parent is None:
        return ""
    if "unified" in info.node.effects:
        return None
    thin = elab.api.thin_type(elab, value)
    return None if thin is None else "escaping" if "escaping" in thin.effects else ""


def error_type(elab: Elaboration, fn: FunctionInfo, scope: Scope) -> Ty | None:
    """Return the type that stands after `raises`; None for `Error`."""
    node = fn.node.error
    assert node is not None
    value = parameter_binding.open_alias(elab, elab.api.evaluate(elab, node, scope, fn.module))
    if not isinstance(value, Ty):
        if isinstance(value, (UnboundParameter, Opaque)):
            raise Symbolic
        elab.fail(Code.TYPE_MISMATCH, "a type is expected after 'raises'", Span(fn.module.source, node.start, node.end))
    return None if value is well_known.error_type(elab) else value
