"""Traits of callable values: `def(Int) -> Int` is one in edition 2026.

Input: a function type. Output: a trait without a name that asks for a `__call__` of that type. Functions, pointers to
functions, closures, and structs that list such a trait conform to it (`instances/callable_types.py`).
"""

from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, OverloadSet, Scope, TraitInfo, Ty
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import FunctionTy, ParameterArgument, TraitTy
from ktc.elaborate.resolve import modules
from ktc.elaborate.types import struct_members, well_known
from ktc.syntax import ast

CALL = "__call__"


def callable_trait(
    elab: Elaboration, ty: FunctionTy, node: ast.FunctionType, scope: Scope, module: ModuleInfo
) -> TraitTy:
    """Return the trait of a function type; those of a type with parameters of its own are not the same trait.

    Args:
        node: how the type is written.
        scope: where the names in it are looked up.
    """
    names = tuple(arg.name for arg in node.args if arg.convention != "out")
    known = elab.generics.callable_traits.get((ty, names))
    if known is None:
        inner = Scope(scope, "function")
        head = _head(node) if ty.syntax is not None else _head_of_types(ty, names, node, inner)
        declared = ast.FunctionDecl(node.start, node.end, CALL, node.start, (), head, None)
        name = _written(node, module) if ty.syntax is not None else shown(ty)
        trait = ast.TraitDecl(node.start, node.end, name, node.start, (), (), (), (), "")
        movable = modules.prelude_name(elab, "Movable")
        parents = (movable,) if isinstance(movable, TraitInfo) else ()
        known = TraitInfo(trait.name, trait, module, next(elab.modules.ids), module.scope, parents=parents, call=ty)
        call = FunctionInfo(CALL, declared, module, known, inner, next(elab.modules.ids))
        known.members[CALL] = OverloadSet(CALL, [call])
        elab.generics.callable_traits[ty, names] = known
    return struct_members.trait_type(elab, (known,))


def calls_of(trait: TraitTy) -> list[FunctionTy]:
    """Return the function types among several traits."""
    return [one.call for one in trait.traits if isinstance(one.call, FunctionTy)]


def run_time_type(elab: Elaboration, have: Ty, kind: TraitTy) -> Ty:
    """Return the type of an argument that is declared by traits; a function that is only called is known by its own."""
    return have if isinstance(have, FunctionTy) and calls_of(kind) else well_known.materialized(elab, have)


def shown(ty: FunctionTy) -> str:
    """Return a function type as edition 2026 writes it."""
    return f"def{str(ty).removeprefix('fn')}"


def _written(node: ast.FunctionType, module: ModuleInfo) -> str:
    """Return a function type as its text has it, in the words of edition 2026."""
    text = " ".join(module.source.text[node.start : node.end].split())
    return f"def{text[len('fn') if text.startswith('fn') else len('def') :]}".replace(" unified", "")


def _head(node: ast.FunctionType) -> ast.FunctionHead:
    """Return the signature of `__call__` as the type with parameters writes it."""
    written = tuple(
        ast.Param(arg.start, arg.end, arg.name or f"_{at}", arg.type, arg.default, arg.kind, arg.convention, arg.origin,
                  arg.splat)
        for at, arg in enumerate(node.args)
    )  # fmt: skip
    args = (_receiver(node), *written)
    return _function_head(node, node.params, args, node.result, node.error)


def _head_of_types(ty: FunctionTy, names: tuple[str, ...], node: ast.FunctionType, scope: Scope) -> ast.FunctionHead:
    """Return the signature of `__call__` with the types that were found, under names of their own."""
    args = [_receiver(node)]
    for at, ((convention, kind), own) in enumerate(zip(ty.args, names, strict=True)):
        spelled = _name_type(f"${at}", kind, node, scope)
        kind_of = "any" if own else "pos"
        args.append(ast.Param(node.start, node.end, own or f"_{at}", spelled, None, kind_of, convention, (), False))
    error = _name_type("$error", ty.error, node, scope) if isinstance(ty.error, Ty) else None
    return _function_head(node, (), tuple(args), _name_type("$result", ty.result, node, scope), error)


def _name_type(name: str, kind: ParameterArgument, node: ast.Node, scope: Scope) -> ast.Name:
    scope.names[name] = kind
    return ast.Name(node.start, node.end, name)


def _receiver(node: ast.Node) -> ast.Param:
    return ast.Param(node.start, node.end, "self", None, None, "any", "", (), False)


def _function_head(
    node: ast.FunctionType, params: tuple[ast.Param, ...], args: tuple[ast.Param, ...], result: ast.Expr | None,
    error: ast.Expr | None,
) -> ast.FunctionHead:  # fmt: skip
    return ast.FunctionHead(params, args, result, node.result_ref, node.raises, (), None, (), False, "", False, error)
