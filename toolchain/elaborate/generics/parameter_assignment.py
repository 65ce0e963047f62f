"""Assignment of the values in a parameter list to parameters."""

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, Scope, StructInfo
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import Mismatch, at_parameter
from ktc.elaborate.model.instance import ArgumentSignature, Instance
from ktc.elaborate.model.types import Named, ParameterArgument, ParameterPack
from ktc.elaborate.model.values import Binding
from ktc.elaborate.types.type_relations import is_static
from ktc.syntax import ast


def requires_constant(body: Body, instance: Instance, sig: ArgumentSignature) -> bool:
    """Return whether an argument must be a compile-time constant."""
    name = origin_name(sig.node)
    if body.frame.comptime or not name:
        return False
    return is_static(lookup_quiet(body.elab, instance.scope, name, instance.fn))


def origin_name(arg: ast.Param) -> str:
    """Return the parameter that says where a `ref` argument is: `o` of `ref [o]` and `ref [Self.o]`, "" for others."""
    match arg.origin:
        case (ast.Name(id=name), *_) | (ast.Attribute(value=ast.Name(id="Self"), name=name), *_):
            return name
    return ""


def space_name(arg: ast.Param) -> str:
    """Return the parameter that says in which address space a `ref` argument is: `s` of `ref [o, s]`, "" for others."""
    match arg.origin:
        case (_, ast.Name(id=name)) | (_, ast.Attribute(value=ast.Name(id="Self"), name=name)):
            return name
    return ""


def lookup_quiet(elab: Elaboration, scope: Scope, name: str, fn: FunctionInfo) -> Binding:
    """Return a parameter's binding by name, without errors."""
    for at in scope.chain():
        if name in at.names:
            found: Binding = at.names[name]
            return found
    return None


@record
class ParameterList:
    """The parameters of a declaration.

    Args:
        params: as declared.
        module: the declaration's module.
        what: the declaration as messages show it.
        of: the struct whose parameters they are.
    """

    params: tuple[ast.Param, ...]
    module: ModuleInfo
    what: str
    of: StructInfo | None = None


def assign_parameters(
    elab: Elaboration,
    params: tuple[ast.Param, ...],
    positional: tuple[ParameterArgument, ...],
    named: Named,
    what: str,
    instead: str = "",
) -> dict[str, ParameterArgument]:
    """Assign written parameter values to names.

    Args:
        instead: the help of the error about too many values.

    Raises:
        Mismatch: too many, or an unknown name.
    """
    if not positional and not named:  # most calls write none
        return {}
    given: dict[str, ParameterArgument] = {}
    slots = [p for p in params if p.kind in ("pos", "any")]
    star = next((p for p in params if p.kind == "star"), None)
    count = 0
    rest: list[ParameterArgument] = []
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
            text = f"{what} takes {limit}, but {len(positional)} {'is' if len(positional) == 1 else 'are'} given"
            reason = Mismatch(Code.WRONG_PARAMETER_COUNT, text, weight=3, hint=instead)
            raise at_parameter(reason, "", len(slots))
    if star is not None and rest:
        given[star.name] = ParameterPack(tuple(rest)) if rest != [None] else None  # '*_' leaves it open
    by_name = {p.name for p in params} if named else set()
    for name, value in named:
        if name and name not in by_name:
            wrong = (name, tuple(p.name for p in params))
            reason = Mismatch(Code.UNKNOWN_ARGUMENT, f"{what} has no parameter '{name}'", weight=3, wrong=wrong)
            raise at_parameter(reason, name)
        if given.get(name) is not None:
            reason = Mismatch(Code.WRONG_PARAMETER_COUNT, f"parameter '{name}' of {what} is given twice", weight=3)
            raise at_parameter(reason, name)
        given[name] = value
    return given
