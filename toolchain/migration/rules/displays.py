"""Lists: their displays are arrays in edition 2026 where no type is written."""

import re

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.syntax import ast


def display(plan: Plan, node: ast.VarDecl | ast.Assign) -> None:
    """A list display that declares a variable is a List in edition 2025, and an Array in edition 2026."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if (
        node.type is not None
        or not isinstance(target, ast.Name)
        or (isinstance(node, ast.VarDecl) and node.kind == "ref")
    ):
        return
    if (isinstance(node, ast.Assign) and len(node.targets) != 1) or not _has_list(node.value):
        return
    types = plan.facts.variables.get(target.start, set())
    kind = next(iter(types)) if len(types) == 1 else ""
    if "List[" in kind and _is_known(plan, kind):
        plan.changes.insert(table.DISPLAY, target.end, f": {kind}")
    elif isinstance(node.value, ast.ListLit) and (
        not types or all(one.startswith("List[") or not one for one in types)
    ):
        plan.changes.insert(table.DISPLAY, target.end, ": List")
    elif not types or any("List[" in one or not one for one in types):
        plan.changes.note(table.DISPLAY, target.start, f"write the type of '{target.id}': without it, it is an Array")


def _has_list(node: ast.Expr | None) -> bool:
    """Return whether a value is a list display, or a display or tuple of one."""
    match node:
        case ast.ListLit():
            return True
        case ast.TupleLit(items=items) | ast.SetLit(items=items):
            return any(map(_has_list, items))
        case ast.DictLit(items=pairs):
            return any(_has_list(key) or _has_list(value) for key, value in pairs)
        case ast.Ternary(then=then, orelse=orelse):
            return _has_list(then) or _has_list(orelse)
    return False


def _is_known(plan: Plan, kind: str) -> bool:
    """Return whether the text can write a type: it has all names in it."""
    return all(word in plan.known for word in _WORD.findall(kind))


_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w*=)")


def operand(plan: Plan, node: ast.ListLit | ast.SetLit) -> None:
    """A display that is an operand, or whose method is called, is an Array in edition 2026; texts in it are Strings."""
    parent = plan.read.parents.get(node)
    kind = plan.facts.type_of(node)
    if not kind and isinstance(parent, ast.Binary):
        kind = plan.facts.type_of(parent)
    if kind.startswith(("List[StaticString", "Set[StaticString")) and isinstance(parent, ast.For | ast.ForClause):
        for one in node.items:
            plan.changes.wrap(table.DISPLAY, one.start, one.end, "StaticString(", ")")
    is_operand = isinstance(parent, ast.Attribute | ast.Binary)
    if parameter := _parameter(plan, node):
        is_operand, kind = True, parameter
    if isinstance(parent, ast.Compare) and parent.first is node:
        is_operand = all(isinstance(one, ast.ListLit) for one in parent.rest)
        kind = kind or ("List[Int]" if all(isinstance(one, ast.IntLit) for one in node.items) else "")
    if is_operand and kind.startswith("List["):
        if node.items:
            plan.changes.wrap(table.DISPLAY, node.start, node.end, f"{kind}(", ")")
        else:
            plan.changes.replace(table.DISPLAY, node.start, node.end, f"{kind}()")


def _parameter(plan: Plan, node: ast.Expr) -> str:
    """Return the type of a display that is a parameter of a function with overloads, which it chooses between."""
    parent = plan.read.parents.get(node)
    call = plan.read.parents.get(parent) if isinstance(parent, ast.Subscript) else None
    if not isinstance(parent, ast.Subscript) or not isinstance(parent.base, ast.Name) or call is None:
        return ""
    name = parent.base.id
    if sum(isinstance(one, ast.FunctionDecl) and one.name == name for one in plan.read.module.body) < 2:
        return ""
    types = plan.facts.parameters.get((call.start, call.end), [])
    return dict(zip(parent.args, types, strict=False)).get(node, "")


def list_call(plan: Plan, node: ast.Call) -> None:
    """`List[Int](1, 2)`."""
    func = node.func
    is_list = isinstance(func, ast.Subscript) and isinstance(func.base, ast.Name) and func.base.id == "List"
    is_bare = isinstance(func, ast.Name) and func.id == "List"
    if not (is_list or is_bare) or not node.args:
        return
    if "List.__init__" not in plan.facts.hidden.get((node.start, node.end), set()) and not plan.is_mixed:
        return
    if any(isinstance(one, ast.Star) for one in node.args):
        return
    if len(node.args) == 1 and plan.facts.struct_of(node.args[0]) in ("Span", "List", "Set"):
        return
    first, last = node.args[0].start, node.args[-1].end
    parent = plan.read.parents.get(node)
    if isinstance(parent, ast.VarDecl) and parent.type is None and isinstance(parent.target, ast.Name) and is_list:
        end = plan.read.closer(func.end)
        plan.changes.replace(table.DISPLAY, parent.target.end, parent.target.end, ": ", (func.start, func.end))
        plan.changes.replace(table.DISPLAY, node.start, node.end, "[", (func.end + 1, end), "]")
        return
    plan.changes.replace(table.DISPLAY, first, last, "[", (first, last), "]")
    if isinstance(func, ast.Subscript) and len(func.args) == 1:
        kind = plan.read.of(func.args[0])
        if kind not in ("Int", "Float64", "Bool"):
            for one in node.args:
                if isinstance(one, ast.IntLit | ast.FloatLit | ast.StrLit | ast.Unary):
                    plan.changes.replace(
                        table.DISPLAY,
                        one.start,
                        one.end,
                        (func.args[0].start, func.args[0].end),
                        "(",
                        (one.start, one.end),
                        ")",
                    )
