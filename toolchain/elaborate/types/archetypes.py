"""Archetypes: types and values that stand for a declaration's own parameters, so that a generic body can be elaborated
by itself.

In: parameters as declared. Out: for a type parameter a struct that has what the parameter's bound promises and nothing
else, for an origin or a function one of that kind, for any other value some constant of its type.
"""

import contextlib
from typing import Any

from ktc.diag.diagnostic import Sink
from ktc.elaborate.builder.function_builder import zero_of
from ktc.elaborate.functions.function_bodies import Functions
from ktc.elaborate.instances.instance_table import Symbolic
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, FnSet, ModuleInfo, Scope, StructInfo, TraitInfo
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import KV, FnTy, FnVal, OriginValue, PackPV, PartialTy, StructTy, TraitTy, Ty
from ktc.ir import types
from ktc.syntax import ast

MARK = "\u2063"
"""Begins the names of archetypes (a character that is not seen), so that a message tells that it speaks of one."""

_PLACES = (0.5, 0.2, 0.55, 0.1, 0.3)
"""Which of the constants that a type has itself are taken, one after the other."""

_WORD = types.StructType((types.I64,))


class NoStandIn(Exception):
    """Nothing can stand for a parameter: its type has no constants that could be written down."""


class Archetypes(Functions):
    """The part of the elaborator that makes stand-ins."""

    doubt: int = 0
    """1: a constant was taken for a parameter, and what depends on its value is not sure; 2: nothing is sure but what
    speaks of an archetype."""
    choice: int = 0
    """Which constants are taken for parameters."""
    lent: bool = False
    """An origin was taken for one that may be mutable or not: what points there is not written."""
    lent_around: bool = False
    """The same for the parameters of the struct around a method."""
    archetypes: dict[str, StructInfo]
    """Those of the declaration that is being checked, by their marked names."""

    def library_info(self, name: str) -> StructInfo:
        """Return a struct of the library (in `Elaborator`)."""
        raise NotImplementedError

    def literal(self, struct: str, prim: str, value: Any) -> KV:
        """Return a literal (in `Elaborator`)."""
        raise NotImplementedError

    def bool_constant(self, value: bool) -> KV:
        """Return `True` or `False` (in `Elaborator`)."""
        raise NotImplementedError

    def prelude_name(self, name: str) -> Any:
        """Return what the prelude calls `name`, or None (in `Elaborator`)."""
        raise NotImplementedError

    def archetype(self, name: str, bound: TraitTy, module: ModuleInfo, at: ast.Node) -> StructTy:
        """Return a new type of which nothing is known but its traits."""
        node = ast.StructDecl(at.start, at.end, MARK + name, at.start, (), (), (), (), (), "")
        info = StructInfo(MARK + name, node, module, next(self.ids), module.scope, bound=bound)
        found: list[TraitInfo] = []
        for trait in bound.traits:
            self._add_trait(trait, found)
        info.traits = tuple(found)
        info.register_trivial = any(trait.name in ("AnyTrivialRegType", "TrivialRegType") for trait in found)
        for trait in found:
            for member, value in trait.members.items():
                _add_member(info.members, member, value)
        ty = self.struct(info, ())
        ty.fields, ty.ir_type, ty.origins, ty.prim = (), _WORD, (), None
        ty.trivial = info.register_trivial
        self.archetypes[info.name] = info
        return ty

    def narrowed(self, ty: StructTy, bound: TraitTy) -> StructTy:
        """Return the archetype of the same values of which another bound is known."""
        found = ty.aliases.get(f"as {bound}")
        if found is None:
            name = f"{ty.info.name.removeprefix(MARK)}({bound})"
            found = ty.aliases[f"as {bound}"] = self.archetype(name, bound, ty.info.module, ty.info.node)
        assert isinstance(found, StructTy)
        return found

    def promised_alias(self, alias: AliasInfo, ty: StructTy | None, scope: Scope) -> Any:
        """Return what stands for an alias that the traits of an archetype only ask for."""
        if ty is None or ty.info.bound is None:
            return super().promised_alias(alias, ty, scope)
        # origins make no other type of it
        given = tuple(scope.names.get(param.name) for param in alias.node.params if param.kind != "infer")
        kept = tuple(value for value in given if not (isinstance(value, KV) and isinstance(value.data, OriginValue)))
        key = f"{alias.uid}{self.key_text(kept)}"
        if key not in ty.aliases:
            want = self.evaluate(alias.node.type, scope, alias.module) if alias.node.type is not None else None
            name = f"{ty.info.name.removeprefix(MARK)}.{alias.name}"
            ty.aliases[key] = self._stand_in_for(want, name, alias.module, alias.node)
        return ty.aliases[key]

    # ---- parameters ----

    def stand_ins(
        self, params: tuple[ast.Param, ...], scope: Scope, module: ModuleInfo, given: dict[str, Any],
        is_open: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Return a value for each parameter that has none, in order; they are entered into `scope`.

        Args:
            is_open: of a struct that an argument leaves open; nothing depends on values that are there by default.

        Raises:
            NoStandIn: for one of them there is none.
        """
        flags = {flag for param in params if (flag := _mutable_flag(param))}
        for param in params:
            if param.name in given:
                pass
            elif param.name in flags:
                self.lent = True
                given[param.name] = self.bool_constant(False)
            else:
                doubt = self.doubt
                given[param.name] = self._stand_in(param, scope, module)
                self.doubt = doubt if is_open and param.default is not None else self.doubt
            scope.names[param.name] = given[param.name]
        return given

    def own_type(self, info: StructInfo) -> StructTy:
        """Return a struct with something for its parameters, or with its parameters open where there is nothing."""
        if not info.node.params:
            return self.struct(info, ())
        outer, self.sink = self.sink, Sink()  # what is wrong with them is told elsewhere
        try:
            values = self.stand_ins(info.node.params, Scope(info.scope, "function"), info.module, {})
        except (NoStandIn, Abort, Mismatch, Symbolic):
            return self.symbolic_struct(info)
        finally:
            self.sink = outer
        return self.struct(info, tuple(values[p.name] for p in info.node.params))

    def _stand_in(self, param: ast.Param, scope: Scope, module: ModuleInfo) -> Any:
        if param.type is None:
            raise NoStandIn
        want = self.evaluate(param.type, scope, module)
        if isinstance(want, FnTy) and want.ast is not None:
            return self._parametric_function(param, scope, module)
        if param.kind == "star":
            return PackPV(tuple(self._stand_in_for(want, param.name, module, param) for _ in range(2)), want)
        if param.default is not None and isinstance(want, StructTy) and want.info is not self.library_info("Origin"):
            self.doubt = max(self.doubt, 1)
            if self.choice % 2:  # what holds for the default only is no mistake
                with contextlib.suppress(NoStandIn):
                    return self._constant(want, None)
            value = self.evaluate(param.default, scope, module)
            return value if isinstance(value, KV) and value.ty is want else self._constant(want, value)
        return self._stand_in_for(want, param.name, module, param)

    def _stand_in_for(self, want: Any, name: str, module: ModuleInfo, at: ast.Node) -> Any:
        if isinstance(want, TraitTy):
            return self.archetype(name, want, module, at)
        if isinstance(want, FnTy) and want.ast is None and not want.symbolic:
            return self._function(want, name, module, at)
        if isinstance(want, PartialTy) and want.info is self.library_info("Origin"):
            self.lent = True
            return self.origin_constant(OriginValue("some", False))
        if not isinstance(want, StructTy):
            raise NoStandIn
        if want.info is self.library_info("Origin"):
            flag = want.params[0]
            return KV(want, OriginValue("some", bool(flag.data) if isinstance(flag, KV) else True))
        self.doubt = max(self.doubt, 1)
        return self._constant(want, None)

    def _constant(self, want: StructTy, given: Any) -> KV:
        """Return some constant of a type: one made from a literal, an alias of its struct, or one without bits."""
        tries = (
            self.literal("IntLiteral", "!kgen.int_literal", 4 << self.choice),
            self.bool_constant(self.choice % 2 == 0),
            self.literal("StringLiteral", "!kgen.string", "xyzvw"[self.choice]),
        )
        for value in (given,) if isinstance(given, KV) else tries:
            try:
                made = value if value.ty is want else self.convert_constant(value, want)
            except (Abort, Symbolic, Mismatch):
                continue
            if made is not None:
                return made
        found = [
            made for member in want.info.members.values() if (made := self._own_constant(member, want)) is not None
        ]
        if found:  # the first ones mean something special more often than not
            return found[int(len(found) * _PLACES[self.choice])]
        if want.info.bound is None and not types.size_of(self.ir(want)):
            return KV(want, zero_of(self.ir(want)))
        raise NoStandIn

    def _own_constant(self, member: Any, want: StructTy) -> KV | None:
        if not isinstance(member, AliasInfo) or member.node.params or member.node.value is None:
            return None
        made = self.alias_value(member, want)
        return made if isinstance(made, KV) and made.ty is want and made.data != 0 else None

    def open_type(self, kind: Any, name: str, scope: Scope, module: ModuleInfo, at: ast.Node) -> Any:
        """Return what stands for the type of an argument that is declared by a trait or a struct with open parameters;
        None for one that is complete."""
        if isinstance(kind, TraitTy):
            return self.archetype(f"type of {name}", kind, module, at)
        if isinstance(kind, PartialTy):
            given = {p.name: v for p, v in zip(kind.info.node.params, kind.params, strict=True) if v is not None}
            inner = Scope(kind.info.scope, "function")
            given = self.stand_ins(kind.info.node.params, inner, kind.info.module, given, True)
            return self.struct(kind.info, tuple(given[p.name] for p in kind.info.node.params))
        return None

    def is_open(self, fn: FnInfo) -> bool:
        """Is an argument declared by a trait, or by a struct without its parameters."""
        for arg in fn.node.args:
            match arg.type:
                case ast.Name(id=name):
                    found = self.module_name(self.main, name) or self.prelude_name(name)
                    if isinstance(found, TraitInfo) or (isinstance(found, StructInfo) and found.node.params):
                        return True
                case ast.Subscript(base=ast.Name(id=name), args=args, keywords=keywords) if name != "Some":
                    found = self.module_name(self.main, name) or self.prelude_name(name)
                    if isinstance(found, StructInfo) and _leaves_open(found, args, keywords):
                        return True
                case ast.Subscript(base=ast.Name(id="Some")) | ast.Binary():
                    return True
        return False

    # ---- functions ----

    def _function(self, want: FnTy, name: str, module: ModuleInfo, at: ast.Node) -> FnVal:
        """Return a function of a type; its body is never looked at."""
        scope = Scope(module.scope, "function")
        args = []
        for i, (convention, kind) in enumerate(want.args):
            if not isinstance(kind, Ty):
                raise NoStandIn
            scope.names[f"${i}"] = kind
            written = want.nodes[i].name if want.nodes else ""
            spelled = ast.Name(at.start, at.end, f"${i}")
            args.append(ast.Param(at.start, at.end, written or f"_{i}", spelled, None, "any", convention, (), False))
        if not isinstance(want.result, Ty) or want.result_ref is not None:
            raise NoStandIn
        scope.names["$"] = want.result
        result = ast.Name(at.start, at.end, "$")
        return self._function_value(name, (), tuple(args), result, want, module, scope, at)

    def _parametric_function(self, param: ast.Param, scope: Scope, module: ModuleInfo) -> FnVal:
        node = param.type
        if not isinstance(node, ast.FunctionType) or node.result_ref is not None:
            raise NoStandIn
        want = self.evaluate(node, scope, module)
        own = Scope(scope.parent, "function", dict(scope.names))
        args = tuple(
            ast.Param(a.start, a.end, a.name or f"_{i}", a.type, a.default, a.kind, a.convention, a.origin, a.splat)
            for i, a in enumerate(node.args)
        )
        return self._function_value(param.name, node.params, args, node.result, want, module, own, param)

    def _function_value(
        self, name: str, params: tuple[ast.Param, ...], args: tuple[ast.Param, ...], result: ast.Expr | None,
        want: FnTy, module: ModuleInfo, scope: Scope, at: ast.Node,
    ) -> FnVal:  # fmt: skip
        body = (ast.Pass(at.start, at.end),)
        head = ast.FunctionHead(params, args, result, None, want.raises, (), None, (), False, "")
        node = ast.FunctionDecl(at.start, at.end, name, at.start, (), head, body)
        info = FnInfo(name, node, module, None, scope, next(self.ids))
        info.parameter = "capturing" in want.effects
        self.elaborated.add(info.uid)
        return FnVal(FnSet(name, [info]))


def _mutable_flag(param: ast.Param) -> str:
    """Return the name of the parameter that says whether an origin is mutable, "" if this is none or says it itself."""
    match param.type:
        case ast.Subscript(base=ast.Name(id="Origin"), args=(ast.Name(id=name), *_)):
            return name
    return ""


def _leaves_open(info: StructInfo, args: tuple[ast.Expr, ...], keywords: tuple[ast.Keyword, ...]) -> bool:
    """Say whether a struct's parameters are not all given."""
    wanted = sum(p.kind not in ("infer", "star") and p.default is None for p in info.node.params)
    return len(args) + len(keywords) < wanted or any(isinstance(arg, ast.Name) and arg.id == "_" for arg in args)


def _add_member(members: dict[str, Any], name: str, value: Any) -> None:
    """Enter a member of a trait: overloads of several traits are overloads of the archetype."""
    old = members.get(name)
    if isinstance(old, FnSet) and isinstance(value, FnSet):
        value = FnSet(name, [*old.functions, *(fn for fn in value.functions if fn not in old.functions)])
    elif old is not None and not (isinstance(old, AliasInfo) and old.node.value is None):
        return
    members[name] = value
