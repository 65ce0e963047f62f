"""Values that are given to a variable and replaced, or forgotten, before anybody reads them.

Input: a function. Output: the odd stores, in the order of the text.

    x = 3           this value of 'x' is never used
    x = 4
    print(x)

It is asked backwards which variables are still read. Only variables are looked at that have one declaration, and to
which nothing else may point: none that a nested function mentions, that a `ref` or a loop binds, or that is given to a
call whose result is kept. Variables in the head of a `with` are left alone too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.linting.flow import Finding
from ktc.syntax.tree import Tree

Live = frozenset[str]
_NOBODY: Live = frozenset()


@record
class _OtherExits:
    """Variables read after the other ways out of a place: `break`, `continue`, `return`, an error."""

    ends: Live = _NOBODY
    turns: Live = _NOBODY
    returns: Live = _NOBODY
    raises: Live = _NOBODY

    def through(self, final: Live) -> "_OtherExits":
        """Return the ways out if all of them lead to a place where `final` is read."""
        return _OtherExits(self.ends | final, self.turns | final, self.returns | final, self.raises | final)


def dead_stores(function: ast.FunctionDecl, tree: Tree) -> Iterator[Finding]:
    """Yield a function's dead stores, to variables that are read elsewhere."""
    found = _Stores(function, tree)
    if not found.names:
        return
    found.before(function.body or (), _NOBODY, _OtherExits())
    for node, is_dead in sorted(found.dead.items(), key=lambda item: item[0].start):
        if is_dead and isinstance(node, ast.Name):
            text = f"the value that '{node.id}' gets here is never used"
            yield Finding(Code.UNUSED_ASSIGNMENT, node.start, node.end, text, "remove it, or write '_' in its place")


class _Stores:
    """The look at one function."""

    def __init__(self, function: ast.FunctionDecl, tree: Tree) -> None:
        self.tree = tree
        self.names = _candidates(function, tree)
        self.dead: dict[ast.Expr, bool] = {}

    def before(self, body: tuple[ast.Stmt, ...], live: Live, exits: _OtherExits) -> Live:
        """Return the variables that are live before statements, if `live` are after them."""
        for statement in reversed(body):
            live = self._before(statement, live, exits) | exits.raises
        return live

    def _before(self, node: ast.Stmt, live: Live, exits: _OtherExits) -> Live:
        match node:
            case ast.VarDecl(target=ast.Name() as target, type=type_, value=value):
                if value is None:
                    return (live - {target.id}) | self._reads(type_)
                return self._store((target,), live) | self._reads(type_, value)
            case ast.Assign(targets=targets, type=type_, value=value):
                others = [target for target in targets if not isinstance(target, ast.Name)]
                return self._store(targets, live) | self._reads(type_, value, *others)
            case ast.If():
                inner = self.before(node.body, live, exits) | self.before(node.orelse, live, exits)
                return inner | self._reads(node.condition)
            case ast.While():
                return self._loop(node.body, live | self.before(node.orelse, live, exits), live, exits, node.condition)
            case ast.For():
                after = live | self.before(node.orelse, live, exits)
                return self._loop(node.body, after, live, exits) | self._reads(node.iter)
            case ast.Try():
                return self._try(node, live, exits)
            case ast.Return(value=value):
                return exits.returns | self._reads(value)
            case ast.Raise(value=value):
                return exits.raises | self._reads(value)
            case ast.Break():
                return exits.ends
            case ast.Continue():
                return exits.turns
            case _:
                return live | self._reads(node)

    def _loop(
        self,
        body: tuple[ast.Stmt, ...],
        after: Live,
        behind: Live,
        exits: _OtherExits,
        condition: ast.Expr | None = None,
    ) -> Live:
        """Return the variables that are live at the head of a loop, by iteration to a fixed point."""
        head = after | self._reads(condition)
        while True:
            more = head | self.before(body, head, _OtherExits(behind, head, exits.returns, exits.raises))
            if more == head:
                return head
            head = more

    def _try(self, node: ast.Try, live: Live, exits: _OtherExits) -> Live:
        if node.final:
            # what follows a `finally` depends on how it was reached: all of it may
            behind = live | exits.ends | exits.turns | exits.returns | exits.raises
            live = self.before(node.final, behind, exits)
            exits = exits.through(live)
        rest = self.before(node.orelse, live, exits)
        raises = exits.raises
        if node.handler is not None:
            raises = raises | self.before(node.handler.body, live, exits)
        return self.before(node.body, rest, _OtherExits(exits.ends, exits.turns, exits.returns, raises)) | raises

    def _store(self, targets: Iterable[ast.Expr], live: Live) -> Live:
        for target in targets:
            if isinstance(target, ast.Name) and target.id in self.names:
                self.dead[target] = target.id not in live
                live = live - {target.id}
        return live

    def _reads(self, *nodes: ast.Node | None) -> Live:
        return frozenset(_named(self.tree, *nodes)) & self.names


def _named(tree: Tree, *nodes: ast.Node | None) -> Iterator[str]:
    for top in nodes:
        for node in tree.walk(top) if top is not None else ():
            if isinstance(node, ast.Name):
                yield node.id


def _candidates(function: ast.FunctionDecl, tree: Tree) -> Live:
    """Return the variables of a function that can be followed, and that are read somewhere."""
    targets: list[ast.Name] = []
    barred = {arg.name for arg in (*function.args, *function.params)}
    everything = [node for statement in function.body or () for node in tree.walk(statement)]
    for node in everything:
        targets += _targets(node)
        barred.update(_untracked(node, tree))
    counts = Counter(node.id for node in everything if isinstance(node, ast.Name))
    stores = Counter(target.id for target in targets)
    declared = Counter(name for node in everything for name in _declared(node))
    barred.update(name for name, count in declared.items() if count > 1)
    for node in everything:
        for block in (getattr(node, part, None) for part in ("body", "orelse", "final")):
            if isinstance(block, tuple):
                barred.update(_outside(block, counts, tree))
    return frozenset(
        name for name, count in stores.items() if count < counts[name] and name not in barred and name[0] != "_"
    )


def _declared(node: ast.Node) -> list[str]:
    match node:
        case ast.VarDecl(kind="var", target=ast.Name(id=name)):
            return [name]
    return []


def _outside(block: tuple[Any, ...], counts: Counter[str], tree: Tree) -> Iterator[str]:
    """Give the names that an inner block declares, and that stand for another variable elsewhere."""
    names = {name for statement in block for name in _declared(statement)}
    if names:
        inside = Counter(_named(tree, *block))
        yield from (name for name in names if inside[name] != counts[name])


def _targets(node: ast.Node) -> list[ast.Name]:
    match node:
        case ast.VarDecl(kind="var", target=ast.Name() as target):
            return [target]
        case ast.Assign(targets=targets):
            return [target for target in targets if isinstance(target, ast.Name)]
    return []


def _untracked(node: ast.Node, tree: Tree) -> Iterator[str]:
    """Give the names of variables that cannot be followed because of one node."""
    match node:
        case ast.VarDecl(kind="var", target=ast.Name(), value=value):
            yield from _kept(tree, value)
        case ast.Assign(targets=targets, value=value):
            yield from _named(tree, *(target for target in targets if not isinstance(target, ast.Name)))
            yield from _kept(tree, value)
        case ast.AugAssign(value=value) | ast.ExprStmt(value=ast.Call(func=ast.Name() | ast.Attribute()) as value):
            parts: tuple[Any, ...] = (value,)
            if isinstance(value, ast.Call) and isinstance(node, ast.ExprStmt):
                parts = (*value.args, *(word.value for word in value.keywords), getattr(value.func, "value", None))
            for part in parts:
                yield from _kept(tree, part)
        case ast.VarDecl() | ast.Walrus() | ast.FunctionDecl() | ast.Comprehension() | ast.With() | ast.ExprStmt():
            yield from _named(tree, node)
            yield from (name for name in (getattr(node, "name", ""),) if name)
            yield from (one.name for one in getattr(node, "captures", None) or ())
            yield from (item.name for item in getattr(node, "items", ()))
        case ast.For():
            yield from _named(tree, node.target, node.iter)
        case ast.Handler(name=name) if name:
            yield name
        case ast.Keyword(name="to", value=value):
            yield from _named(tree, value)


def _kept(tree: Tree, value: ast.Expr | None) -> Iterator[str]:
    """Give the names that are in a call or between brackets: its result may point to them."""
    for node in tree.walk(value) if value is not None else ():
        if isinstance(node, ast.Call | ast.Subscript | ast.Slice):
            yield from _named(tree, node)
