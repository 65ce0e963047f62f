"""Members: `base.name`, of values, types, modules and parts of values."""

from typing import Any

from ktc.diag.codes import Code
from ktc.elaborate.builder.function_builder import UNIT_CONST
from ktc.elaborate.calls.writeback import Waiting, attribute_of, field_of, waits
from ktc.elaborate.expressions.names import Names
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.declarations import AliasInfo, FnSet, Var
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    Arg,
    FnTy,
    FnVal,
    Method,
    ModuleVal,
    Opaque,
    PackPV,
    PackVal,
    PartialTy,
    StructTy,
    Sym,
    Ty,
)  # fmt: skip
from ktc.elaborate.resolve.suggestions import suggest, suggest_member
from ktc.syntax import ast

_MAKERS = ("__init__", "__copyinit__", "__moveinit__")
"""They make a new value, whatever value stands before the dot."""


class Members(Names):
    """The part of a body that takes members."""

    def expr(self, node: ast.Expr, expected: Ty | None = None) -> Any:
        """Elaborate an expression (in `Expressions`)."""
        raise NotImplementedError

    def attribute(self, node: ast.Attribute) -> Any:
        """Elaborate `value.name`."""
        if isinstance(node.value, ast.Name) and node.value.id == "__mlir_type":
            try:
                return self.elab.prim(node.name)
            except ValueError as why:
                self.fail(Code.UNDEFINED_NAME, str(why), self.at(node))
        return self.required(self.part(node), node)

    def required(self, value: Any, node: Any) -> Any:
        """Require what `part` gave."""
        if isinstance(value, LV) and value.local is not None and not value.owned:
            self.require(value, node)
        return value

    def part(self, node: ast.Expr) -> Any:
        """Elaborate a variable or a field of one, whether or not it has a value; anything else as `expr` does."""
        if isinstance(node, ast.Name):
            found = self.find(node.id)
            return self.variable(found, node, True) if isinstance(found, Var) else self.expr(node)
        if not isinstance(node, ast.Attribute) or (isinstance(node.value, ast.Name) and node.value.id[:5] == "__mli"):
            return self.expr(node)
        base = self.part(node.value)
        if isinstance(base, LV) and base.local is not None and base.back is None:
            member = self.elab.member(base.ty, node.name) if isinstance(base.ty, StructTy) else None
            if isinstance(member, ast.VarDecl):
                return self.field(base, node.name)
            if node.name not in _MAKERS and not self._is_of_type(member, base.ty, node.name):
                self.required(base, node.value)
        return self.member_of(base, node.name, node)

    @staticmethod
    def _is_of_type(member: Any, ty: Ty, name: str) -> bool:
        """Whether a member is the type's own, so that no value is needed: `self.size` where `self` is still made."""
        if isinstance(member, FnSet):
            return all(fn.static for fn in member.functions)
        own = isinstance(ty, StructTy) and any(param.name == name for param in ty.info.node.params)
        return own or isinstance(member, AliasInfo)

    def member_of(self, base: Any, name: str, node: Any) -> Any:
        """Return a member of a value, a type or a module."""
        elab = self.elab
        match base:
            case ModuleVal(module):
                found = elab.module_name(module, name)
                if found is None:
                    found = elab.submodule(module, name)
                if found is None:
                    names = list(module.scope.names)
                    self.fail(
                        Code.NO_MEMBER,
                        f"module '{module.name.removeprefix('std.')}' has no '{name}'",
                        self.at(node),
                        suggest(name, names),
                    )
                return self.resolve(found, node)
            case StructTy():
                return self.type_member(base, name, node)
            case PartialTy(info, _):
                open_ty = elab.symbolic_struct(info)
                member = elab.member(open_ty, name)
                values = tuple(b if p is None else p for p, b in zip(base.params, open_ty.params, strict=True))
                if isinstance(member, FnSet):
                    return FnVal(member, (), (), elab.struct(info, values))
                try:
                    found = self.type_member(elab.struct(info, values), name, node)
                    if not isinstance(found, (Sym, Opaque)):
                        return found
                except Symbolic:
                    pass
                self.fail(
                    Code.CANNOT_INFER, f"'{info.name}' needs parameters before its member '{name}'", self.at(node)
                )
            case RV() | LV() | KV():
                return self.value_member(base, name, node)
            case Sym() | Opaque():
                raise Symbolic
            case PackVal(items) if name == "__len__":
                return KV(elab.library_type("Int"), len(items))
            case FnVal():
                self.fail(Code.NO_MEMBER, f"a function has no member '{name}'", self.at(node))
            case _:
                self.fail(Code.NO_MEMBER, f"'{base}' has no member '{name}'", self.at(node))

    def type_member(self, ty: StructTy, name: str, node: Any) -> Any:
        """Return a member of a type: a parameter, an alias or a method."""
        for param, value in zip(ty.info.node.params, ty.params, strict=True):
            if param.name == name:
                return value
        member = self.elab.member(ty, name)
        if isinstance(member, AliasInfo):
            return self.elab.alias_value(member, ty)
        if isinstance(member, FnSet):
            statics = [fn for fn in member.functions if fn.static]
            chosen = FnSet(name, statics) if statics and len(statics) != len(member.functions) else member
            return FnVal(self.elab.static_set(member, chosen), (), (), ty)
        if ty.info.fieldwise and name == "__init__":
            return ty
        if name in ("__copyinit__", "__moveinit__"):
            return FnVal(FnSet(name, []), (), (), ty)
        if ty.symbolic:
            raise Symbolic
        self.no_member(ty, name, node)
        return None

    def no_member(self, ty: Ty, name: str, node: Any) -> None:
        """Report a missing member."""
        self.promised(KV(ty, ()), name, node)
        own = isinstance(ty, StructTy) and ty.info.module is self.elab.main
        if own and any(name in trait.members for trait in self.elab.traits_of(ty.info)):  # type: ignore[attr-defined]
            raise Abort  # that the struct lacks what its trait asks for is told at its name
        names = list(ty.info.members) if isinstance(ty, StructTy) else []
        help_text = suggest_member(name, names)
        start = getattr(node, "name_start", node.start)
        span = self.at(node)
        span = type(span)(span.source, start, max(node.end, start + 1))
        self.fail(Code.NO_MEMBER, f"'{self.elab.type_name(ty)}' has no member '{name}'", span, help_text)

    def value_member(self, base: Any, name: str, node: Any) -> Any:
        """Return a member of a value."""
        ty = base.ty
        if not isinstance(ty, StructTy):
            if name in ("value", "__mlir_value"):
                return base
            if name == "copy" and isinstance(ty, FnTy):  # a value as any other to what is generic
                return Method(base, self.elab.startup_function("__ktc_copy_function__"))
            self.no_member(ty, name, node)
        member = self.elab.member(ty, name)
        if isinstance(member, ast.VarDecl):
            if (
                self.builtin_self is not None
                and isinstance(base, RV)
                and base.ir is UNIT_CONST
                and name in self.builtin_self
            ):
                return self.builtin_self[name]
            made = self.field(base, name) if isinstance(base, LV) else self.field_value(base, name)
            return made if isinstance(base, KV) or base.back is None else field_of(made, base, name)
        if name in _MAKERS and not self.module.is_library:
            return self.type_member(ty, name, node)
        if isinstance(member, FnSet):
            return Method(base, FnVal(member, (), (), ty))
        for param, value in zip(ty.info.node.params, ty.params, strict=True):
            if param.name == name:
                return value
        if isinstance(member, AliasInfo):
            return self.elab.alias_value(member, ty)
        getter = self.elab.method_set(ty, "__getattr__")
        if getter is not None:
            text = self.elab.literal("StringLiteral", "!kgen.string", name)
            span, static = self.at(node), bool(getter.functions[0].node.params)
            pos = [Arg(base, span)] if static else [Arg(base, span), Arg(text, span)]
            called = FnVal(getter, (text,) if static else (), (), ty)
            if self.waiting is node and waits(self, base, node, "__setattr__"):
                return Waiting(called, pos, node, name)
            made = self.call_fn(called, pos, [], span, True)
            return attribute_of(self, made, base, name, node)
        self.no_member(ty, name, node)
        return None

    def _part(self, node: ast.Expr | None) -> Any:
        """Return a type in a function type; it may be open."""
        assert node is not None
        value = self.expr(node)
        if isinstance(value, KV) and isinstance(node, (ast.NoneLit, ast.TupleLit)):
            return value.ty
        if not isinstance(value, (Ty, Sym, Opaque, PartialTy, PackPV)):
            self.fail(Code.TYPE_MISMATCH, "a type is wanted here", self.at(node))
        return value
