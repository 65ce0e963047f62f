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
    found = plan.facts.named.get((kernel.start, kernel.end))
    base_kernel = kernel
    while found is None and isinstance(base_kernel, ast.Subscript):
        base_kernel = base_kernel.base
        found = plan.facts.named.get((base_kernel.start, base_kernel.end))
    decl = next(
        (one for one in plan.read.nodes if isinstance(one, ast.FunctionDecl) and found == (plan.path, one.start)), None
    )
    if decl is None and isinstance(base_kernel, ast.Name):
        decls = [
            one for one in plan.read.module.body if isinstance(one, ast.FunctionDecl) and one.name == base_kernel.id
        ]
        decl = decls[0] if len(decls) == 1 else None
    if decl is not None:
        kernels.setdefault(decl, []).append(node)


def _of_compiled(plan: Plan, kernels: dict[ast.FunctionDecl, list[ast.Call]]) -> None:
    """Launches of what `compile_function` has made: the first argument is the variable that holds it."""
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
