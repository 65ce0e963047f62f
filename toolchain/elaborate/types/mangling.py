"""Symbols: the names of instances in the IR.

A symbol is fixed by what the instance is, never by the order in which things were met.
"""

import hashlib
from fractions import Fraction
from functools import partial

from ktc.base.editions import Edition
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    ModuleValue,
    Opaque,
    OriginValue,
    ParameterPack,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.ir import nodes
from ktc.targets.target import Target


def symbol_for(elab: Elaboration, fn: FunctionInfo, key: object, kernel: bool = False) -> str:
    """Return the symbol of an instance; it depends on names and parameter values only."""
    owner = fn.owner.name if fn.owner else ""
    text = f"{fn.module.symbol_name}:{owner}:{fn.name}:{_overload(elab, fn)}:{key_text(elab, key)}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[: 8 if kernel else 12]
    base = fn.name
    if not (base.isascii() and base.isidentifier()):
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
    return f"{base}_{digest}" if kernel else f"{base}${digest}"


def _overload(elab: Elaboration, fn: FunctionInfo) -> str:
    if fn.parent is None:
        return str(_ordinal(elab, fn))
    around = fn.parent.frame.instance
    return f"{fn.node.start}@{around.symbol if around is not None else ''}"


def _ordinal(elab: Elaboration, fn: FunctionInfo) -> int:
    names = fn.owner.members if fn.owner is not None else fn.module.scope.names
    found = names.get(fn.name)
    if not isinstance(found, OverloadSet) or fn not in found.functions:
        return 0
    # those of edition 2026 come last, so that a new one renames no function of the older edition
    functions = found.functions
    if found.by_edition:
        functions = sorted(functions, key=lambda one: one.edition is Edition.Y2026)
    return functions.index(fn)


def key_text(elab: Elaboration, value: object) -> str:
    """Return a text that is the same for equal parameter values, and different for different ones."""
    match value:
        case None:
            return "_"
        case tuple():
            return "(" + ",".join(map(partial(key_text, elab), value)) + ")"
        case StructTy():
            if not value.key:
                inner = key_text(elab, value.params) if value.params else ""
                closure = value.info.closure
                name = value.info.name if closure is None else closure.closure_name
                value.key = f"{value.info.module.symbol_name}.{name}{inner}"
            return value.key
        case ConstValue(_, nodes.Address(name, offset)):
            return f"&{name}+{offset}"
        case ConstValue(ty, data):
            return f"{key_text(elab, ty)}={_data_text(elab, data)}"
        case FunctionValue():
            fn = value.overloads.functions[0]
            owner = fn.owner.name if fn.owner else ""
            around = fn.parent if value.env is None else value.env
            where = f"{fn.module.symbol_name}:{owner}:{fn.name}:{fn.node.start if around is not None else ''}"
            instance = around.frame.instance if around is not None else None
            env = instance.symbol if instance is not None else ""
            given = key_text(elab, value.params) + key_text(elab, value.named) + key_text(elab, value.self_ty)
            return f"fn {where}{given}{env}"
        case FunctionTy(of=FunctionValue() as only):
            return key_text(elab, only)
        case FunctionTy(syntax=None):
            parts = ",".join(f"{word} {key_text(elab, kind)}" for word, kind in value.args)
            flags = f"{value.raises}{value.effects}{value.result_ref}"
            flags += key_text(elab, value.error) if value.error is not None else ""
            return f"fn({parts}){flags}->{key_text(elab, value.result)}"
        case ParameterPack(items):
            return "*" + key_text(elab, items)
        case PartialTy(info, params):
            return f"{info.module.symbol_name}.{info.name}{key_text(elab, params)}"
        case ModuleValue(module):
            return module.symbol_name
        case UnboundParameter(name):
            return f"?{name}"
        case Opaque():
            return "?"
        case _:
            return str(value)


def _data_text(elab: Elaboration, data: object) -> str:
    match data:
        case OriginValue(kind, mutable):
            return f"{kind}{mutable}"
        case tuple():
            return "(" + ",".join([repr(p) if type(p) is int else _data_text(elab, p) for p in data]) + ")"
        case nodes.Address(name, offset):
            return f"&{name}+{offset}"
        case Target():
            return data.name
        case float():
            return data.hex()
        case Fraction():
            return str(data)
        case _:
            return repr(data)
