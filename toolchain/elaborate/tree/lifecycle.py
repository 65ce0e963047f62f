"""Lifecycle methods: constructors that copy or move, and destructors, by their roles.

Input: a method as it is written. Output: its role, the name under which the elaborator keeps it. That is `__del__` for
`__deinit__(deinit self)`, `__copyinit__` for `__init__(out self, *, copy: Self)`, and `__moveinit__` for
`__init__(out self, *, deinit move: Self)`.
"""

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, StructInfo, TraitInfo
from ktc.syntax import ast

COPY, MOVE, END = "__copyinit__", "__moveinit__", "__del__"
ROLES = {"__deinit__": END, "__getitem_param__": "__getitem__", "__getattr_param__": "__getattr__"}
"""Methods that have another name in the elaborator, wherever they are named. The index or the
member is a parameter of the last two, whose names edition 2025 does not have."""

BY_KEYWORD = {"copy": COPY, "move": MOVE}
"""Roles of the constructors whose only argument has one of these names and is given by name."""

NEVER_RAISING = (COPY, MOVE, END)

_TITLES = {COPY: "copy constructor", MOVE: "move constructor", END: "destructor"}


def with_role(node: ast.FunctionDecl, owner: StructInfo | TraitInfo) -> tuple[str, ast.FunctionDecl]:
    """Return the name of a method's role, and the method with arguments as that role has them."""
    if node.name != "__init__":
        return ROLES.get(node.name, node.name), node
    if any(_name_of(one.value) == "staticmethod" for one in node.decorators):
        return node.name, node
    given = [arg for arg in node.args if arg.convention != "out"]
    role = BY_KEYWORD.get(given[0].name) if len(given) == 1 and not node.params else None
    if role is None or given[0].kind != "kw" or not _is_own_type(given[0].type, owner):
        return node.name, node
    return role, node.with_args(tuple(replace(arg, kind="any") if arg is given[0] else arg for arg in node.args))


def _name_of(node: ast.Expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_own_type(type_: ast.Expr | None, owner: StructInfo | TraitInfo) -> bool:
    """Return whether a type is the struct's own: `Self`, `S` or `S[…]`."""
    base = type_.base if isinstance(type_, ast.Subscript) else type_
    return isinstance(base, ast.Name) and base.id in ("Self", owner.name)


def shown(fn: FunctionInfo) -> str:
    """Return a method's name in messages, or its role where only its argument tells the role."""
    is_plain = fn.node.name == "__init__" and fn.name in _TITLES
    return f"the {_TITLES[fn.name]}" if is_plain else f"'{fn.node.name}'"


def check_role(fn: FunctionInfo, sink: Sink) -> None:
    """Report mistakes in the form of a method with a role; go on without them."""
    if fn.name in NEVER_RAISING:
        _check_raises(fn, sink)
    if fn.name == COPY:
        _check_copied(fn, sink)
    if fn.name in (MOVE, END):
        _check_ending(fn, sink)


def check_other_form(old: OverloadSet, fn: FunctionInfo, sink: Sink) -> bool:
    """Report a second method of a role in its other form; return whether there was one."""
    other = next((one for one in old.functions if one.node.name != fn.node.name), None)
    if fn.name not in _TITLES or other is None or fn.owner is None:
        return False
    line, _ = other.span().source.position(other.span().start)
    text = f"'{fn.owner.name}' has two {_TITLES[fn.name]}s: '{other.node.name}' in line {line}, and this"
    sink.report(Diagnostic(Code.DUPLICATE_DEFINITION, fn.span(), text, "keep one of them"))
    return True


def _check_raises(fn: FunctionInfo, sink: Sink) -> None:
    """Report a copy, a move or an end of a value that may raise; go on as if it did not."""
    head = fn.node.head
    if not (head.raises or head.is_def):
        return
    text = f"{shown(fn)} cannot raise" + ("" if head.raises else ", and a 'def' does")
    help = "write 'fn'" if not head.raises else "handle the error inside it, and remove 'raises'"
    sink.report(Diagnostic(Code.SYNTAX_ERROR, fn.span(), text, help))
    fn.node = fn.node.without_raising()


def _check_copied(fn: FunctionInfo, sink: Sink) -> None:
    """Report a value to copy that is not only read; go on as if it were."""
    args = list(fn.node.args)
    for at, arg in enumerate(args):
        if arg.convention in ("var", "owned", "mut", "inout", "ref", "deinit"):
            span = Span(fn.module.source, arg.start, arg.end)
            text = f"{shown(fn)} only reads '{arg.name}', the value that it copies"
            sink.report(Diagnostic(Code.SYNTAX_ERROR, span, text, f"remove the '{arg.convention}'"))
            args[at] = replace(arg, convention="")
    fn.node = fn.node.with_args(tuple(args))


def _check_ending(fn: FunctionInfo, sink: Sink) -> None:
    """Let `owned`, the old word, mean `deinit` where a value ends: nothing is left of it to destroy."""
    args = list(fn.node.args)
    at = next((i for i, arg in enumerate(args) if arg.convention != "out"), None)
    if at is None or args[at].convention == "deinit":
        return
    if args[at].convention not in ("owned", "var"):
        span = Span(fn.module.source, args[at].start, args[at].end)
        text = f"{shown(fn)} ends the value of '{args[at].name}', which must be 'deinit'"
        sink.report(Diagnostic(Code.SYNTAX_ERROR, span, text, f"write 'deinit {args[at].name}'"))
    args[at] = replace(args[at], convention="deinit")
    fn.node = fn.node.with_args(tuple(args))
