"""Nested functions: their captures, and their uses as arguments.

A nested function of edition 2025 has copies of what it captures, one with `@parameter` references. The second kind is
kept under the name that edition 2026 has for it (`@__parameter`) where it is the value of a parameter of the program.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.syntax import ast

PASSED: Mapping[str, str] = MappingProxyType({
    "vectorize": "last", "map": "last", "sort": "last", "partition": "last", "parallelize": "first",
    "sync_parallelize": "first", "run": "first", "iter": "first", "bench_function": "first", "iter_preproc": "first",
    "unswitch": "last", "bench_with_input": "first", "measure": "first",
})  # fmt: skip
"""Functions that take as an argument the closure that is their first parameter in edition 2025, and where."""
_BOTH = frozenset(("map", "vectorize", "sort", "partition", "run"))
"""Of these, names that other functions of the library have as well, which take no closure."""


def captures(plan: Plan, node: ast.FunctionDecl) -> None:
    """A nested function lists what it captures."""
    read = plan.read
    if read.function(node) is None:
        return
    _, closing, colon = read.head(node)
    if node.captures is not None or "unified" in node.effects:
        _unified(plan, node, closing, colon)
        return
    decorator = next((one for one in node.decorators if _names(one, "parameter")), None)
    is_reference = decorator is not None or "capturing" in node.effects
    if is_reference and not _is_plain(plan, node):
        return
    if decorator is not None:
        _without(plan, decorator)
    at = closing + 1
    for word in ("raises", "escaping", "capturing"):
        place = read.find(word, closing, colon)
        if place < 0:
            continue
        end = place + len(word)
        if word != "raises":
            end = read.closer(end) + 1 if read.text[end] == "[" else end
            plan.changes.replace(table.CAPTURES, place - 1, end)
        at = max(at, end)
    copies = [one.value for one in node.decorators if _names(one, "__copy_capture")]
    copied = {read.of(arg) for one in copies if isinstance(one, ast.Call) for arg in one.args}
    names = []
    for name in plan.facts.closures.get(node.start, {}):
        if not read.uses_in(name, node):
            continue  # of a function that is a parameter
        mode = "var"
        if is_reference and name not in copied:
            mode = "mut" if _is_changed(plan, node, name) else "imm"
        names.append(f"{mode} {name}")
    names += [f"var {name}" for name in sorted(copied) if f"var {name}" not in names]
    for one in node.decorators:
        if _names(one, "__copy_capture"):
            _without(plan, one)
    if names:
        plan.changes.insert(table.CAPTURES, at, " {" + ", ".join(names) + "}")


def _unified(plan: Plan, node: ast.FunctionDecl, closing: int, colon: int) -> None:
    at = plan.read.find("unified", closing, colon)
    if at >= 0:
        end = at + len("unified")
        while plan.read.text[end] == " ":
            end += 1
        plan.changes.replace(table.CAPTURES, at, end)
    for one in node.captures or ():
        if one.mode == "read" and plan.read.text.startswith("read", one.start):
            plan.changes.replace(table.CAPTURES, one.start, one.start + len("read"), "imm")


def _names(decorator: ast.Decorator, name: str) -> bool:
    value = decorator.value.func if isinstance(decorator.value, ast.Call) else decorator.value
    return isinstance(value, ast.Name) and value.id == name


def _without(plan: Plan, decorator: ast.Decorator) -> None:
    """Remove a decorator with its line."""
    text = plan.read.text
    start, end = plan.read.line_start(decorator.start), text.find("\n", decorator.value.end)
    if not text[start : decorator.start].strip() and not text[decorator.value.end : end].strip():
        plan.changes.replace(table.CAPTURES, start, end + 1)
    else:
        plan.changes.replace(table.CAPTURES, decorator.start, decorator.value.end)


def _is_plain(plan: Plan, node: ast.FunctionDecl, asked: frozenset[ast.FunctionDecl] = frozenset()) -> bool:
    """Return whether a `@parameter` function is only called, or passed to functions that take an argument now.

    Args:
        asked: functions of which it is being asked, which use each other.
    """
    if node in asked:
        return True
    asked |= {node}
    outer = plan.read.function(node)
    if any(not plan.read.uses_in(name, node) for name in plan.facts.closures.get(node.start, {})):
        return False  # it calls a closure that is a parameter, and captures what that one captures
    inner_ones = [one for one in plan.read.nodes if isinstance(one, ast.FunctionDecl) and one.name != node.name]
    for name, kind in plan.facts.closures.get(node.start, {}).items():
        if kind == "function" and any(
            one.name == name and plan.read.function(one) is outer and not _is_plain(plan, one, asked)
            for one in inner_ones
        ):
            return False  # what captures it has to be a parameter too
    for one in plan.read.uses.get(node.name, ()):
        if outer is None or not outer.start <= one.start < outer.end or node.start <= one.start < node.end:
            continue
        parent = plan.read.parents.get(one)
        user = plan.read.function(one)
        is_inner = user is not outer and user is not None and any(_names(d, "parameter") for d in user.decorators)
        if is_inner and user is not None and not _is_plain(plan, user, asked):
            return False
        if isinstance(parent, ast.Call) and parent.func is one:
            continue
        if not (isinstance(parent, ast.Subscript) and _takes(plan, parent, one)):
            return False
    return True


def _takes(plan: Plan, node: ast.Subscript, closure: ast.Expr) -> bool:
    call = plan.read.parents.get(node)
    return isinstance(call, ast.Call) and _closure_of(plan, call) is closure


def _closure_of(plan: Plan, call: ast.Call) -> ast.Expr | None:
    """Return the closure that a call has as a parameter, where edition 2026 takes an argument."""
    func = call.func
    if not isinstance(func, ast.Subscript) or not func.args:
        return None
    base = func.base
    name = base.id if isinstance(base, ast.Name) else base.name if isinstance(base, ast.Attribute) else ""
    place = (call.start, call.end)
    known = plan.facts.hidden.get(place, set()) if name in _BOTH else plan.facts.library.get(place, set())
    is_known = name in PASSED and (plan.is_mixed or any(one.split(".")[-1] == name for one in known))
    return func.args[0] if is_known else None


def passed(plan: Plan, node: ast.Call) -> None:
    """`vectorize[f, 4](n)` is `vectorize[4](n, f)`."""
    closure = _closure_of(plan, node)
    if closure is None or not isinstance(node.func, ast.Subscript):
        return
    func, read = node.func, plan.read
    base = func.base
    name = base.id if isinstance(base, ast.Name) else getattr(base, "name", "")
    if name == "measure" and _stays(plan, closure):  # it takes both
        return
    rest = [*func.args[1:], *func.keywords]
    if rest:
        plan.changes.replace(table.CLOSURE, closure.start, min(one.start for one in rest))
    else:
        plan.changes.replace(table.CLOSURE, base.end, func.end)
    opening, closing = func.end, read.closer(func.end)
    shown = read.of(closure)
    if PASSED[name] == "first":
        plan.changes.insert(table.CLOSURE, opening + 1, f"{shown}, " if node.args or node.keywords else shown)
    elif node.args:
        plan.changes.insert(table.CLOSURE, node.args[-1].end, f", {shown}")
    else:
        plan.changes.insert(table.CLOSURE, opening + 1, f"{shown}, " if closing > opening + 1 else shown)


def _stays(plan: Plan, closure: ast.Expr) -> bool:
    """Return whether a function stays one that only parameters take."""
    name = closure.id if isinstance(closure, ast.Name) else ""
    decls = [one for one in plan.read.nodes if isinstance(one, ast.FunctionDecl) and one.name == name]
    return any(plan.read.function(one) is not None and not _is_plain(plan, one) for one in decls)


def _is_changed(plan: Plan, node: ast.FunctionDecl, name: str) -> bool:
    """Return whether a nested function may change a variable around it."""
    for one in plan.read.uses_in(name, node):
        inner: ast.Node = one
        if (one.start, one.end) in plan.facts.changed:
            return True
        for outer in plan.read.around(one):
            place = (outer.start, outer.end)
            base = getattr(outer, "value" if isinstance(outer, ast.Attribute) else "base", None)
            if base is not inner:
                if _changes(plan, outer, inner):
                    return True
                break
            if place in plan.facts.changed:
                return True
            inner = outer
    return False


def _changes(plan: Plan, node: ast.Node, part: ast.Node) -> bool:
    """Return whether a statement or call changes a part of it."""
    match node:
        case ast.Call(func=func):
            return func is part and (node.start, node.end) in plan.facts.changing
        case ast.Assign(targets=targets):
            return any(part is target or _is_part(part, target) for target in targets)
        case ast.AugAssign(target=target):
            return target is part
    return False


def _is_part(node: ast.Node, target: ast.Expr) -> bool:
    return isinstance(target, ast.TupleLit) and any(one is node for one in target.items)
