"""The names of functions for a linker, as `get_linkage_name` gives them: modules, types of arguments, parameters."""

from pathlib import Path

from ktc.diag.diagnostic import Sink
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ConstValue, FunctionValue, OriginValue, StructTy, TraitTy
from ktc.elaborate.types import struct_types, type_printer
from ktc.syntax import ast

_PASSED = {"mut": "&", "inout": "&", "var": "$", "owned": "$", "deinit": "$", "ref": "%"}


def linkage_name(elab: Elaboration, function: FunctionValue) -> str:
    """Return the name of a function with its place, its types and its parameters."""
    info = function.overloads.functions[0]
    if info.export:
        return info.export
    names = [param.name for param in info.node.params if param.kind != "infer"]
    given = [*zip(names, function.params, strict=False), *function.named]
    values = "".join(f",{name}={_value(elab, value)}" for name, value in given if value is not None)
    return _declared(elab, info) + values


def _declared(elab: Elaboration, info: FunctionInfo) -> str:
    """Return the name of a function as it is declared."""
    own = [param.name for param in info.node.params]
    params = ",".join(_type(elab, info, param, own[:at]) for at, param in enumerate(info.node.params))
    args = [arg for arg in info.node.args if arg.convention != "out"]
    shown = ",".join(_type(elab, info, arg, own) + _PASSED.get(arg.convention, "") for arg in args)
    text = f"{info.name}{f'[{params}]' if params else ''}({shown})"
    outer = info.parent.frame.instance if info.parent is not None else None
    if outer is not None:
        return f"{_declared(elab, outer.fn)}_{text}"
    owner = f"{info.owner.name}::" if info.owner is not None else ""
    return f"{_module(info.module)}::{owner}{text}"


def _module(module: ModuleInfo) -> str:
    name = Path(module.source.path).stem if module.name == "__main__" else module.name
    if module.is_library:
        name = "stdlib." + name.removeprefix("std.")
    return name.removesuffix(".__init__").replace(".", "::")


def _type(elab: Elaboration, info: FunctionInfo, arg: ast.Param, params: list[str]) -> str:
    """Return the type of an argument or a parameter; `$0` is the first parameter."""
    star = "*" if arg.kind == "star" else ""
    if arg.type is None:
        return f"{_module(info.module)}::{info.owner.name}" if isinstance(info.owner, StructInfo) else "?"
    if isinstance(arg.type, ast.Name) and arg.type.id in params:
        return f"${params.index(arg.type.id)}{star}"
    outer = elab.reporter.redirect(Sink())  # errors in the types are reported where they stand
    try:
        value = evaluation.param_arg(Body(elab, info.module, info.scope, None), arg.type)
    except (ErrorReported, Symbolic):
        return f"?{star}"
    finally:
        elab.reporter.redirect(outer)
    return _shown(elab, value) + star


def _shown(elab: Elaboration, value: object) -> str:
    """Return a type, or a value among its parameters."""
    match value:
        case StructTy():
            place = "" if value.info.module.is_library else _module(value.info.module)
            texts = ", ".join(_shown(elab, param) for param in value.params)
            return f"{place}::{value.info.name}{f'[{texts}]' if texts else ''}"
        case TraitTy():
            return f"::{type_printer.type_name(elab, value)}".replace(" & ", " & ::")
        case ConstValue(StructTy() as ty, data) if not isinstance(data, OriginValue):
            text = type_printer.qualified(elab, value, False).removeprefix(f"{ty.info.name}.")
            return f"{_shown(elab, ty)}({text})"
        case Ty():
            return type_printer.type_name(elab, value)
    return type_printer.qualified(elab, value, False)


def _value(elab: Elaboration, value: object) -> str:
    """Return the value of a parameter."""
    if isinstance(value, ConstValue) and isinstance(value.ty, StructTy) and value.ty.info.name == "IntLiteral":
        return str(evaluation.index_of(elab, value))
    if isinstance(value, FunctionValue):
        return f'"{linkage_name(elab, value)}"'
    if isinstance(value, ConstValue) and value.data in (True, False) and struct_types.abi(elab, value.ty) != "memory":
        return type_printer.qualified(elab, value, False).replace("True", "1").replace("False", "0")
    return type_printer.qualified(elab, value, False)
