"""Uses of arguments and variables in the syntax of a function, before it is elaborated.

Input: a declaration. Output: the arguments into which its result may point, the names whose values it replaces or moves
away. Each answer is computed once for a declaration.
"""

from collections.abc import Iterator

from ktc.base.records import field_names
from ktc.elaborate.model.declarations import FunctionInfo, StructInfo
from ktc.syntax import ast


def replaced(fn: FunctionInfo) -> set[str]:
    """Return the names whose values, or parts of them, a function moves away, or that it assigns; also each
    `name.field` that it assigns."""
    found: set[str] | None = fn.patterns.get("replaced")
    if found is None:
        found = fn.patterns["replaced"] = set()
        _replaced_in(fn.node.body, found)
    return found


def moved(fn: FunctionInfo) -> set[str]:
    """Return the names of which a function moves the whole value away."""
    found: set[str] | None = fn.patterns.get("moved")
    if found is None:
        found = fn.patterns["moved"] = set()
        _replaced_in(fn.node.body, set(), found)
    return found


def _replaced_in(node: object, found: set[str], whole: set[str] | None = None) -> None:
    if isinstance(node, tuple):
        for item in node:
            _replaced_in(item, found, whole)
        return
    if not isinstance(node, ast.Node):
        return
    match node:
        case ast.Transfer(value=value):
            if whole is not None and isinstance(value, ast.Name):
                whole.add(value.id)
            while isinstance(value, ast.Attribute):
                value = value.value
            _names(value, found)
        case ast.FunctionDecl(captures=captures) if captures:
            taken = {one.name for one in captures if one.mode == "move"}
            found |= taken
            if whole is not None:
                whole |= taken
        case ast.Assign(targets=targets):
            for target in [
                *targets,
                *(one for many in targets if isinstance(many, ast.TupleLit) for one in many.items),
            ]:
                _names(target if isinstance(target, (ast.Name, ast.TupleLit)) else None, found)
                while isinstance(target, ast.Attribute):
                    if isinstance(target.value, ast.Name):
                        found.add(f"{target.value.id}.{target.name}")
                    target = target.value
    for name in field_names(node):
        _replaced_in(getattr(node, name), found, whole)


BorrowedArguments = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, tuple[str, ...]], ...]]


def borrowed_arguments(fn: FunctionInfo) -> BorrowedArguments:
    """Return which arguments the result may point into as its type says, those of them that `ref [...]` names, and the
    fields of these that it names."""
    known: BorrowedArguments | None = fn.patterns.get("borrowed arguments")
    if known is None:
        named: set[str] = set()
        mentioned: set[str] = set()  # `ref [MutOrigin.cast_from[o]]` points where o is, writable or not by itself
        for origin in fn.node.result_ref or ():
            is_place = not isinstance(origin, ast.Subscript) or root_of(origin) in {arg.name for arg in fn.node.args}
            _names(origin, named if is_place else mentioned)
        mentioned |= named
        for result in _result_types(fn):
            _pointed_names(result, mentioned)
        whole = fn.name == "__init__" or fn.node.result_ref == ()
        borrowed, direct = [], []
        for i, arg in enumerate(fn.node.args):
            origins: set[str] = set()
            for origin in arg.origin or ():
                _names(origin, origins)
            if arg.name in mentioned or origins & mentioned or (whole and origins):
                borrowed.append(i)
            if arg.name in named:
                direct.append(i)
        known = fn.patterns["borrowed arguments"] = tuple(borrowed), tuple(direct), tuple(_borrowed_fields(fn, direct))
    return known


_ANYWHERE = frozenset((
    "MutAnyOrigin", "ImmutAnyOrigin", "MutableAnyOrigin", "ImmutableAnyOrigin", "MutUnsafeAnyOrigin",
    "ImmUnsafeAnyOrigin", "UnsafeAnyOrigin", "AnyOrigin",
))  # fmt: skip


def points_anywhere(fn: FunctionInfo) -> bool:
    """Return whether `ref [...]` says that the result may point into any variable."""
    return any(not _ANYWHERE.isdisjoint(names_in(origin)) for origin in fn.node.result_ref or ())


_PLACES = frozenset(("origin_of", "__origin_of", "type_of", "__type_of"))
"""Functions that take a place of memory in a type."""
_VIEWS = frozenset(("StringSlice", "StringSpan", "Span", "Pointer"))


def unlinked_arguments(fn: FunctionInfo) -> tuple[int, ...]:
    """Return the arguments of the program's function that are views of anything: their types name no origin, and the
    result's type does not name them, so the result cannot point into what they point to."""
    known: tuple[int, ...] | None = fn.patterns.get("unlinked arguments")
    if known is None:
        owner = fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()
        names = {param.name for param in (*fn.node.params, *owner)} | {"Self", "origin_of", "type_of"}
        borrowed = borrowed_arguments(fn)[0]
        known = fn.patterns["unlinked arguments"] = tuple(
            i
            for i, arg in enumerate(fn.node.args)
            if i not in borrowed and arg.type is not None and _is_open_view(arg.type, names)
        )
    return known


def _is_open_view(node: ast.Expr, parameters: set[str]) -> bool:
    used = names_in(node)
    return root_of(node) in _VIEWS and not used & parameters and not any(one.endswith("Origin") for one in used)


def pointed_arguments(fn: FunctionInfo) -> tuple[int, ...]:
    """Return the arguments that the type of a result names only behind their pointers, `origin_of(self.p[].x)`: the
    pointer decides whether that may be changed."""
    known: tuple[int, ...] | None = fn.patterns.get("pointed arguments")
    if known is None:
        direct: set[str] = set()
        pointed: set[str] = set()
        for result in _result_types(fn):
            _names_before_pointers(result, direct, pointed)
        args = enumerate(fn.node.args)
        known = tuple(i for i, arg in args if arg.name in pointed - direct and arg.convention != "out")
        fn.patterns["pointed arguments"] = known
    return known


def _result_types(fn: FunctionInfo) -> tuple[ast.Expr | None, ...]:
    """Return the types written for the result: after `->`, or of a named result."""
    return (fn.node.result, *(arg.type for arg in fn.node.args if arg.convention == "out"))


def _names_before_pointers(node: object, direct: set[str], pointed: set[str]) -> None:
    if isinstance(node, (ast.Attribute, ast.Subscript)) and dereferences(node):
        pointed.add(root_of(node))
    elif isinstance(node, ast.Name):
        direct.add(node.id)
    elif isinstance(node, tuple):
        for item in node:
            _names_before_pointers(item, direct, pointed)
    elif isinstance(node, ast.Node):
        for name in field_names(node):
            _names_before_pointers(getattr(node, name), direct, pointed)


def _borrowed_fields(fn: FunctionInfo, direct: list[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    places = {fn.node.args[i].name: i for i in direct}
    for origin in fn.node.result_ref or () if places else ():
        path = _path_parts(origin)
        if path and path[0] in places:
            yield places[path[0]], tuple(path[1:])
        else:
            yield from ((places[name], ()) for name in sorted(names_in(origin) & places.keys()))


def jumps(part: object) -> bool:
    """Return whether statements hold a `break` or `continue` that belongs to the loop around them."""
    match part:
        case ast.Break() | ast.Continue():
            return True
        case tuple():
            return any(map(jumps, part))
        case ast.For(orelse=orelse) | ast.While(orelse=orelse):
            return jumps(orelse)
        case ast.If() | ast.Try() | ast.With() | ast.Handler():
            return any(jumps(getattr(part, name)) for name in field_names(part))
    return False


def root_of(node: ast.Node) -> str:
    """Return the name with which a path of fields and items begins, or ""."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value if isinstance(node, ast.Attribute) else node.base
    return node.id if isinstance(node, ast.Name) else ""


def is_call(node: ast.Expr) -> bool:
    """Return whether an expression is a call, which operators are, too."""
    return isinstance(node, (ast.Call, ast.Binary, ast.Unary, ast.Compare, ast.Subscript))


def dereferences(node: ast.Node) -> bool:
    """Return whether a path of fields and items leads through a pointer: `self.p[].x`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not node.args:
            return True
        node = node.value if isinstance(node, ast.Attribute) else node.base
    return False


def dereferenced(node: ast.Expr) -> ast.Expr | None:
    """Return the last pointer through which a path leads, `self.p` of `self.p[].x`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not node.args:
            return node.base
        node = node.value if isinstance(node, ast.Attribute) else node.base
    return None


def overlaps_argument(call: ast.Expr, target: ast.Expr) -> bool:
    """Return whether an argument of a call is the call's target, a part of it, or a whole with it as a part."""
    given: list[ast.Expr] = []
    match call:
        case ast.Call(func=func, args=args, keywords=keywords):
            given = [*args, *(keyword.value for keyword in keywords)]
            given.append(func.value if isinstance(func, ast.Attribute) else func)
        case ast.Binary(left=left, right=right):
            given = [left, right]
        case ast.Compare(first=first, rest=rest):
            given = [first, *rest]
        case ast.Unary(value=value):
            given = [value]
        case ast.Subscript(base=base, args=args):
            given = [base, *args]
    steps = _path_parts(target)
    return any(_overlap(_path_parts(one.value if isinstance(one, ast.Transfer) else one), steps) for one in given)


def _path_parts(node: ast.Expr) -> list[str]:
    """Return the variable and the fields that a path leads through, up to the first item; empty if it is no path."""
    found: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        found = [node.name, *found] if isinstance(node, ast.Attribute) else []
        node = node.value if isinstance(node, ast.Attribute) else node.base
    return [node.id, *found] if isinstance(node, ast.Name) else []


def _overlap(a: list[str], b: list[str]) -> bool:
    return bool(a and b) and all(x == y for x, y in zip(a, b, strict=False))


def names_in(node: object) -> set[str]:
    """Return the names in a piece of syntax."""
    found: set[str] = set()
    _names(node, found)
    return found


def _pointed_names(node: object, found: set[str]) -> None:
    """Collect the names in a type that it may point into: not `a` of `a.origin`, a parameter of the type of `a`."""
    if isinstance(node, ast.Name) or (isinstance(node, ast.Call) and root_of(node.func) in _PLACES):
        _names(node, found)
    elif isinstance(node, tuple):
        for item in node:
            _pointed_names(item, found)
    elif isinstance(node, ast.Node) and not _is_path(node):
        for name in field_names(node):
            _pointed_names(getattr(node, name), found)


def _is_path(node: ast.Node) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _names(node: object, found: set[str]) -> None:
    """Collect the names in a piece of syntax."""
    if isinstance(node, ast.Name):
        found.add(node.id)
    elif isinstance(node, tuple):
        for item in node:
            _names(item, found)
    elif isinstance(node, ast.Node):
        for name in field_names(node):
            _names(getattr(node, name), found)


def assigned_names(node: ast.Node) -> set[str]:
    """Return the names that statements anywhere in a declaration assign or declare."""
    found: set[str] = set()
    _given_in(node, found)
    return found


def _given_in(node: object, found: set[str]) -> None:
    match node:
        case tuple():
            for item in node:
                _given_in(item, found)
            return
        case ast.Assign(targets=targets):
            for target in targets:
                _names(target, found)
        case ast.VarDecl(target=target) | ast.For(target=target) | ast.ForClause(target=target):
            _names(target, found)
        case ast.Alias(name=name) | ast.FunctionDecl(name=name) | ast.Walrus(name=name) | ast.WithItem(name=name):
            found.add(name)
        case ast.Handler(name=name) | ast.Param(name=name):
            found.add(name)
        case ast.Import(names=names) | ast.FromImport(names=names):
            found.update(part.lstrip(".").split(".")[0] for pair in names for part in pair)
    if isinstance(node, ast.Node):
        for name in field_names(node):
            _given_in(getattr(node, name), found)
