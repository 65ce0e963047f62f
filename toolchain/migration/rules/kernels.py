"""Kernels: their scalars, and how they are launched."""

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.rules.numbers import is_beside_id
from ktc.syntax import ast

_LAUNCHES = {"enqueue_function": 1, "enqueue_function_checked": 2, "compile_function": 1, "compile_function_checked": 2,
             "enqueue_function_experimental": 1, "compile_function_experimental": 1}  # fmt: skip
_WIDE = {"Int": "Int64", "UInt": "UInt64"}


def launches(plan: Plan) -> None:
    """Launches, and the kernels that they name."""
    kernels: dict[ast.FunctionDecl, list[ast.Call]] = {}
    for node in plan.read.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            _launch(plan, node, node.func, kernels)
    _of_compiled(plan, kernels)
    for kernel, calls in kernels.items():
        _scalars(plan, kernel, calls)


def _launch(
    plan: Plan, node: ast.Call, func: ast.Subscript, kernels: dict[ast.FunctionDecl, list[ast.Call]]
) -> None:  # fmt: skip
    base = func.base
    if not isinstance(base, ast.Attribute) or base.name not in _LAUNCHES or not func.args:
        return
    kernel = func.args[0]
    name = base.name.removesuffix("_checked").removesuffix("_experimental")
    plan.changes.replace(table.LAUNCH, base.name_start, base.name_start + len(base.name), name)
    if len(func.args) == 2 and plan.read.of(func.args[0]) == plan.read.of(func.args[1]):
        plan.changes.replace(table.LAUNCH, kernel.end, func.args[1].end)
    for decl in functions_of(plan, kernel):
        kernels.setdefault(decl, []).append(node)


def functions_of(plan: Plan, node: ast.Expr) -> list[ast.FunctionDecl]:
    """Return the functions of this file that an expression names: several if it is a parameter of a function."""
    while isinstance(node, ast.Subscript):
        node = node.base
    if not isinstance(node, ast.Name):
        return []
    for outer in plan.read.around(node):
        if isinstance(outer, ast.FunctionDecl):
            for index, param in enumerate(outer.params):
                if param.name == node.id:
                    _widen(plan, param)
                    return [
                        one for given in _given(plan, outer, index, param.name) for one in functions_of(plan, given)
                    ]
    found = plan.facts.named.get((node.start, node.end))
    decls = [one for one in plan.read.nodes if isinstance(one, ast.FunctionDecl)]
    exact = [one for one in decls if found == (plan.path, one.start)]
    named = [one for one in decls if one.name == node.id and plan.read.parents.get(one) is plan.read.module]
    values = [one.value for one in plan.read.nodes if isinstance(one, ast.Alias) and one.name == node.id]
    if not exact and not named and len(values) == 1 and values[0] is not None:
        return functions_of(plan, values[0])
    return exact or (named if len(named) == 1 else [])


def _given(plan: Plan, function: ast.FunctionDecl, index: int, name: str) -> list[ast.Expr]:
    """Return the arguments for one of a function's parameters, of all its uses."""
    found = []
    for use in plan.read.uses.get(function.name, ()):
        parent = plan.read.parents.get(use)
        if isinstance(parent, ast.Subscript) and parent.base is use:
            found += [one.value for one in parent.keywords if one.name == name] or [*parent.args[index : index + 1]]
    return found


def _widen(plan: Plan, param: ast.Param) -> None:
    """Give the type of a kernel that is a parameter scalars of fixed width."""
    kind = param.type
    if isinstance(kind, ast.Name):
        aliases = [one.value for one in plan.read.nodes if isinstance(one, ast.Alias) and one.name == kind.id]
        kind = aliases[0] if len(aliases) == 1 else None
    for arg in kind.args if isinstance(kind, ast.FunctionType) else ():
        text = plan.read.of(arg.type) if arg.type is not None else ""
        if arg.type is not None and text in _WIDE:
            plan.changes.replace(table.KERNEL, arg.type.start, arg.type.end, _WIDE[text])


def _of_compiled(plan: Plan, kernels: dict[ast.FunctionDecl, list[ast.Call]]) -> None:
    """Launches of a result of `compile_function`: the first argument is the variable that holds it."""
    made: dict[str, ast.FunctionDecl] = {}
    for kernel, calls in kernels.items():
        for call in calls:
            parent = plan.read.parents.get(call)
            if isinstance(parent, ast.VarDecl) and isinstance(parent.target, ast.Name):
                made[parent.target.id] = kernel
    for node in plan.read.nodes:
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(func, ast.Attribute) and func.name in _LAUNCHES and node.args:
            new = func.name.removesuffix("_checked").removesuffix("_experimental")
            plan.changes.replace(table.LAUNCH, func.name_start, func.name_start + len(func.name), new)
            first = node.args[0]
            if isinstance(first, ast.Name) and first.id in made:
                kernels[made[first.id]].append(ast.Call(node.start, node.end, func, node.args[1:], node.keywords))


def _scalars(plan: Plan, kernel: ast.FunctionDecl, calls: list[ast.Call]) -> None:
    """An `Int` of a kernel is an `Int64` in edition 2026, and is used as an `Int`."""
    for index, arg in enumerate(kernel.args):
        kind = plan.read.of(arg.type) if arg.type is not None else ""
        if kind not in _WIDE or arg.kind == "star":
            continue
        assert arg.type is not None
        uses = [one for one in plan.read.uses_in(arg.name, kernel) if not arg.start <= one.start < arg.end]
        if arg.convention in ("owned", "var", "mut"):
            text = f"argument '{arg.name}' of a kernel needs a type of fixed width: '{_WIDE[kind]}'"
            plan.changes.note(table.KERNEL, arg.start, text)
            continue
        plan.changes.replace(table.KERNEL, arg.type.start, arg.type.end, _WIDE[kind])
        for one in uses:
            if not _is_converted(plan, one, kind):
                own = "Int" if is_beside_id(plan, one) else kind
                plan.changes.wrap(table.KERNEL, one.start, one.end, f"{own}(", ")")
        for call in calls:
            _passed(plan, call, index, arg.name, _WIDE[kind])


def _passed(plan: Plan, call: ast.Call, index: int, name: str, kind: str) -> None:
    """Convert what a launch passes."""
    func = call.func
    if (
        isinstance(func, ast.Subscript)
        and isinstance(func.base, ast.Attribute)
        and func.base.name.startswith("compile")
    ):
        return
    if index < len(call.args):
        value = call.args[index]
        if not isinstance(value, ast.Star):
            plan.changes.wrap(table.KERNEL, value.start, value.end, f"{kind}(", ")")
    for keyword in call.keywords:
        if keyword.name == name:
            plan.changes.wrap(table.KERNEL, keyword.value.start, keyword.value.end, f"{kind}(", ")")


def _is_converted(plan: Plan, node: ast.Name, kind: str) -> bool:
    parent = plan.read.parents.get(node)
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in ("Int", "UInt")
