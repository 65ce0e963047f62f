"""Names: what a name stands for where it is used.

In: a name and its place. Out: a value, or what the name is of (a type, a function, a module).
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.closures.function_pointers import FunctionValues
from ktc.elaborate.model.declarations import AliasInfo, FnSet, StructInfo, TraitInfo, Var
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.values import (
    FOREIGN,
    KV,
    LV,
    RV,
    FnVal,
    PartialTy,
)  # fmt: skip
from ktc.elaborate.resolve.suggestions import read_only_argument, suggest_name
from ktc.ir import nodes
from ktc.syntax import ast


class Names(FunctionValues):
    """The part of a body that finds what names mean."""

    def find(self, name: str) -> Any:
        """Return the binding of a name, or None."""
        return self.elab.find(name, self.scope, self.module)

    def name(self, node: ast.Name) -> Any:
        """Elaborate a name."""
        found = self.elab.find(node.id, self.scope, self.module)
        if found is None:
            return self.unknown(node)
        return self.resolve(found, node)

    def unknown(self, node: ast.Name) -> Any:
        """Handle the few names that the language itself defines, else report."""
        if node.id in ("__mlir_type", "__mlir_op", "__type_of", "type_of", "__origin_of", "origin_of", "Some"):
            self.fail(Code.SYNTAX_ERROR, f"'{node.id}' cannot stand alone", self.at(node))
        if node.id == "_":
            return None
        names: list[str] = []
        for scope in self.scope.chain():
            if node.id in scope.names or "*" in scope.names:
                raise Abort  # a failed import, which was reported
            names += scope.names
        if self.elab.prelude_scope is not None:
            names += (name for name in self.elab.prelude_scope.names if not name.startswith("__"))
        fn = self.instance.fn if self.instance is not None else None
        around = next((scope.struct.info for scope in self.scope.chain() if scope.struct is not None), None)
        if around is not None and isinstance(around.members.get(node.id), AliasInfo):
            help = f"write 'Self.{node.id}'"
        elif fn is not None and isinstance(fn.owner, StructInfo) and node.id in fn.owner.members:
            help = f"write '{fn.owner.name if fn.static else 'self'}.{node.id}'"
        elif fn is not None and fn.static and node.id == "self":
            help = "a static method has no 'self'"
        else:
            help = suggest_name(node.id, names, self.elab.config.stdlib)
        self.fail(Code.UNDEFINED_NAME, f"'{node.id}' is not defined", self.at(node), help)

    def resolve(self, found: Any, node: Any) -> Any:
        """Turn a binding into what an expression gives."""
        match found:
            case Var():
                return self.variable(found, node)
            case FnSet():
                return FnVal(found, env=found.functions[0].parent)
            case StructInfo():
                if found.deprecated and not self.module.is_library:
                    self.elab.warn_deprecated(found, self.at(node))
                return (
                    self.elab.struct(found, ())
                    if not found.node.params
                    else PartialTy(found, (None,) * len(found.node.params))
                )
            case TraitInfo():
                return self.elab.trait((found,))
            case AliasInfo():
                return self.elab.alias_value(found, None)
            case _:
                return found

    def require(self, place: LV, node: Any, leaves: bool = False) -> None:
        """A value must be in this place; `leaves`: for it is the function's result."""
        local = place.local
        if local is None or local in self.trusted or not self.tracked(local):
            return
        self.emit(nodes.Mark("result" if leaves else "require", local, place.path, self.at(node)))

    def _require_behind(self, value: LV, node: Any) -> None:
        """A reference is used: what it surely refers to must still be there."""
        own = value.local
        behind = value.loans if own is None else None if own.pins_all else own.pins
        if behind is None or len(behind) != 1:
            return
        if behind[0].name and self.tracked(behind[0]) and behind[0] not in self.trusted:
            self.emit(nodes.Mark("require", behind[0], (), self.at(node)))

    def variable(self, var: Var, node: Any, part: bool = False) -> Any:
        """Return the value of a variable; `part`: only a part of it is asked for, and the rest may be missing."""
        if var.body is not None and var.body is not self:
            return self.foreign(var, node)
        if self.builtin_self is not None and var.kind == "out":
            if "whole" in self.builtin_self:
                return self.builtin_self["whole"]
            return var.value
        value = var.value
        if isinstance(value, LV):
            if value.local is not None and not part:
                self.require(value, node)
            if not self.module.is_library:
                self._require_behind(value, node)
            return LV(
                value.ty, value.pointer, value.mutable, value.local, value.path, False, value.why, value.loans, None,
                value.via,
            )  # fmt: skip
        if isinstance(value, RV):
            why = read_only_argument(var.name) if var.kind == "arg" else f"'{var.name}', which is read only"
            return RV(value.ty, value.ir, why, value.loans, None, value.via)
        return value

    def foreign(self, var: Var, node: Any) -> Any:
        """Return a variable of another body: captured, or known only by its type."""
        if isinstance(var.value, KV):
            return var.value
        captured = self.captured(var)  # type: ignore[attr-defined]
        if captured is not None:
            return captured
        return LV(var.ty, nodes.LocalAddress(FOREIGN), False, None, (), False, "foreign")

    def find_fn(self, name: str) -> Any:
        """Return a function of the prelude."""
        return FnVal(self.elab.prelude_name(name))
