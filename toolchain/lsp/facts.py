"""Facts from the elaborator about expressions: their types, and the declarations of their names.

Input: the elaborator's calls of `Recorder`. Output: `Fact`s by place, for every file of the user.
"""

import re
from dataclasses import dataclass, field

from ktc.diag.source import Source
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FunctionInfo,
    ImportRef,
    ModuleInfo,
    OverloadSet,
    StructInfo,
    TraitInfo,
)
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import FunctionValue, PartialTy, StructTy, TraitTy
from ktc.elaborate.model.values import Method, Place, RValue, Var
from ktc.syntax import ast

_SCALAR = re.compile(r"SIMD\[DType\.(\w+), 1\]")
_SCALARS = {
    "bool": "Scalar[DType.bool]", "float16": "Float16", "bfloat16": "BFloat16", "float32": "Float32",
    "float64": "Float64", **{f"{sign}int{bits}": f"{'U' if sign else ''}Int{bits}"
                            for sign in ("", "u") for bits in (8, 16, 32, 64, 128, 256)},
}  # fmt: skip
_HASHER = re.compile(r", AHasher\[[^\[\]]*(?:\[[^\[\]]*\])?[^\[\]]*\]")
_INVISIBLE = "\u2063"


@dataclass(frozen=True, slots=True)
class Declared:
    """Where a name is declared: its characters in a source."""

    source: Source
    start: int
    end: int


@dataclass(slots=True)
class Fact:
    """The kind, type and declaration of the expression at `start` to `end`.

    Args:
        kind: "variable", "parameter", "function", "method", "struct", "trait", "alias", "field", "module" or "value".
        name: as it is written. type: of its value, "" for declarations.
        declared: where; None for what has no place.
        functions: the overloads it may be.
        owner: of a member or a value, the declaration of its struct.
    """

    start: int
    end: int
    kind: str
    name: str = ""
    type: str = ""
    declared: Declared | None = None
    functions: tuple[FunctionInfo, ...] = ()
    node: ast.Node | None = None
    owner: StructInfo | None = None


@dataclass(slots=True)
class Recorder:
    """Is called by the elaborator for every expression and statement.

    Args:
        facts: by path of the source, then by (start, end).
        variables: types of variables by path and where their names stand.
    """

    facts: dict[str, dict[tuple[int, int], Fact]] = field(default_factory=dict)
    variables: dict[str, dict[int, tuple[int, str]]] = field(default_factory=dict)

    def __call__(self, body: Body, node: object, value: object) -> None:
        module: ModuleInfo = body.frame.module
        if module.is_library or not isinstance(node, ast.Node):
            return
        path = module.source.path
        if isinstance(node, ast.Name):
            self._add(path, self._name(body, node, value))
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                found = _find(body, node.value.id)
                if isinstance(found, Var):
                    self._add(path, self._name(body, node.value, None))
            self._add(path, self._attribute(body, node, value))
        elif isinstance(node, ast.VarDecl | ast.Assign | ast.AugAssign | ast.For):
            for target in _targets(node):
                self._target(body, path, target)
        elif isinstance(value, Place | RValue) or _type_of(value):
            owner = _owner(getattr(value, "ty", None))
            self._add(path, Fact(node.start, node.end, "value", type=_type_of(value), owner=owner))

    def _target(self, body: Body, path: str, target: ast.Expr) -> None:
        """Record what is assigned to, which is a place and no expression."""
        if isinstance(target, ast.Name):
            found = _find(body, target.id)
            if isinstance(found, Var):
                self._add(path, self._name(body, target, None))
        elif isinstance(target, ast.Attribute):
            self._target(body, path, target.value)
            if _base_owner(body, target.value) is not None:
                self._add(path, self._attribute(body, target, None))

    def _add(self, path: str, fact: Fact | None) -> None:
        if fact is not None:
            known = self.facts.setdefault(path, {})
            old = known.get((fact.start, fact.end))
            # Instances give the same place several types; what has a declaration says most.
            if old is None or (old.declared is None and fact.declared is not None):
                known[fact.start, fact.end] = fact

    def _variable(self, var: Var) -> None:
        own = self.variables.setdefault(var.span.source.path, {})
        own.setdefault(var.span.start, (var.span.start + len(var.name), shown_type(var.ty)))

    def _name(self, body: Body, node: ast.Name, value: object) -> Fact | None:
        found = _find(body, node.id)
        if isinstance(found, Var):
            self._variable(found)
            place = Declared(found.span.source, found.span.start, found.span.start + len(found.name))
            kind = "parameter" if found.kind == "arg" else "variable"
            return Fact(node.start, node.end, kind, node.id, shown_type(found.ty), place, owner=_owner(found.ty))
        return describe(node.start, node.end, node.id, found if not isinstance(found, ImportRef) else value, value)

    def _attribute(self, body: Body, node: ast.Attribute, value: object) -> Fact | None:
        start, end = node.name_start, node.name_start + len(node.name)
        if isinstance(value, Method):
            functions = tuple(value.fn.overloads.functions)
            return _function(start, end, node.name, functions, "method")
        owner = _base_owner(body, node.value)
        member = owner.members.get(node.name) if owner is not None else None
        if isinstance(member, ast.VarDecl) or (owner is not None and member is None):
            place = _field_place(owner, node.name) if owner is not None else None
            return Fact(
                start, end, "field", node.name, _type_of(value), place, owner=_owner(getattr(value, "ty", None))
            )
        fact = describe(start, end, node.name, member if member is not None else value, value)
        return fact or Fact(start, end, "value", node.name, _type_of(value))


def describe(start: int, end: int, name: str, found: object, value: object = None) -> Fact | None:
    """Return the fact about a name that means `found`."""
    for one in (found, value):
        match one:
            case OverloadSet():
                return _function(start, end, name, tuple(one.functions), "function")
            case FunctionValue():
                return _function(start, end, name, tuple(one.overloads.functions), "function")
            case StructInfo():
                return _declaration(start, end, name, one, "struct")
            case StructTy():
                return _declaration(start, end, name, one.info, "struct")
            case PartialTy() if isinstance(getattr(one, "info", None), StructInfo):
                return _declaration(start, end, name, one.info, "struct")
            case TraitInfo():
                return _declaration(start, end, name, one, "trait")
            case TraitTy() if one.traits:
                return _declaration(start, end, name, one.traits[0], "trait")
            case AliasInfo():
                fact = _declaration(start, end, name, one, "alias")
                fact.type, fact.owner = _type_of(value), _owner(getattr(value, "ty", None))
                return fact
            case ModuleInfo():
                return Fact(start, end, "module", name, declared=Declared(one.source, 0, 0), node=one.node)
    return Fact(start, end, "value", name, _type_of(value)) if _type_of(value) else None


def _function(start: int, end: int, name: str, functions: tuple[FunctionInfo, ...], kind: str) -> Fact:
    first = functions[0]
    place = Declared(first.module.source, first.node.name_start, first.node.name_start + len(first.node.name))
    kind = "method" if first.owner is not None else kind
    return Fact(start, end, kind, name, declared=place, functions=functions, node=first.node)


def _declaration(start: int, end: int, name: str, info: StructInfo | TraitInfo | AliasInfo, kind: str) -> Fact:
    node = info.node
    place = Declared(info.module.source, node.name_start, node.name_start + len(node.name))
    owner = info if isinstance(info, StructInfo) else None
    return Fact(start, end, kind, name, declared=place, node=node, owner=owner)


def _find(body: Body, name: str) -> object:
    for scope in body.frame.scope.chain():
        if name in scope.names:
            return scope.names[name]
    return None


def _targets(node: ast.VarDecl | ast.Assign | ast.AugAssign | ast.For) -> list[ast.Expr]:
    targets = node.targets if isinstance(node, ast.Assign) else (node.target,)
    return [item for one in targets for item in (one.items if isinstance(one, ast.TupleLit) else (one,))]


def _base_owner(body: Body, node: ast.Expr) -> StructInfo | None:
    """Return the struct of the expression before a dot, as far as names and fields show it."""
    if isinstance(node, ast.Name):
        found = _find(body, node.id)
        return _owner(found.ty) if isinstance(found, Var) else _owner(found)
    if isinstance(node, ast.Attribute):
        outer = _base_type(body, node.value)
        for name, ty in (getattr(outer, "fields", None) or ()) if outer is not None else ():
            if name == node.name:
                return _owner(ty)
    return None


def _base_type(body: Body, node: ast.Expr) -> object:
    if isinstance(node, ast.Name):
        found = _find(body, node.id)
        return found.ty if isinstance(found, Var) else None
    if isinstance(node, ast.Attribute):
        outer = _base_type(body, node.value)
        fields = getattr(outer, "fields", None) or ()
        return next((ty for name, ty in fields if name == node.name), None)
    return None


def _owner(ty: object) -> StructInfo | None:
    return ty.info if isinstance(ty, StructTy) else None


def _field_place(owner: StructInfo, name: str) -> Declared | None:
    for node in owner.field_nodes:
        if isinstance(node.target, ast.Name) and node.target.id == name:
            return Declared(owner.module.source, node.target.start, node.target.end)
    return None


def _type_of(value: object) -> str:
    ty = getattr(value, "ty", None)
    return shown_type(ty) if ty is not None else ""


def shown_type(ty: object) -> str:
    """Return a type as written in source."""
    text = str(ty).replace(_INVISIBLE, "")
    text = _SCALAR.sub(lambda found: _SCALARS.get(found[1], found[0]), text)
    return _HASHER.sub("", text)
