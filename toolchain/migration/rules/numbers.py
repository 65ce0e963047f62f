"""Numbers: division, conversions that are no longer implicit, and ids of threads, which have a sign."""

from collections.abc import Sequence

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.reading import walk
from ktc.migration.rules.places import outside
from ktc.syntax import ast

_QUOTIENTS = frozenset(("Int.__truediv__", "UInt.__truediv__", "Int.__rtruediv__", "UInt.__rtruediv__"))


def quotient(plan: Plan, node: ast.Binary) -> None:
    """`i / j` of `Int`s is a Float64 in edition 2025, and an `Int` in edition 2026."""
    place = (node.start, node.end)
    hidden = plan.facts.hidden.get(place, set()) & _QUOTIENTS
    if node.op != "/" or not hidden:
        return
    if any("truediv" in one for one in plan.facts.calls[place] - _QUOTIENTS):
        text = "'/' of 'Int's gives an 'Int' in edition 2026: convert them to Float64 where that is meant"
        plan.changes.note(table.DIVISION, node.start, text)
        return
    for one in (node.left, node.right):
        if plan.facts.struct_of(one) not in ("FloatLiteral", "IntLiteral"):
            plan.changes.replace(table.DIVISION, *outside(plan, one), "Float64(", (one.start, one.end), ")")


def difference(plan: Plan, node: ast.Binary) -> None:
    """`thread_idx.x - 1` is never negative in edition 2025, where ids are unsigned."""
    if node.op != "-" or plan.facts.type_of(node) != "UInt" or not _is_id(plan, node):
        return
    parent = plan.read.parents.get(node)
    if not (isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "Int"):
        plan.changes.note(table.IDS, node.start, "ids are signed in edition 2026: look at what happens below 0")


def quotient_in_place(plan: Plan, node: ast.AugAssign) -> None:
    """`i /= 2` of an `Int` rounds down in edition 2025, and towards zero in edition 2026."""
    if node.op == "/" and plan.facts.type_of(node.target) in ("Int", "UInt"):
        at = plan.read.find("/=", node.target.end, node.value.start)
        plan.changes.replace(table.DIVISION, at, at + 2, "//=")


def conversion(plan: Plan, node: ast.Node) -> None:
    """An `Int` where a number of another type is wanted."""
    kinds = plan.facts.implicit.get((node.start, node.end), set())
    if not kinds or isinstance(node, (ast.Keyword, ast.ExprStmt)):
        return
    if any(one.start == node.start and one.end == node.end for one in plan.read.around(node)):
        return
    if isinstance(node, ast.Call) and all(name.endswith(".__init__") for name in plan.facts.meant(node)):
        return
    kind = next(iter(kinds)) if len(kinds) == 1 else _generic_scalar(plan, node, kinds)
    if _is_target(plan, node):
        _given_to(plan, node, kind)
        return
    if not kind:
        plan.changes.note(table.CONVERSION, node.start, "convert the value: edition 2026 does not do so by itself")
        return
    for one in _converted(plan, node, kind):
        if not (kind == "UInt" and (_is_id(plan, one) or is_beside_id(plan, one))):
            start, end = outside(plan, one)
            plan.changes.replace(table.CONVERSION, start, end, f"{kind}(", (one.start, one.end), ")")


def _given_to(plan: Plan, node: ast.Node, kind: str) -> None:
    """Convert the value that a place among several gets: `a[0], b = 1, 2`."""
    targets = plan.read.parents.get(node)
    whole = plan.read.parents.get(targets) if targets is not None else None
    if isinstance(targets, ast.TupleLit) and isinstance(whole, ast.Assign) and isinstance(whole.value, ast.TupleLit):
        places = [at for at, one in enumerate(targets.items) if one is node]
        if kind and places and len(whole.value.items) == len(targets.items):
            value = whole.value.items[places[0]]
            plan.changes.wrap(table.CONVERSION, value.start, value.end, f"{kind}(", ")")


def _is_target(plan: Plan, node: ast.Node) -> bool:
    """Return whether a value is assigned to a place, here one of several."""
    parent = plan.read.parents.get(node)
    if isinstance(parent, ast.TupleLit):
        node, parent = parent, plan.read.parents.get(parent)
    return isinstance(parent, ast.Assign) and any(one is node for one in parent.targets)


def _converted(plan: Plan, node: ast.Node, kind: str) -> Sequence[ast.Node]:
    """Return the nodes to convert at a place: an operator stands for its operands, a comprehension for its items."""
    match node:
        case ast.Comprehension(value=None):
            return [node.item]
        case ast.Comprehension():
            return [node.value] if node.value is not None and _is_whole(plan, node.value) else [node.item]
        case ast.Binary(left=left, right=right) if _is_negative(left) or _is_negative(right):
            return [right if _is_negative(left) else left]
        case ast.Binary(left=left, right=right) if not _is_whole(plan, node):
            found = [one for one in (left, right) if _is_whole(plan, one)]
            return found if len(found) == 1 else []
        case ast.Compare(first=first, rest=rest):
            return [one for one in (first, *rest) if _is_whole(plan, one)]
        case ast.AugAssign(value=value):
            return [value]
        case ast.ListLit() | ast.DictLit() | ast.SetLit() | ast.TupleLit():
            return []
    return [node]


def _is_negative(node: ast.Node) -> bool:
    """Return whether a value is a negative literal, which no unsigned number takes in edition 2026."""
    return isinstance(node, ast.Unary) and node.op == "-" and isinstance(node.value, ast.IntLit)


def _is_whole(plan: Plan, node: ast.Node) -> bool:
    return plan.facts.type_of(node) in ("Int", "UInt")


def _generic_scalar(plan: Plan, node: ast.Node, kinds: set[str]) -> str:
    """Return the scalar of the one dtype that is a parameter here."""
    for one in plan.read.around(node):
        if isinstance(one, ast.FunctionDecl):
            types = [p.name for p in one.params if p.type is not None and plan.read.of(p.type) == "DType"]
            if len(types) == 1:
                return f"Scalar[{types[0]}]"
            if types:
                return ""
    return ""


def is_beside_id(plan: Plan, node: ast.Node) -> bool:
    """Return whether the other operand comes from ids of threads."""
    parent = plan.read.parents.get(node)
    others: tuple[ast.Expr, ...] = ()
    if isinstance(parent, ast.Binary):
        others = (parent.left, parent.right)
    elif isinstance(parent, ast.Compare):
        others = (parent.first, *parent.rest)
    return any(one is not node and _is_id(plan, one) for one in others)


def signed_id(plan: Plan, node: ast.Call) -> None:
    """`UInt(length)` beside an id of threads, which is an `Int` in edition 2026."""
    if isinstance(node.func, ast.Name) and node.func.id == "UInt" and len(node.args) == 1 and is_beside_id(plan, node):
        plan.changes.replace(table.IDS, node.func.start, node.func.end, "Int")


_IDS = frozenset((
    "thread_idx", "block_idx", "block_dim", "grid_dim", "global_idx", "cluster_idx", "cluster_dim",
    "block_id_in_cluster", "lane_id", "warp_id", "sm_id",
))  # fmt: skip


def _is_id(plan: Plan, node: ast.Node, depth: int = 0) -> bool:
    """Return whether a value comes from ids of threads, which are `Int` in edition 2026."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("UInt", "Int"):
        return False
    for one in walk(node):
        if not isinstance(one, ast.Name):
            continue
        if one.id in _IDS:
            return True
        value = value_of(plan, one) if depth < 4 else None
        if value is not None and _is_id(plan, value, depth + 1):
            return True
    return False


def value_of(plan: Plan, name: ast.Name) -> ast.Node | None:
    """Return the value that a variable of this function is declared with, where its type is not written."""
    function = plan.read.function(name)
    for one in walk(function) if function is not None else ():
        if isinstance(one, ast.VarDecl | ast.Assign) and one.type is None and plan.read.function(one) is function:
            target = one.targets[0] if isinstance(one, ast.Assign) else one.target
            if isinstance(target, ast.Name) and target.id == name.id:
                return one.value
    return None
