"""Asynchronous functions: `async fn` in terms of plain functions and closures.

    async fn f(x: Int, mut y: String) -> T:          fn f(x: Int, mut y: String) -> Coroutine[T, origin_of(x, y)]:
        BODY                                             fn body() escaping -> T:
                                              ->             BODY
                                                         return Coroutine[T, origin_of(x, y)](body)

The body takes over what the function owns, keeps copies of what it reads and can copy, and reaches all else where it
lies: the coroutine's type names these arguments, so that they live as long as it does.
"""

from ktc.base.records import replace
from ktc.syntax import ast

_SUFFIX = " body"
"""Ends the name of the function inside; no name that is written has a space."""
_OWNED = ("var", "owned", "deinit")
_READ = ("", "read", "borrowed")
_GIVEN = " given"
"""Ends the name of the variable that holds an argument, which the function owns, until its body takes it."""
_PLAIN = ("pos", "any", "kw")


def is_body(node: ast.FunctionDecl) -> bool:
    """Return whether this is the function nested in an asynchronous one."""
    return node.name.endswith(_SUFFIX)


def awaited(node: ast.FunctionDecl) -> ast.FunctionDecl:
    """Return the plain function that runs the body at once: `main`, for which the end of the program waits."""
    head = replace(node.head, effects=tuple(effect for effect in node.head.effects if effect != "async"))
    return ast.FunctionDecl(node.start, node.end, node.name, node.name_start, node.decorators, head, node.body)


def lowered(node: ast.FunctionDecl) -> ast.FunctionDecl:
    """Return the plain function that an asynchronous one stands for."""
    head, at = node.head, (node.start, node.start)
    effects = tuple(effect for effect in head.effects if effect != "async")
    args = tuple(arg for arg in head.args if arg.convention != "out")
    outs = tuple(arg for arg in head.args if arg.convention == "out")
    kind = _result(node, outs)
    made = replace(head, args=args, result=kind, result_ref=None, raises=False, effects=effects, is_def=False)
    if node.body is None:
        return ast.FunctionDecl(node.start, node.end, node.name, node.name_start, node.decorators, made, None)
    owned = [arg.name for arg in args if arg.convention in _OWNED and arg.kind in _PLAIN]
    names = [arg.name for arg in args if arg.kind in _PLAIN and arg.convention in _READ]
    captures = [ast.Capture(*at, "var", name, at[0]) for name in (*names, *(name + _GIVEN for name in owned))]
    captures.append(ast.Capture(*at, "mut", "", at[0]))
    inner_head = ast.FunctionHead(
        (), outs, head.result, head.result_ref, head.raises, ("escaping", "async"), tuple(captures), (),
        head.is_def, "",
    )  # fmt: skip
    name = node.name + _SUFFIX
    taken = tuple(_variable(at[0], own, _method_call(at[0], own + _GIVEN, "take")) for own in owned)
    inner = ast.FunctionDecl(node.start, node.end, name, node.name_start, (), inner_head, (*taken, *node.body))
    kept = tuple(_variable(at[0], own + _GIVEN, _wrapped(at[0], own)) for own in owned)
    give = ast.Return(*at, ast.Call(*at, kind, (ast.Name(*at, name),), ()))
    body: tuple[ast.Stmt, ...] = (*kept, inner, give)
    return ast.FunctionDecl(node.start, node.end, node.name, node.name_start, node.decorators, made, body)


def _variable(at: int, name: str, value: ast.Expr) -> ast.VarDecl:
    return ast.VarDecl(at, at, "var", ast.Name(at, at, name), None, value)


def _method_call(at: int, name: str, method: str) -> ast.Call:
    return ast.Call(at, at, ast.Attribute(at, at, ast.Name(at, at, name), method, at), (), ())


def _wrapped(at: int, name: str) -> ast.Call:
    value = ast.Transfer(at, at, ast.Name(at, at, name))
    return ast.Call(at, at, ast.Name(at, at, "__ktc_given__"), (value,), ())


def _result(node: ast.FunctionDecl, outs: tuple[ast.Param, ...]) -> ast.Expr:
    """Return the type of the coroutine."""
    at = (node.start, node.start)
    result = node.head.result or (outs[0].type if outs else None) or ast.Name(*at, "NoneType")
    lent: tuple[ast.Expr, ...] = tuple(
        ast.Name(*at, arg.name)
        for arg in node.head.args
        if arg.kind in _PLAIN and arg.convention != "out" and arg.convention not in _OWNED
    )
    origin: ast.Expr = ast.Call(*at, ast.Name(*at, "origin_of"), lent, ())
    if not lent:
        origin = ast.Attribute(*at, ast.Name(*at, "MutOrigin"), "external", node.start)
    name = "RaisingCoroutine" if node.head.raises or node.head.is_def else "Coroutine"
    return ast.Subscript(*at, ast.Name(*at, name), (result, origin), ())
