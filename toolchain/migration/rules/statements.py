"""Statements: code that runs at compile time, and variables that an assignment declares."""

from collections.abc import Sequence

from ktc.elaborate.tree.free_variables import declared_in
from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.migration.reading import walk
from ktc.syntax import ast


def alias(plan: Plan, node: ast.Alias) -> None:
    """`alias N = 1`."""
    read = plan.read
    if node.is_hidden or read.word(read.token(node.start)) == "alias":
        at = node.start
        if read.word(read.token(at)) == "alias":
            plan.changes.replace(table.COMPTIME, at, at + len("alias"), "comptime")


def at_compile_time(plan: Plan, node: ast.If | ast.For) -> None:
    """`@parameter` above an `if` or a `for`."""
    if not node.comptime:
        return
    read = plan.read
    token = read.token(node.start)
    if read.word(token - 1) != "parameter" or read.word(token - 2) != "@":
        return
    start = read.starts[token - 2]
    if "#" in read.text[read.ends[token - 1] : node.start]:
        plan.changes.replace(table.COMPTIME, start, read.ends[token - 1])
        plan.changes.insert(table.COMPTIME, node.start, "comptime ")
    else:
        plan.changes.replace(table.COMPTIME, start, node.start, "comptime ")


def materialized(plan: Plan, node: ast.Call) -> None:
    """`layout.size()` of a constant `layout`: no run-time value is made of it in edition 2026."""
    base = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(base, ast.Name) or plan.facts.struct_of(base) != "Layout" or node.args:
        return
    if not any(isinstance(one, ast.Alias) and one.name == base.id for one in plan.read.nodes):
        return
    inner: ast.Node = node
    for one in plan.read.around(node):
        is_head = isinstance(one, ast.If | ast.For) and one.comptime and inner not in (*one.body, *one.orelse)
        if is_head or isinstance(one, ast.Alias) or (isinstance(one, ast.Subscript) and inner is not one.base):
            return
        inner = one
    plan.changes.wrap(table.COMPTIME, node.start, node.end, "comptime(", ")")


def constrained(plan: Plan, node: ast.ExprStmt) -> None:
    """`constrained[condition, message]()`."""
    match node.value:
        case ast.Call(func=ast.Subscript(base=ast.Name(id="constrained"), args=args, keywords=())) if (
            1 <= len(args) <= 2
        ):
            pieces: list[str | tuple[int, int]] = ["comptime assert ", (args[0].start, args[0].end)]
            if len(args) == 2:
                pieces += [", ", (args[1].start, args[1].end)]
            plan.changes.replace(table.COMPTIME_ASSERT, node.value.start, node.value.end, *pieces)


def implicit_variables(plan: Plan, node: ast.FunctionDecl) -> None:
    """Declare the variables that an assignment declares in edition 2025."""
    if node.body is None:
        return
    found = _Names(plan, node)
    found.block(node.body, [found.arguments()])
    done: set[int] = set()
    for name, assigned in found.implicit.items():
        _declare(plan, node, name, assigned, found, done)


class _Names:
    """The names of one function, nested functions left out.

    Attributes:
        implicit: assignments that may declare a variable, by its name: the target, and the statement.
    """

    def __init__(self, plan: Plan, node: ast.FunctionDecl) -> None:
        self.plan, self.node = plan, node
        self.implicit: dict[str, list[tuple[ast.Node, ast.Stmt]]] = {}
        self.outer = self._outer()

    def _outer(self) -> set[str]:
        """Return the names of the functions around."""
        names: set[str] = set()
        for one in self.plan.read.around(self.node):
            if isinstance(one, ast.FunctionDecl):
                names |= declared_in(one.body) - _constants(self.plan, one) | {
                    arg.name for arg in (*one.args, *one.params)
                }
                names |= {
                    name.id
                    for part in _own_nodes(self.plan, one)
                    if isinstance(part, ast.Assign)
                    for target in part.targets
                    for name in _names_of(target)
                }
        return names

    def arguments(self) -> set[str]:
        """Return the function's arguments and parameters, and those of the functions around it."""
        return {one.name for one in (*self.node.args, *self.node.params)} | self.outer

    def block(self, body: Sequence[ast.Stmt], scopes: list[set[str]]) -> None:
        """Go over the statements of a block."""
        scopes = [*scopes, set()]
        for statement in body:
            self._statement(statement, scopes)

    def _statement(self, node: ast.Stmt, scopes: list[set[str]]) -> None:
        for walrus in _walruses(node):
            if not any(walrus.name in one for one in scopes) and not self.plan.read.of(walrus).startswith("var"):
                self.implicit.setdefault(walrus.name, []).append((walrus, node))
        match node:
            case ast.VarDecl():
                scopes[-1] |= {one.id for one in _names_of(node.target)}
            case ast.Alias() | ast.FunctionDecl():
                scopes[-1].add(node.name)
            case ast.Assign():
                for target in node.targets:
                    scopes[-1] |= _bound_names(target)
                for target in node.targets:
                    for one in _names_of(target):
                        if not any(one.id in scope for scope in scopes):
                            self.implicit.setdefault(one.id, []).append((one, node))
            case ast.Import() | ast.FromImport():
                scopes[-1] |= {new or name for name, new in node.names}
        if isinstance(node, ast.If | ast.While):
            self.block(node.body, scopes)
            self.block(node.orelse, scopes)
        elif isinstance(node, ast.For):
            self.block(node.body, [*scopes, {one.id for one in _names_of(node.target)}])
            self.block(node.orelse, scopes)
        elif isinstance(node, ast.Try):
            self.block(node.body, scopes)
            if node.handler is not None:
                self.block(node.handler.body, [*scopes, {node.handler.name}])
            self.block(node.orelse, scopes)
            self.block(node.final, scopes)
        elif isinstance(node, ast.With):
            self.block(node.body, [*scopes, {one.name for one in node.items}])


def _walruses(statement: ast.Stmt) -> list[ast.Walrus]:
    """Return the `name := value` in the head of a statement."""
    heads: tuple[ast.Node, ...] = ()
    match statement:
        case ast.If(condition=condition) | ast.While(condition=condition):
            heads = (condition,)
        case ast.ExprStmt(value=value) | ast.Assign(value=value):
            heads = (value,)
        case ast.Return(value=value) | ast.VarDecl(value=value) if value is not None:
            heads = (value,)
    return [one for head in heads for one in walk(head) if isinstance(one, ast.Walrus)]


def _inside(node: ast.Node, outer: ast.Node) -> bool:
    return outer.start <= node.start and node.end <= outer.end


def _bound_names(target: ast.Expr) -> set[str]:
    """Return the names that a target declares itself: `var z` in `x, var z = …`."""
    if isinstance(target, ast.Bound):
        return {one.id for one in _names_of(target.target)}
    return {name for item in target.items for name in _bound_names(item)} if isinstance(target, ast.TupleLit) else set()


def _names_of(target: ast.Expr) -> list[ast.Name]:
    if isinstance(target, ast.Name):
        return [target] if target.id != "_" else []
    if isinstance(target, ast.TupleLit):
        return [one for item in target.items for one in _names_of(item)]
    if isinstance(target, ast.Bound):
        return []
    return []


def _constants(plan: Plan, node: ast.FunctionDecl) -> set[str]:
    """Return the names of a function's constants and functions, which an assignment elsewhere does not mean."""
    return {one.name for one in _own_nodes(plan, node) if isinstance(one, ast.Alias | ast.FunctionDecl)}


def _own_nodes(plan: Plan, node: ast.FunctionDecl) -> list[ast.Node]:
    """Return the nodes of a function without those of nested functions."""
    return [one for one in walk(node) if plan.read.function(one) is node]


def _declare(
    plan: Plan, node: ast.FunctionDecl, name: str, assigned: list[tuple[ast.Node, ast.Stmt]], found: _Names,
    done: set[int],
) -> None:  # fmt: skip
    """Declare one variable: at its first assignment where all uses are in that block, else above them."""
    first, statement = min(assigned, key=lambda one: one[0].start)
    walruses = [one for one, _ in assigned if isinstance(one, ast.Walrus)]
    uses: list[ast.Node] = [*plan.read.uses_in(name, node), *walruses]
    block = _block_of(plan, statement)
    is_whole = isinstance(statement, ast.Assign) and len(statement.targets) == 1 and all(
        one.id in found.implicit and _first(found, one.id) is statement for one in _names_of(statement.targets[0])
    ) and _only_names(statement.targets[0])  # fmt: skip
    reaches = all(_is_in_block(one, block) for one in uses) and block is not None
    if reaches and is_whole:
        if statement.start not in done:
            done.add(statement.start)
            plan.changes.insert(table.VARIABLE, statement.start, "var ")
        return
    _hoist(plan, node, name, first, uses)


def _first(found: _Names, name: str) -> ast.Stmt:
    return min(found.implicit[name], key=lambda one: one[0].start)[1]


def _only_names(target: ast.Expr) -> bool:
    if isinstance(target, ast.TupleLit):
        return all(_only_names(one) for one in target.items)
    return isinstance(target, ast.Name)


def _hoist(plan: Plan, node: ast.FunctionDecl, name: str, first: ast.Node, uses: list[ast.Node]) -> None:
    """Declare a variable above the statement that has its uses."""
    types = {kind for one in uses for kind in plan.facts.variables.get(one.start, ())}
    kind = next(iter(types)) if len(types) == 1 else ""
    block: Sequence[ast.Stmt] | None = node.body
    place = node.body[0] if node.body else None
    while block is not None:
        holding = [one for one in block if any(_inside(use, one) for use in uses)]
        if not holding:
            break
        place = holding[0]
        block = None
        if len(holding) == 1 and not isinstance(holding[0], ast.For | ast.While):
            block = next(
                (part for part in _blocks(holding[0]) if part and all(_is_in_block(use, part) for use in uses)), None
            )
    if not kind or place is None:
        text = f"declare '{name}' with 'var' and its type, above the blocks that use it"
        plan.changes.note(table.VARIABLE, first.start, text)
        return
    at = _start(plan, place)
    plan.changes.insert(table.VARIABLE, at, f"var {name}: {kind}\n{plan.read.indentation(at)}")


def _start(plan: Plan, statement: ast.Stmt) -> int:
    decorators = statement.decorators if isinstance(statement, ast.FunctionDecl) else ()
    return min([statement.start, *(one.start for one in decorators)])


def _blocks(node: ast.Stmt) -> list[tuple[ast.Stmt, ...]]:
    match node:
        case ast.If() | ast.For() | ast.While():
            return [node.body, node.orelse]
        case ast.Try():
            handled = node.handler.body if node.handler is not None else ()
            return [node.body, handled, node.orelse, node.final]
        case ast.With():
            return [node.body]
    return []


def _block_of(plan: Plan, statement: ast.Stmt) -> tuple[ast.Stmt, ...] | None:
    """Return the block that a statement stands in."""
    parent = plan.read.parents.get(statement)
    if isinstance(parent, ast.FunctionDecl):
        return parent.body
    if isinstance(parent, ast.Handler):
        return parent.body
    for block in _blocks(parent) if parent is not None else ():  # type: ignore[arg-type]
        if any(one is statement for one in block):
            return block
    return None


def _is_in_block(node: ast.Node, block: Sequence[ast.Stmt] | None) -> bool:
    return block is not None and len(block) > 0 and block[0].start <= node.start and node.end <= block[-1].end
