"""Types whose origins are left open, as `Span[Int]` as an argument's: they point into the caller's variables."""

from ktc.elaborate.generics import parameter_binding, unification
from ktc.elaborate.model.declarations import StructInfo
from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import ConstValue, OriginValue, ParameterArgument, PartialTy, StructTy
from ktc.elaborate.types import well_known
from ktc.syntax import ast


def with_defaults(elab: Elaboration, kind: PartialTy, place: str = "some") -> StructTy | PartialTy:
    """Fill the open parameters of a partial type where its struct's defaults or origins allow it.

    Args:
        place: the kind of the origins that it leaves open.
    """
    named = tuple((p.name, v) for p, v in zip(kind.info.node.params, kind.params, strict=True) if v is not None)
    names = {name for name, _ in named}
    extra: list[tuple[str, ParameterArgument]] = []
    written = dict(named).get("mut")
    by_name = isinstance(written, ConstValue) and bool(written.data)
    for param in kind.info.node.params:
        if param.name in names or param.default is not None:
            continue
        mutable = _origin_mutability(elab, kind.info, param.type, by_name)
        if mutable is not None:
            extra.append((param.name, well_known.origin_constant(elab, OriginValue(place, mutable))))
    made = parameter_binding.apply_struct(elab, kind.info, (), (*named, *extra))
    return made if isinstance(made, StructTy) else kind


def _origin_mutability(elab: Elaboration, info: StructInfo, node: ast.Expr | None, by_name: bool) -> bool | None:
    """Return whether a parameter of this type is a mutable origin; `by_name` if a parameter says that, None if it is no
    origin."""
    if isinstance(node, ast.Subscript) and getattr(node.base, "id", "") == "Origin":
        first = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
        return first.value if isinstance(first, ast.BoolLit) else by_name
    if not isinstance(node, ast.Name):
        return None
    bound = parameter_binding.open_alias(elab, unification.evaluate_pattern(elab, node, info.scope, info.module))
    if not isinstance(bound, StructTy) or bound.info is not well_known.library_info(elab, "Origin"):
        return None
    mut = bound.params[0]
    return bool(mut.data) if isinstance(mut, ConstValue) else by_name
