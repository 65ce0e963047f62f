"""Symbols: the names of instances in the IR.

A symbol is fixed by what the instance is, never by the order in which things were met.
"""

import hashlib
from typing import Any

from ktc.elaborate.model.declarations import FnInfo
from ktc.elaborate.model.values import (
    KV,
    FnTy,
    FnVal,
    ModuleVal,
    OriginValue,
    PackPV,
    PartialTy,
    StructTy,
)  # fmt: skip
from ktc.elaborate.types.struct_types import Structs
from ktc.ir import nodes
from ktc.targets.target import Target


class Symbols(Structs):
    """The part of the elaborator that names things."""

    def symbol_for(self, fn: FnInfo, key: Any, kernel: bool = False) -> str:
        """Return the symbol of an instance; it depends on names and parameter values only."""
        if fn.export and not kernel and fn.export != "main" and not fn.node.params and fn.owner is None:
            return fn.export
        text = (
            f"{fn.module.name}:{fn.owner.name if fn.owner else ''}:{fn.name}:{self._overload(fn)}:{self.key_text(key)}"
        )
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[: 8 if kernel else 12]
        base = fn.name
        if not (base.isascii() and base.isidentifier()):
            base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
        return f"{base}_{digest}" if kernel else f"{base}${digest}"

    def _overload(self, fn: FnInfo) -> str:
        if fn.parent is None:
            return str(self._ordinal(fn))
        around = fn.parent.instance
        return f"{fn.node.start}@{around.symbol if around is not None else ''}"

    def _ordinal(self, fn: FnInfo) -> int:
        names = fn.owner.members if fn.owner is not None else fn.module.scope.names
        found = names.get(fn.name)
        functions = getattr(found, "functions", None)
        return functions.index(fn) if functions and fn in functions else 0

    def key_text(self, value: Any) -> str:
        """Return a text that is the same for equal parameter values, and different for different ones."""
        match value:
            case None:
                return "_"
            case tuple():
                return "(" + ",".join(map(self.key_text, value)) + ")"
            case StructTy():
                if not value.key:
                    inner = self.key_text(value.params) if value.params else ""
                    value.key = f"{value.info.module.name}.{value.info.name}{inner}"
                return value.key
            case KV(_, nodes.Address(name, offset)):
                return f"&{name}+{offset}"
            case KV(ty, data):
                return f"{self.key_text(ty)}={self._data_text(data)}"
            case FnVal():
                fn = value.set.functions[0]
                owner = fn.owner.name if fn.owner else ""
                where = f"{fn.module.name}:{owner}:{fn.name}:{fn.node.start if value.env is not None else ''}"
                env = value.env.instance.symbol if value.env is not None and value.env.instance is not None else ""
                given = self.key_text(value.params) + self.key_text(value.named) + self.key_text(value.self_ty)
                return f"fn {where}{given}{env}"
            case FnTy(of=FnVal() as only):
                return self.key_text(only)
            case FnTy(ast=None):
                parts = ",".join(f"{word} {self.key_text(kind)}" for word, kind in value.args)
                flags = f"{value.raises}{value.effects}{value.result_ref}"
                return f"fn({parts}){flags}->{self.key_text(value.result)}"
            case PackPV(items):
                return "*" + self.key_text(items)
            case PartialTy(info, params):
                return f"{info.module.name}.{info.name}{self.key_text(params)}"
            case ModuleVal(module):
                return module.name
            case _:
                return str(value)

    def _data_text(self, data: Any) -> str:
        match data:
            case OriginValue(kind, mutable):
                return f"{kind}{mutable}"
            case tuple():
                return "(" + ",".join([repr(p) if type(p) is int else self._data_text(p) for p in data]) + ")"
            case nodes.Address(name, offset):
                return f"&{name}+{offset}"
            case Target():
                return data.name
            case float():
                return data.hex()
            case _:
                return repr(data)
