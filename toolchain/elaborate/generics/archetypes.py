"""Archetypes: types and values that stand for a declaration's own parameters, so that a generic body can be elaborated
by itself.

Input: parameters as declared. Output: for a type parameter a struct that has what the parameter's bound promises and
nothing else, for an origin or a function one of that kind, for any other value some constant of its type.
"""

import contextlib
from collections.abc import Iterator

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.elaborate.generics import unification
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FunctionInfo,
    Member,
    ModuleInfo,
    OverloadSet,
    Scope,
    StructInfo,
    TraitInfo,
    Ty,
)
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    Metatype,
    OriginValue,
    ParameterArgument,
    ParameterPack,
    PartialTy,
    StructTy,
    TraitTy,
)
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import mangling, primitive_types, struct_members, struct_types, well_known
from ktc.elaborate.types.struct_types import zero_of
from ktc.ir import types
from ktc.syntax import ast

MARK = "\u2063"
"""Begins the names of archetypes (a character that is not seen), by which messages recognise them."""


_PLACES = (0.5, 0.2, 0.55, 0.1, 0.3)
"""Which of the constants that a type has itself are taken, one after the other."""


_WORD = types.StructType((types.I64,))


class NoArchetype(Exception):
    """A parameter has no archetype: its type has no known constants."""


def begin(elab: Elaboration, known: dict[str, StructInfo] | None = None) -> None:
    """Forget all archetypes but the known ones."""
    elab.generics.archetypes = dict(known or {})


def archetype(elab: Elaboration, name: str, bound: TraitTy, module: ModuleInfo, at: ast.Node) -> StructTy:
    """Return a new opaque type with some traits."""
    node = ast.StructDecl(at.start, at.end, MARK + name, at.start, (), (), (), (), (), "")
    info = StructInfo(MARK + name, node, module, next(elab.modules.ids), module.scope, bound=bound)
    found: list[TraitInfo] = []
    for trait in bound.traits:
        struct_members.add_trait(elab, trait, found)
    info.traits = tuple(found)
    info.register_trivial = any(trait.name in ("AnyTrivialRegType", "TrivialRegType") for trait in found)
    for trait in found:
        for member, value in trait.members.items():
            add_member(info.members, member, value)
    ty = struct_types.struct_type(elab, info, ())
    ty.fields, ty.ir_type, ty.origins, ty.prim = (), _WORD, (), None
    ty.trivial = info.register_trivial
    elab.generics.archetypes[info.name] = info
    return ty


def narrowed(elab: Elaboration, ty: StructTy, bound: TraitTy) -> StructTy:
    """Return the archetype of the same type with another bound."""
    found = ty.aliases.get(f"as {bound}")
    if found is None:
        name = f"{ty.info.name.removeprefix(MARK)}({bound})"
        found = ty.aliases[f"as {bound}"] = archetype(elab, name, bound, ty.info.module, ty.info.node)
        found.info.narrows = ty.info.narrows or ty.info
    assert isinstance(found, StructTy)
    return found


def bound_alias(elab: Elaboration, alias: AliasInfo, ty: StructTy | None, scope: Scope) -> ParameterArgument:
    """Return a placeholder for an alias that the traits of an archetype require but do not define."""
    if ty is None or ty.info.bound is None:
        elab.fail(Code.NO_MEMBER, f"'{alias.name}' has no value here", alias.span())
    # origins make no other type of it
    given = tuple(scope.names.get(param.name) for param in alias.node.params if param.kind != "infer")
    kept = tuple(
        value for value in given if not (isinstance(value, ConstValue) and isinstance(value.data, OriginValue))
    )
    key = f"{alias.uid}{mangling.key_text(elab, kept)}"
    if key not in ty.aliases:
        expected = (
            elab.api.evaluate(elab, alias.node.type, scope, alias.module) if alias.node.type is not None else None
        )
        name = f"{ty.info.name.removeprefix(MARK)}.{alias.name}"
        ty.aliases[key] = _archetype_for(elab, expected, name, alias.module, alias.node)
    return ty.aliases[key]


def bound_truth(elab: Elaboration) -> ConstValue:
    """Return a truth value for a flag that every type has."""
    elab.coverage.note_uncertain()
    return well_known.bool_constant(elab, elab.coverage.constant_choice % 2 == 0)


def archetypes_of(
    elab: Elaboration, params: tuple[ast.Param, ...], scope: Scope, module: ModuleInfo, given: dict[str,
    ParameterArgument],
    is_open: bool = False,
) -> dict[str, ParameterArgument]:  # fmt: skip
    """Return a value for each parameter that has none, in order; they are entered into `scope`.

    Args:
        is_open: of a struct that an argument leaves open; nothing depends on values that are there by default.

    Raises:
        NoArchetype: for one of them there is none.
    """
    flags = {flag for param in params if (flag := _mutable_flag(param))}
    for param in params:
        if param.name in given:
            pass
        elif param.name in flags:
            elab.coverage.note_assumed_immutable()
            given[param.name] = well_known.bool_constant(elab, False)
        else:
            uncertainty = elab.coverage.uncertainty
            given[param.name] = _archetype(elab, param, scope, module)
            if is_open and param.default is not None:
                elab.coverage.set_uncertainty(uncertainty)
        scope.names[param.name] = given[param.name]
    return given


def own_type(elab: Elaboration, info: StructInfo) -> StructTy:
    """Return a struct with something for its parameters, or with its parameters open where there is nothing."""
    if not info.node.params:
        return struct_types.struct_type(elab, info, ())
    outer = elab.reporter.redirect(Sink())  # their errors are reported elsewhere
    try:
        values = archetypes_of(elab, info.node.params, Scope(info.scope, "function"), info.module, {})
    except (NoArchetype, ErrorReported, Mismatch, Symbolic):
        return unification.symbolic_struct(elab, info)
    finally:
        elab.reporter.redirect(outer)
    return struct_types.struct_type(elab, info, tuple(values[p.name] for p in info.node.params))


def _archetype(elab: Elaboration, param: ast.Param, scope: Scope, module: ModuleInfo) -> ParameterArgument:
    if param.type is None or (isinstance(param.type, ast.Subscript) and getattr(param.type.base, "id", "") == "Some"):
        raise NoArchetype
    expected = elab.api.evaluate(elab, param.type, scope, module)
    if isinstance(expected, FunctionTy) and expected.syntax is not None:
        return _parametric_function(elab, param, scope, module)
    item = expected if param.kind == "star" else primitive_types.variadic_item(expected)
    if item is not None:
        return ParameterPack(tuple(_archetype_for(elab, item, param.name, module, param) for _ in range(2)), item)
    if (
        param.default is not None
        and isinstance(expected, StructTy)
        and expected.info is not well_known.library_info(elab, "Origin")
    ):
        elab.coverage.note_uncertain()
        if elab.coverage.constant_choice % 2:  # what holds for the default only is no mistake
            with contextlib.suppress(NoArchetype):
                return _constant(elab, expected, None)
        value = elab.api.evaluate(elab, param.default, scope, module)
        return value if isinstance(value, ConstValue) and value.ty is expected else _constant(elab, expected, value)
    return _archetype_for(elab, expected, param.name, module, param)


def _archetype_for(
    elab: Elaboration, expected: ParameterArgument, name: str, module: ModuleInfo, at: ast.Node
) -> ParameterArgument:
    if isinstance(expected, TraitTy):
        return archetype(elab, name, expected, module, at)
    if isinstance(expected, Metatype) and isinstance(expected.of, TraitTy):
        return expected.of
    if isinstance(expected, Metatype) and isinstance(expected.of, StructTy) and not expected.of.symbolic:
        return expected.of
    if isinstance(expected, FunctionTy) and expected.syntax is None and not expected.symbolic:
        return _function(elab, expected, name, module, at)
    if isinstance(expected, PartialTy) and expected.info is well_known.library_info(elab, "Origin"):
        elab.coverage.note_assumed_immutable()
        return well_known.origin_constant(elab, OriginValue("some", False, name=name))
    if not isinstance(expected, StructTy):
        raise NoArchetype
    if expected.info is well_known.library_info(elab, "Origin"):
        flag = expected.params[0]
        mutable = bool(flag.data) if isinstance(flag, ConstValue) else True
        return ConstValue(expected, OriginValue("some", mutable, name=name))
    elab.coverage.note_uncertain()
    return _constant(elab, expected, None)


def _constant(elab: Elaboration, expected: StructTy, given: ParameterArgument) -> ConstValue:
    """Return some constant of a type: one made from a literal, an alias of its struct, or one without bits."""
    for value in (given,) if isinstance(given, ConstValue) else _literals(elab):
        try:
            made = value if value.ty is expected else elab.api.convert_constant(elab, value, expected)
        except (ErrorReported, Symbolic, Mismatch):
            continue
        if made is not None:
            return made
    if elab.coverage.constant_choice == 0 and expected.info is well_known.library_info(elab, "DType"):
        rare = _own_constant(elab, expected.info.members["float16"], expected)  # few bodies are right for this one only
        if rare is not None:
            return rare
    found = [
        made for member in expected.info.members.values() if (made := _own_constant(elab, member, expected)) is not None
    ]
    if found:  # the first ones mean something special more often than not
        return found[int(len(found) * _PLACES[elab.coverage.constant_choice])]
    if expected.info.bound is None and not types.size_of(struct_types.ir_type(elab, expected)):
        return ConstValue(expected, zero_of(struct_types.ir_type(elab, expected)))
    raise NoArchetype


def _literals(elab: Elaboration) -> Iterator[ConstValue]:
    choice = elab.coverage.constant_choice
    yield well_known.literal(elab, "IntLiteral", "!kgen.int_literal", 4 << elab.coverage.next_exponent())
    yield well_known.bool_constant(elab, choice % 2 == 0)
    yield well_known.literal(elab, "StringLiteral", "!kgen.string", "xyzvw"[choice])


def _own_constant(elab: Elaboration, member: Member, expected: StructTy) -> ConstValue | None:
    if not isinstance(member, AliasInfo) or member.node.params or member.node.value is None:
        return None
    made = elab.api.alias_value(elab, member, expected)
    return made if isinstance(made, ConstValue) and made.ty is expected and made.data != 0 else None


def open_type(
    elab: Elaboration, kind: ParameterArgument, name: str, scope: Scope, module: ModuleInfo, at: ast.Node
) -> ParameterArgument:
    """Return an archetype for an argument whose declared type is a trait or a struct with open parameters;
    None for one that is complete."""
    if isinstance(kind, TraitTy):
        return archetype(elab, f"type of {name}", kind, module, at)
    if isinstance(kind, PartialTy):
        if kind.shape is not None:
            raise NoArchetype  # one of the open parameters decides several
        given: dict[str, ParameterArgument] = {
            p.name: v if isinstance(v, TraitTy) else open_type(elab, v, p.name, scope, module, at) or v
            for p, v in zip(kind.info.node.params, kind.params, strict=True)
            if v is not None
        }
        inner = Scope(kind.info.scope, "function")
        given = archetypes_of(elab, kind.info.node.params, inner, kind.info.module, given, True)
        return struct_types.struct_type(elab, kind.info, tuple(given[p.name] for p in kind.info.node.params))
    return None


def is_open(elab: Elaboration, fn: FunctionInfo) -> bool:
    """Return whether an argument's type is a trait or a struct with open parameters."""
    for arg in fn.node.args:
        match arg.type:
            case ast.Name(id=name) as written:
                found = modules.module_name(elab, elab.modules.main, name) or modules.prelude_name(elab, name)
                if isinstance(found, TraitInfo) or (isinstance(found, StructInfo) and found.node.params):
                    return True
                if isinstance(found, AliasInfo) and _is_open_alias(elab, written, fn):
                    return True
            case ast.Subscript(base=ast.Name(id=name), args=args, keywords=keywords) as applied if name != "Some":
                found = modules.module_name(elab, elab.modules.main, name) or modules.prelude_name(elab, name)
                if isinstance(found, StructInfo) and _has_open_parameters(found, args, keywords):
                    return True
                if isinstance(found, AliasInfo) and _is_open_alias(elab, applied, fn):
                    return True
            case ast.Subscript(base=ast.Name(id="Some")) | ast.Binary():
                return True
    return False


def _is_open_alias(elab: Elaboration, node: ast.Expr, fn: FunctionInfo) -> bool:
    """Return whether an alias means a trait or a struct with open parameters; False if its value has an error."""
    outer = elab.reporter.redirect(Sink())  # 'Self' and the struct's parameters are not known here
    try:
        value = elab.api.evaluate(elab, node, fn.module.scope, fn.module)
        return isinstance(value, (AliasInfo, TraitTy, PartialTy))
    except (ErrorReported, Symbolic, Mismatch):
        return False
    finally:
        elab.reporter.redirect(outer)


def _function(elab: Elaboration, expected: FunctionTy, name: str, module: ModuleInfo, at: ast.Node) -> FunctionValue:
    """Return a function of a type; its body is never looked at."""
    scope = Scope(module.scope, "function")
    args = []
    for i, (convention, kind) in enumerate(expected.args):
        if not isinstance(kind, Ty):
            raise NoArchetype
        scope.names[f"${i}"] = kind
        written = expected.nodes[i].name if expected.nodes else ""
        spelled = ast.Name(at.start, at.end, f"${i}")
        args.append(ast.Param(at.start, at.end, written or f"_{i}", spelled, None, "any", convention, (), False))
    if not isinstance(expected.result, Ty) or expected.result_ref is not None:
        raise NoArchetype
    scope.names["$"] = expected.result
    result = ast.Name(at.start, at.end, "$")
    node = _declaration(name, (), tuple(args), result, expected, at)
    return _function_value(elab, node, expected, module, scope)


def _parametric_function(elab: Elaboration, param: ast.Param, scope: Scope, module: ModuleInfo) -> FunctionValue:
    node = param.type
    if not isinstance(node, ast.FunctionType) or node.result_ref is not None:
        raise NoArchetype
    expected = elab.api.evaluate(elab, node, scope, module)
    if not isinstance(expected, FunctionTy):
        raise NoArchetype
    own = Scope(scope.parent, "function", dict(scope.names))
    args = tuple(
        ast.Param(a.start, a.end, a.name or f"_{i}", a.type, a.default, a.kind, a.convention, a.origin, a.splat)
        for i, a in enumerate(node.args)
    )
    declaration = _declaration(param.name, node.params, args, node.result, expected, param)
    return _function_value(elab, declaration, expected, module, own)


def _declaration(
    name: str, params: tuple[ast.Param, ...], args: tuple[ast.Param, ...], result: ast.Expr | None,
    expected: FunctionTy, at: ast.Node,
) -> ast.FunctionDecl:  # fmt: skip
    """Return the tree of a function that raises as `expected` does, and whose body is empty."""
    body = (ast.Pass(at.start, at.end),)
    head = ast.FunctionHead(params, args, result, None, expected.raises, (), None, (), False, "")
    return ast.FunctionDecl(at.start, at.end, name, at.start, (), head, body)


def _function_value(
    elab: Elaboration, node: ast.FunctionDecl, expected: FunctionTy, module: ModuleInfo, scope: Scope
) -> FunctionValue:
    info = FunctionInfo(node.name, node, module, None, scope, next(elab.modules.ids))
    info.parameter = "capturing" in expected.effects
    elab.instances.note_elaborated(info.uid)
    return FunctionValue(OverloadSet(node.name, [info]))


def _mutable_flag(param: ast.Param) -> str:
    """Return the name of the parameter that says whether an origin is mutable, "" if this is none or says it itself."""
    match param.type:
        case ast.Subscript(base=ast.Name(id="Origin"), args=(ast.Name(id=name), *_)):
            return name
    return ""


def _has_open_parameters(info: StructInfo, args: tuple[ast.Expr, ...], keywords: tuple[ast.Keyword, ...]) -> bool:
    """Return whether a struct's parameters are not all given."""
    expected = sum(p.kind not in ("infer", "star") and p.default is None for p in info.node.params)
    return len(args) + len(keywords) < expected or any(isinstance(arg, ast.Name) and arg.id == "_" for arg in args)


def add_member(members: dict[str, Member], name: str, value: Member) -> None:
    """Enter a member of a trait: overloads of several traits are overloads of the archetype.

    An alias without a value is that of the first trait, which extends the others, until one gives it a value.
    """
    old = members.get(name)
    is_open = isinstance(value, AliasInfo) and value.node.value is None
    if isinstance(old, OverloadSet) and isinstance(value, OverloadSet):
        value = OverloadSet(name, [*old.functions, *(fn for fn in value.functions if fn not in old.functions)])
    elif old is not None and (is_open or not (isinstance(old, AliasInfo) and old.node.value is None)):
        return
    members[name] = value
