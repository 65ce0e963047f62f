"""Pointers: their arithmetic, their types, and how values come to where they point."""

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.rules.places import PRIMARY, outside
from ktc.syntax import ast

POINTER = "UnsafePointer"
_VIEWS = ("UnsafePointer", "Pointer", "Span")
"""Types of arguments whose origin can be left out in edition 2025, and is `_` in edition 2026."""


def offset(plan: Plan, node: ast.Binary) -> None:
    """`p + i`."""
    if node.op != "+" or plan.facts.struct_of(node.left) != POINTER or plan.facts.struct_of(node.right) == POINTER:
        return
    left = outside(plan, node.left)
    is_closed = isinstance(node.left, PRIMARY) or left != (node.left.start, node.left.end)
    before, after = ("", "") if is_closed else ("(", ")")
    right = (node.right.start, node.right.end)
    place = outside(plan, node)
    plan.changes.replace(table.POINTER, *place, before, left, after, ".unsafe_offset(", right, ")")


def index(plan: Plan, node: ast.Subscript) -> None:
    """`p[i]`."""
    is_one = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Slice)
    if is_one and plan.facts.struct_of(node.base) == POINTER:
        plan.changes.insert(table.POINTER, node.args[0].start, "unsafe_offset=")


def writes(plan: Plan, node: ast.Call) -> None:
    """`init_pointee_copy(v)` and its kind, `UnsafePointer[T].alloc(n)`."""
    func = node.func
    if not isinstance(func, ast.Attribute):
        return
    names = plan.facts.meant(node) if not plan.is_mixed else {f"{POINTER}.{func.name}"}
    end = func.name_start + len(func.name)
    if names & {"UnsafePointer.init_pointee_copy", "UnsafePointer.init_pointee_explicit_copy"} and len(node.args) == 1:
        plan.changes.replace(table.POINTER, func.name_start, end, "unsafe_write")
        plan.changes.insert(table.POINTER, node.args[0].start, "copy=")
    elif "UnsafePointer.init_pointee_move" in names:
        plan.changes.replace(table.POINTER, func.name_start, end, "unsafe_write")
    elif "UnsafePointer.init_pointee_move_from" in names:
        plan.changes.replace(table.POINTER, func.name_start, end, "unsafe_write_move_from")
    elif isinstance(func.value, ast.Subscript) and func.name == "alloc":
        base = func.value
        name = base.base.id if isinstance(base.base, ast.Name) else ""
        names_pointer = name in ("UnsafePointer", "LegacyUnsafePointer", *(("Pointer",) if plan.is_mixed else ()))
        if (names_pointer or name in plan.legacy) and base.args:
            kind = (base.args[0].start, base.args[0].end)
            plan.changes.replace(table.POINTER, node.start, end, "alloc[", kind, "]")


def pointer_type(plan: Plan, node: ast.Subscript) -> None:
    """`UnsafePointer[Int]` and `Span[Int]` leave their origin open."""
    name = node.base.id if isinstance(node.base, ast.Name) else ""
    is_legacy = name == "LegacyUnsafePointer" or name in plan.legacy
    if is_legacy and node.args and all(isinstance(one, ast.Star) for one in node.args):
        plan.changes.replace(table.POINTER, node.base.end, node.end, "[_, MutAnyOrigin]")  # `[mut=True, *_, **_]`
        return
    if len(node.args) != 1 or node.keywords or not name:
        return
    holder = next((one for one in plan.read.around(node) if not isinstance(one, ast.Subscript | ast.TupleLit)), None)
    is_field = isinstance(holder, ast.VarDecl | ast.Alias) and isinstance(plan.read.parents.get(holder), ast.StructDecl)
    if is_legacy and not isinstance(plan.read.parents.get(node), ast.Attribute):
        plan.changes.insert(table.POINTER, node.args[0].end, ", MutUntrackedOrigin" if is_field else ", MutAnyOrigin")
    elif name in _VIEWS and isinstance(holder, ast.Param):
        function = plan.read.parents.get(holder)
        if isinstance(function, ast.FunctionDecl) and any(one is holder for one in function.args):
            plan.changes.insert(table.POINTER, node.args[0].end, ", _")
