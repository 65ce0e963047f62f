"""`elementwise`: its function takes a `Coord` in edition 2026, not an `IndexList`, and each call has a context."""

from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.rules.kernels import functions_of
from ktc.migration.rules.places import bring
from ktc.syntax import ast

_LISTED = "coord_to_index_list"


def calls(plan: Plan, node: ast.Module) -> None:
    """Calls of `elementwise`, and the functions that they name."""
    wanted: set[str] = set()
    for one in plan.read.nodes:
        func = one.func if isinstance(one, ast.Call) else None
        if not isinstance(one, ast.Call) or not isinstance(func, ast.Subscript) or not func.args:
            continue
        if _is_meant(plan, one, func) and one.args:
            plan.changes.group = -one.start - 1  # each call with its function
            _shape(plan, one.args[0], wanted)
            _context(plan, one, wanted)
            _no_blocking(plan, func)
            for function in functions_of(plan, func.args[0]):
                _function(plan, function, wanted)
    bring(plan, table.ELEMENTWISE, "max.gpu.host", wanted & {"DeviceContext"})
    bring(plan, table.ELEMENTWISE, "std.utils.coord", wanted - {"DeviceContext"})


def _is_meant(plan: Plan, node: ast.Call, func: ast.Subscript) -> bool:
    """Return whether a call is one of the library's `elementwise`, as edition 2025 has it."""
    if plan.is_mixed:
        return plan.read.of(func.base).rpartition(".")[2] == "elementwise"
    return "elementwise" in plan.facts.hidden.get((node.start, node.end), set())


def _shape(plan: Plan, shape: ast.Expr, wanted: set[str]) -> None:
    """`IndexList[2](3, 5)`; a shape of one number stays."""
    if plan.facts.struct_of(shape) != "IndexList":
        return
    wanted.add("Coord")
    if isinstance(shape, ast.Call) and isinstance(shape.func, ast.Subscript) and shape.args and not shape.keywords:
        plan.changes.replace(table.ELEMENTWISE, shape.func.start, shape.func.end, "Coord")
    else:
        plan.changes.wrap(table.ELEMENTWISE, shape.start, shape.end, "Coord(", ")")


def _context(plan: Plan, node: ast.Call, wanted: set[str]) -> None:
    if len(node.args) == 1 and not node.keywords:
        wanted.add("DeviceContext")
        plan.changes.insert(table.ELEMENTWISE, node.args[0].end, ', DeviceContext(api="cpu")')


def _no_blocking(plan: Plan, func: ast.Subscript) -> None:
    """`use_blocking_impl` waits on the host, which always does so, and on a device, where `synchronize` does."""
    given = [*func.args, *func.keywords]
    for number, one in enumerate(given):
        if isinstance(one, ast.Keyword) and one.name == "use_blocking_impl":
            plan.changes.replace(table.ELEMENTWISE, given[number - 1].end, one.end)
            targets = [plan.read.of(other.value) for other in func.keywords if other.name == "target"]
            if targets not in ([], ['"cpu"']) and plan.read.of(one.value) != "False":
                text = "'elementwise' does not wait for a device in edition 2026: call 'synchronize' of the context"
                plan.changes.note(table.ELEMENTWISE, one.start, text)


def _function(plan: Plan, node: ast.FunctionDecl, wanted: set[str]) -> None:
    """`fn f[width: Int, rank: Int, alignment: Int = 1](place: IndexList[rank])`."""
    read, changes = plan.read, plan.changes
    arg = node.args[0] if len(node.args) == 1 else None
    kind = arg.type if arg is not None else None
    if (
        arg is None
        or not isinstance(kind, ast.Subscript)
        or len(kind.args) != 1
        or not isinstance(kind.args[0], ast.Name)
        or not node.body
    ):
        return
    rank = kind.args[0].id
    place = next((number for number, one in enumerate(node.params) if one.name == rank), -1)
    if place < 0:
        return
    if place + 1 < len(node.params):
        changes.replace(table.ELEMENTWISE, node.params[place].start, node.params[place + 1].start)
    else:
        changes.replace(table.ELEMENTWISE, node.params[place - 1].end, node.params[place].end)
    new = next(name for name in ("coord", "at_coord", "coord_", "_coord") if not read.uses_in(name, node))
    changes.replace(table.ELEMENTWISE, arg.start, arg.end, f"{new}: Coord")
    wanted.add("Coord")
    first = node.body[0]
    is_doc = isinstance(first, ast.ExprStmt) and isinstance(first.value, ast.StrLit) and len(node.body) > 1
    first = node.body[1] if is_doc else first
    at = min([first.start, *(one.start for one in getattr(first, "decorators", ()))])
    at = _comptime_start(plan, first, at)
    margin = "\n" + read.indentation(at)
    lines = ""
    if any(not arg.start <= one.start < arg.end for one in read.uses_in(arg.name, node)):
        wanted.add(_LISTED)
        lines += f"var {arg.name} = {_LISTED}({new}){margin}"
    if any(not arg.start <= one.start < arg.end for one in read.uses_in(rank, node)):
        lines += f"comptime {rank} = {new}.rank{margin}"
    if lines:
        changes.insert(table.ELEMENTWISE, at, lines)


def _comptime_start(plan: Plan, node: ast.Stmt, at: int) -> int:
    """Return where a statement starts with the `@parameter` above it."""
    token = plan.read.token(node.start)
    is_marked = isinstance(node, ast.If | ast.For) and node.comptime
    return plan.read.starts[token - 2] if is_marked and plan.read.word(token - 2) == "@" else at
