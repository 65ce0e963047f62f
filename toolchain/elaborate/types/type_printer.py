"""Printing of types, parameter values and instances, for messages and for reflection."""

from fractions import Fraction
from pathlib import Path

from ktc.diag.diagnostic import Sink
from ktc.elaborate.model.declarations import ModuleInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionValue,
    OriginValue,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    PrimTy,
    StructTy,
    is_symbolic,
    show,
    show_constant,
)
from ktc.elaborate.types import constant_printer, string_constants, struct_types
from ktc.elaborate.types.constant_printer import HIDDEN
from ktc.ir import types
from ktc.syntax import ast

_SHORT = frozenset({"Int", "UInt", "Bool", "String", "SIMD"})


def qualified(elab: Elaboration, value: object, builtins: bool) -> str:
    """Return the whole name of a type, or a value among its parameters.

    Args:
        builtins: Whether `Int` and its like have their modules too.
    """
    match value:
        case StructTy():
            return _qualified_struct(elab, value, builtins)
        case Ty():
            return type_name(elab, value)
        case ConstValue(_, OriginValue()):
            return "{}"
        case ConstValue(StructTy() as ty, data):
            return _qualified_constant(elab, ty, data, builtins)
        case ParameterPack() | FunctionValue():
            return HIDDEN
        case ConstValue(PrimTy(ir=None)) | ConstValue(PrimTy(), str()):
            return HIDDEN  # a target, the value of a literal
        case _:
            return "?" if is_symbolic(value) else show(value)


def _qualified_struct(elab: Elaboration, ty: StructTy, builtins: bool) -> str:
    info = ty.info
    name = info.name
    if info.closure is not None:
        return str(ty)
    if builtins or not info.module.is_library or name not in _SHORT:
        name = f"{_package_of(info.module)}{_module_name(info.module)}.{name}"
    texts = [qualified(elab, param, builtins) for param in (*_unwritten(elab, ty), *ty.params)]
    return f"{name}[{', '.join(texts)}]" if texts else name


def _unwritten(elab: Elaboration, ty: StructTy) -> list[ParameterArgument]:
    """Return the parameters that the types of a struct's parameters leave open: `dtype` and `size` of `v: SIMD`."""
    found: list[ParameterArgument] = []
    if ty.info.module.is_library:
        return found
    names = {param.name for param in ty.info.node.params}
    for param, value in zip(ty.info.node.params, ty.params, strict=True):
        own = value.ty.params if isinstance(value, ConstValue) and isinstance(value.ty, StructTy) else ()
        if own and isinstance(param.type, ast.Name) and param.type.id not in names:
            declared = elab.api.evaluate(elab, param.type, ty.info.module.scope, ty.info.module)
            if isinstance(declared, PartialTy):
                found += [a for a, b in zip(own, declared.params, strict=True) if b is None]
    return found


def _package_of(module: ModuleInfo) -> str:
    """Return the prefix of a module's name: the library's, but none for 'layout', which is a package of its own."""
    return "stdlib." if module.is_library and module.name.partition(".")[0] != "layout" else ""


def _module_name(module: ModuleInfo) -> str:
    name = Path(module.source.path).stem if module.name == "__main__" else module.name
    return name.removeprefix("std.").removesuffix(".__init__")


def _qualified_constant(elab: Elaboration, ty: StructTy, data: object, builtins: bool) -> str:
    prim = struct_types.base_prim(elab, ty)
    if ty.info.module.is_library and ty.info.name == "AddressSpace" and prim is not None:
        return show(ConstValue(prim, data))
    found = constant_printer.struct_constant(elab, ty, data, lambda part: qualified(elab, part, builtins))
    if found is not None:
        return found
    name = show_constant(ty, data)
    if builtins and name.startswith(f"{ty.info.name}."):
        return f"{_qualified_struct(elab, ty, builtins)}{name.removeprefix(ty.info.name)}"
    return name


_MAX_TEXT = 24


_MAX_NUMBER = 10**300


_NUMBERS = {"s": "Int", "u": "UInt", "f": "Float"}


def shown(elab: Elaboration, value: object) -> str:
    """Return a type or another parameter value for a message."""
    match value:
        case StructTy():
            if not value.shown:
                value.shown = _struct(elab, value)
            return value.shown
        case PrimTy(args=(_, *_)):
            return f"{value.name}[{', '.join(shown(elab, one) for one in value.args)}]"
        case ConstValue(_, OriginValue("static")):
            return "StaticConstantOrigin"
        case ConstValue(_, OriginValue("local", local=local)) if local is not None and local.name:
            return f"origin_of({local.name})"
        case ConstValue(_, OriginValue(kind, mutable)):
            name = "AnyOrigin" if kind == "any" else "Origin.external" if kind == "external" else "Origin"
            return ("Mut" if mutable else "Immut") + name
        case ConstValue(_, str() as text):
            return _truncated(text)
        case ConstValue(_, Fraction() as number):
            return repr(float(number)) if abs(number) < _MAX_NUMBER else str(number)[:_MAX_TEXT]
        case ParameterPack(items):
            return ", ".join(shown(elab, item) for item in items)
        case ConstValue(StructTy(params=(), info=info), (_, *_)) if "write_to" in info.members:
            return _truncated(_as_printed(elab, value), 3 * _MAX_TEXT, quoted=False)
        case ConstValue(StructTy() as ty, tuple() as lanes) if isinstance(struct_types.base_prim(elab, ty), PrimTy):
            return _truncated("[" + ", ".join(map(str, lanes)) + "]", 3 * _MAX_TEXT, quoted=False)
        case FunctionValue():
            return _truncated(str(value), 3 * _MAX_TEXT, quoted=False)
        case Ty():
            return str(value)
        case _:
            return _truncated(show(value), 3 * _MAX_TEXT, quoted=False)


def _struct(elab: Elaboration, ty: StructTy) -> str:
    name = ty.info.name
    if ty.info.closure is not None:
        return str(ty)
    if not ty.params:
        return name
    if ty.symbolic:
        return str(ty)
    if name == "SIMD" and ty.info.module.is_library:
        prim = struct_types.base_prim(elab, ty)
        if prim is not None and prim.lanes == 1:
            word = _NUMBERS.get(prim.kind)
            if word and isinstance(prim.ir, (types.IntType, types.FloatType)):
                return "BFloat16" if prim.ir == types.BF16 else f"{word}{prim.ir.bits}"
            if prim.kind == "b":
                return "Scalar[DType.bool]"
    params = list(zip(ty.info.node.params, ty.params, strict=True))[ty.info.first_printed_param :]
    return name + _in_brackets(elab, params, ty.scope, ty.info.module)


def printed_instance(elab: Elaboration, instance: "Instance") -> str:
    """Return a function with the parameters of an instance for a message."""
    fn = instance.fn
    params = [(p, value) for p, value in zip(fn.node.params, instance.param_values, strict=True) if p.kind != "infer"]
    name = fn.name if fn.owner is None else f"{fn.owner.name}.{fn.name}"
    return name + _in_brackets(elab, params, instance.scope, fn.module)


def _in_brackets(
    elab: Elaboration, params: list[tuple[ast.Param, ParameterArgument]], scope: Scope | None, module: ModuleInfo
) -> str:
    while params and _is_default(elab, params[-1], scope, module):
        params = params[:-1]
    texts = [shown(elab, value) for _, value in params]
    inside = ", ".join(text for text in texts if text)
    return f"[{inside}]" if inside else ""


def _is_default(
    elab: Elaboration, given: tuple[ast.Param, ParameterArgument], scope: Scope | None, module: ModuleInfo
) -> bool:
    """Return whether a parameter has its default value, which may depend on earlier parameters."""
    param, value = given
    if param.default is None or param.kind == "star" or scope is None or not isinstance(value, (ConstValue, StructTy)):
        return False
    if isinstance(value, ConstValue) and isinstance(value.data, OriginValue) and not value.data.mutable:
        return False
    try:
        usual = elab.api.typed_constant(elab, param.type, param.default, scope, module)
    except Exception:  # whatever is wrong with it, this is not the place to say so
        return False
    return usual is value if isinstance(value, StructTy) else isinstance(usual, ConstValue) and usual.data == value.data


def _as_printed(elab: Elaboration, value: ConstValue) -> str:
    """Return the text of `String(value)`: a person would not write a layout, say, as its fields."""
    scope = Scope(elab.modules.prelude_scope, "constant")
    scope.names["it"] = value
    node = ast.Call(0, 0, ast.Name(0, 0, "String"), (ast.Name(0, 0, "it"),), ())
    sink = elab.reporter.redirect(Sink())
    try:
        made = elab.api.evaluate(elab, node, scope, elab.modules.main)
        assert isinstance(made, ConstValue)
        return string_constants.string_of(elab, made.data[:2])
    except Exception:  # whatever is wrong with it, this is not the place to say so
        return show(value)
    finally:
        elab.reporter.redirect(sink)


def _truncated(text: str, limit: int = _MAX_TEXT, quoted: bool = True) -> str:
    text = text if len(text) <= limit else text[:limit] + "…"
    return '"' + text.replace("\n", "\\n") + '"' if quoted else text


def operand_text(value: object) -> str:
    """Return the word for an operand that has no type: a type, a function, a module, a method."""
    if type(value).__str__ is not object.__str__:
        return str(value)
    return {
        "Method": "a method",
        "PackValue": "a pack",
        "CollectionLiteral": "a display",
        "ModuleValue": "a module",
    }.get(type(value).__name__, "a name")


def type_name(elab: Elaboration, ty: object) -> str:
    """Return a type as written in source."""
    return shown(elab, ty)


def qualified_name(elab: Elaboration, ty: object, builtins: bool) -> str:
    """Return the name of a type with its module, as programs ask for it."""
    return qualified(elab, ty, builtins)
