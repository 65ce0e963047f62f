"""Linear types: values of structs with `@explicit_destroy`, which are never destroyed implicitly.

Input: a type, where a body asks for its destructor. Output: a note for the passes that reaching it is a mistake there,
or an error where a body itself would destroy the value. Generic code knows nothing of it: there the destructor runs.
"""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.generics import archetypes
from ktc.elaborate.model.declarations import StructInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ParameterPack, StructTy
from ktc.elaborate.types import struct_types, type_printer


def note_destructor(body: Body, ty: StructTy, symbol: str) -> None:
    """Record that a body must not reach the destructor of a linear type."""
    if _is_linear(body, ty):
        body.facts.linear[symbol] = (type_printer.type_name(body.elab, ty), ty.info.explicit_destroy or "")


def check_dropped(body: Body, ty: Ty, span: Span | None) -> None:
    """Report a value of a linear type that is destroyed here."""
    if isinstance(ty, StructTy) and _is_linear(body, ty):
        kind = type_printer.type_name(body.elab, ty)
        text = f"the value is not consumed, and values of type '{kind}' are not destroyed implicitly"
        body.elab.report(Code.UNCONSUMED_VALUE, text, span, ty.info.explicit_destroy or "", body.frame.instance)


def check_fields(elab: Elaboration, info: StructInfo) -> None:
    """Report a struct that implicitly destroys a field of a linear type."""
    if info.explicit_destroy is not None or "__del__" in info.members:
        return
    try:
        fields = struct_types.fields_of(elab, archetypes.own_type(elab, info))
    except (ErrorReported, Symbolic):  # Symbolic: a parameter has no stand-in
        return
    for name, kind in fields:
        if isinstance(kind, StructTy) and kind.info.explicit_destroy is not None:
            held = type_printer.type_name(elab, kind)
            text = f"'{info.name}' has no '__del__' that consumes its field '{name}' of type '{held}'"
            help_text = kind.info.explicit_destroy or "write one, or '@explicit_destroy' above the struct"
            elab.reporter.sink.report(Diagnostic(Code.UNCONSUMED_VALUE, info.span(), text, help_text))


def _is_linear(body: Body, ty: StructTy) -> bool:
    """Return whether a body must consume the values of a type that it names directly."""
    if ty.info.explicit_destroy is None or body.frame.module.is_library or body.frame.instance is None:
        return False
    instance = body.frame.instance
    inside = instance.self_ty.params if instance.self_ty is not None else ()
    return not any(_holds(given, ty) for given in (*instance.param_values, *inside))


def _holds(given: object, ty: StructTy) -> bool:
    if isinstance(given, ParameterPack):
        return any(_holds(one, ty) for one in given.items)
    return given is ty or (isinstance(given, StructTy) and any(_holds(one, ty) for one in given.params))
