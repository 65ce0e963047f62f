"""Types and parameter values in messages: as a person would write them.

In: a type. Out: its text with the usual aliases of numbers, without parameters that have their default values, and with
long texts cut.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ktc.diag.diagnostic import Sink
from ktc.elaborate.model.declarations import ModuleInfo, Scope
from ktc.elaborate.model.values import KV, FnVal, OriginValue, PackPV, PrimTy, StructTy, Ty, show
from ktc.ir import types
from ktc.syntax import ast

if TYPE_CHECKING:
    from ktc.elaborate.instances.instance_table import Instance
    from ktc.elaborate.types.struct_types import Structs

_MAX_TEXT = 24
_MAX_NUMBER = 10**300
_NUMBERS = {"s": "Int", "u": "UInt", "f": "Float"}


def shown(elab: "Structs", value: Any) -> str:
    """Return a type or another parameter value for a message."""
    match value:
        case StructTy():
            if not value.shown:
                value.shown = _struct(elab, value)
            return value.shown
        case PrimTy(args=(_, *_)):
            return f"{value.name}[{', '.join(shown(elab, one) for one in value.args)}]"
        case KV(_, OriginValue("static")):
            return "StaticConstantOrigin"
        case KV(_, OriginValue(kind, mutable)):
            name = "AnyOrigin" if kind == "any" else "Origin"
            return ("Mut" if mutable else "Immut") + name
        case KV(_, str() as text):
            return _cut(text)
        case KV(_, Fraction() as number):
            return repr(float(number)) if abs(number) < _MAX_NUMBER else str(number)[:_MAX_TEXT]
        case PackPV(items):
            return ", ".join(shown(elab, item) for item in items)
        case KV(StructTy(params=(), info=info), (_, *_)) if "write_to" in info.members:
            return _cut(_as_printed(elab, value), 3 * _MAX_TEXT, quoted=False)
        case KV(StructTy() as ty, tuple() as lanes) if isinstance(elab.base_prim(ty), PrimTy):
            return _cut("[" + ", ".join(map(str, lanes)) + "]", 3 * _MAX_TEXT, quoted=False)
        case FnVal():
            return _cut(str(value), 3 * _MAX_TEXT, quoted=False)
        case Ty():
            return str(value)
        case _:
            return _cut(show(value), 3 * _MAX_TEXT, quoted=False)


def _struct(elab: "Structs", ty: StructTy) -> str:
    name = ty.info.name
    if not ty.params:
        return name
    if ty.symbolic:
        return str(ty)
    if name == "SIMD" and ty.info.module.is_library:
        prim = elab.base_prim(ty)
        if prim is not None and prim.lanes == 1:
            word = _NUMBERS.get(prim.kind)
            if word and isinstance(prim.ir, (types.IntType, types.FloatType)):
                return "BFloat16" if prim.ir == types.BF16 else f"{word}{prim.ir.bits}"
            if prim.kind == "b":
                return "Scalar[DType.bool]"
    params = list(zip(ty.info.node.params, ty.params, strict=True))[ty.info.first_shown :]
    return name + _in_brackets(elab, params, ty.scope, ty.info.module)


def shown_instance(elab: "Structs", instance: "Instance") -> str:
    """Return a function with the parameters of an instance for a message."""
    fn = instance.fn
    params = [(p, value) for p, value in zip(fn.node.params, instance.given, strict=True) if p.kind != "infer"]
    name = fn.name if fn.owner is None else f"{fn.owner.name}.{fn.name}"
    return name + _in_brackets(elab, params, instance.scope, fn.module)


def _in_brackets(elab: "Structs", params: list[tuple[Any, Any]], scope: Scope | None, module: ModuleInfo) -> str:
    while params and _is_default(elab, params[-1], scope, module):
        params = params[:-1]
    texts = [shown(elab, value) for _, value in params]
    inside = ", ".join(text for text in texts if text)
    return f"[{inside}]" if inside else ""


def _is_default(elab: "Structs", given: tuple[Any, Any], scope: Scope | None, module: ModuleInfo) -> bool:
    """Has a parameter the value of its default, which may depend on those before it."""
    param, value = given
    if param.default is None or param.kind == "star" or scope is None or not isinstance(value, (KV, StructTy)):
        return False
    try:
        usual = elab.typed_constant(param.type, param.default, scope, module)
    except Exception:  # whatever is wrong with it, this is not the place to say so
        return False
    return usual is value if isinstance(value, StructTy) else isinstance(usual, KV) and usual.data == value.data


def _as_printed(elab: "Structs", value: KV) -> str:
    """Return what `String(value)` gives: the fields of a layout, say, are no numbers that a person would write."""
    scope = Scope(elab.prelude_scope, "constant")
    scope.names["it"] = value
    node = ast.Call(0, 0, ast.Name(0, 0, "String"), (ast.Name(0, 0, "it"),), ())
    sink, elab.sink = elab.sink, Sink()
    try:
        made = elab.evaluate(node, scope, elab.main)
        return elab.string_of(made.data[:2])
    except Exception:  # whatever is wrong with it, this is not the place to say so
        return show(value)
    finally:
        elab.sink = sink


def _cut(text: str, limit: int = _MAX_TEXT, quoted: bool = True) -> str:
    text = text if len(text) <= limit else text[:limit] + "…"
    return '"' + text.replace("\n", "\\n") + '"' if quoted else text


def said(value: object) -> str:
    """Return what a message calls an operand that has no type: a type, a function, a module, a method."""
    if type(value).__str__ is not object.__str__:
        return str(value)
    return {"Method": "a method", "PackVal": "a pack", "DisplayVal": "a display", "ModuleVal": "a module"}.get(
        type(value).__name__, "a name"
    )
