"""Which parameter gets which of the values that are written in a parameter list."""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.model.declarations import FunctionInfo, Scope
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import Mismatch, at_parameter
from ktc.elaborate.model.types import ParameterPack
from ktc.elaborate.types.type_relations import is_static
from ktc.syntax import ast


def wants_constant(body: Body, instance: Any, sig: Any) -> bool:
    """Must an argument be one of the program's constants; what is known while compiling is."""
    origin = sig.node.origin[0] if sig.node.origin else None
    if body.frame.comptime or not isinstance(origin, ast.Name):
        return False
    return is_static(lookup_quiet(body.elab, instance.scope, origin.id, instance.fn))


def lookup_quiet(elab: Elaboration, scope: Scope, name: str, fn: FunctionInfo) -> Any:
    """Return a parameter's binding by name, without errors."""
    for at in scope.chain():
        if name in at.names:
            return at.names[name]
    return None


def give(
    elab: Elaboration,
    params: tuple[ast.Param, ...],
    positional: tuple[Any, ...],
    named: tuple[tuple[str, Any], ...],
    what: str,
) -> dict[str, Any]:
    """Assign written parameter values to names.

    Raises:
        Mismatch: too many, or an unknown name.
    """
    if not positional and not named:  # most calls write none
        return {}
    given: dict[str, Any] = {}
    slots = [p for p in params if p.kind in ("pos", "any")]
    star = next((p for p in params if p.kind == "star"), None)
    count = 0
    rest: list[Any] = []
    for value in positional:
        if count < len(slots):
            given[slots[count].name] = value
            count += 1
        elif star is not None:
            if isinstance(value, ParameterPack):
                rest.extend(value.items)
            else:
                rest.append(value)
        else:
            limit = f"at most {len(slots)} parameter{'s' if len(slots) != 1 else ''}" if slots else "no parameters"
            why = Mismatch(Code.PARAMETER_COUNT, f"{what} takes {limit}, but {len(positional)} are given", weight=3)
            raise at_parameter(why, "", len(slots))
    if star is not None and rest:
        given[star.name] = ParameterPack(tuple(rest))
    by_name = {p.name for p in params} if named else set()
    for name, value in named:
        if name and name not in by_name:
            wrong = (name, tuple(p.name for p in params))
            why = Mismatch(Code.UNKNOWN_ARGUMENT, f"{what} has no parameter '{name}'", weight=3, wrong=wrong)
            raise at_parameter(why, name)
        if given.get(name) is not None:
            why = Mismatch(Code.PARAMETER_COUNT, f"parameter '{name}' of {what} is given twice", weight=3)
            raise at_parameter(why, name)
        given[name] = value
    return given
