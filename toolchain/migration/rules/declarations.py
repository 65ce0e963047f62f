"""Functions, structs and traits: their words, effects, conventions, constructors and decorators."""

from ktc.elaborate.tree.free_variables import declared_in
from ktc.migration import table
from ktc.migration.plan import Plan
from ktc.syntax import ast

_DECORATOR_TRAITS = {True: "TrivialRegisterPassable", False: "RegisterPassable"}
_LIFECYCLE = {"__copyinit__": "copy", "__moveinit__": "move"}


def function(plan: Plan, node: ast.FunctionDecl) -> None:
    """`fn` and `def`, `raises`, the names of constructors and destructors."""
    read, changes = plan.read, plan.changes
    at = node.start
    if read.word(read.token(at)) == "async":
        at = read.starts[read.token(at) + 1]
    _, closing, _ = read.head(node)
    if read.word(read.token(at)) == "fn":
        changes.replace(table.FUNCTION_WORD, at, at + len("fn"), "def")
        if not node.raises and (plan.path, node.start) in plan.raising:  # 'next' raises in edition 2026
            changes.insert(table.RAISES, closing + 1, " raises")
    elif node.is_def and _may_raise(plan, node):
        changes.insert(table.RAISES, closing + 1, " raises")
    if isinstance(read.parents.get(node), ast.StructDecl | ast.Extension | ast.TraitDecl):
        _lifecycle(plan, node)
    if isinstance(read.parents.get(node), ast.TraitDecl):
        _requirement(plan, node)
    for decorator in node.decorators:
        _of_function(plan, node, decorator)


def _may_raise(plan: Plan, node: ast.FunctionDecl) -> bool:
    """Return whether a `def` may raise: one that is not known, or that a trait asks for, may."""
    if isinstance(plan.read.parents.get(node), ast.TraitDecl) or node.start not in plan.facts.elaborated:
        return True
    return (plan.path, node.start) in plan.raising


def _of_function(plan: Plan, node: ast.FunctionDecl, decorator: ast.Decorator) -> None:
    value = decorator.value
    at = value.start
    name = value.id if isinstance(value, ast.Name) else ""
    if name == "parameter" and plan.read.function(node) is not None:
        plan.changes.replace(table.CAPTURES, at, at + len(name), "__parameter")
    elif name == "doc_private":
        plan.changes.replace(table.DECORATOR, at, at + len(name), "doc_hidden")


def _lifecycle(plan: Plan, node: ast.FunctionDecl) -> None:
    read, changes = plan.read, plan.changes
    end = node.name_start + len(node.name)
    if node.name == "__del__":
        changes.replace(table.LIFECYCLE, node.name_start, end, "__deinit__")
    if node.name not in _LIFECYCLE or len(node.args) != 2:
        return
    new, other = _LIFECYCLE[node.name], node.args[1]
    uses = [one for name in {new, other.name} for one in read.uses_in(name, node)]
    if new != other.name and any(one.id == new for one in uses):
        text = f"rename '{new}' in it, which is the name of the argument of this constructor in edition 2026"
        changes.note(table.LIFECYCLE, node.start, text)
        return
    changes.replace(table.LIFECYCLE, node.name_start, end, "__init__")
    convention = "deinit " if new == "move" else ""
    kind: tuple[str | tuple[int, int], ...] = (": Self",)
    if other.type is not None and read.of(other.type) != "Self":
        kind = (": ", (other.type.start, other.type.end))
    changes.replace(table.LIFECYCLE, other.start, other.end, f"*, {convention}{new}", *kind)
    for one in uses:
        if one.id != new and not other.start <= one.start < other.end:
            changes.replace(table.LIFECYCLE, one.start, one.end, new)


def _requirement(plan: Plan, node: ast.FunctionDecl) -> None:
    """`pass` is a default that does nothing in edition 2026."""
    if node.body is None and node.head.only_passes:
        at = plan.read.find("pass", plan.read.head(node)[2], node.end)
        if at >= 0:
            plan.changes.replace(table.REQUIREMENT, at, at + len("pass"), "...")


def argument(plan: Plan, node: ast.Param) -> None:
    """`owned x`, `read x`, `**rest: T`, `x: ()`."""
    read, changes = plan.read, plan.changes
    if isinstance(node.type, ast.TupleLit):
        items = [(one.start, one.end) for one in node.type.items]
        pieces = [piece for item in items for piece in (", ", item)][1:]
        changes.replace(table.NAME, node.type.start, node.type.end, "Tuple[", *pieces, "]")
    if node.convention in ("owned", "read"):
        new = "var" if node.convention == "owned" else "imm"
        function = read.parents.get(node)
        if node.convention == "owned" and isinstance(function, ast.FunctionDecl) and node.name == "self":
            new = "deinit" if function.name in ("__del__",) else new
        token = read.token(node.start)
        if read.word(token) == node.convention:
            changes.replace(table.CONVENTION, node.start, node.start + len(node.convention), new)
    if node.kind == "starstar" and node.convention == "" and node.name and node.type is not None:
        changes.insert(table.CONVENTION, node.start, "var ")


def function_type(plan: Plan, node: ast.FunctionType) -> None:
    """`fn (Int) -> Int`: the type of a pointer to a function, or of a closure."""
    read, changes = plan.read, plan.changes
    token = read.token(node.start)
    if read.word(token) == "fn":
        changes.replace(table.FUNCTION_WORD, node.start, node.start + len("fn"), "def")
    if read.word(token + 1) == "[":
        token = read.token(read.closer(read.starts[token + 1])) - 0
    closing = read.closer(read.starts[token + 1])
    effects = ""
    if node.is_def and not node.raises:
        effects += " raises"
    if not {"capturing", "escaping", "unified", "thin"} & set(node.effects):
        effects += " thin"
        after = read.find("raises", closing, node.end)
        closing = after + len("raises") - 1 if after >= 0 else closing
    if effects:
        changes.insert(table.POINTER_TYPE, closing + 1, effects)
    at = read.find("unified", closing, node.end)
    if at >= 0:
        plan.changes.replace(
            table.CLOSURE, at, at + len("unified ") if read.text[at + len("unified")] == " " else at + len("unified")
        )
    if "escaping" in node.effects:
        text = "there are no 'escaping' functions in edition 2026: let a parameter 'F: def(…) -> …' be the type"
        changes.note(table.CLOSURE, node.start, text)


def struct(plan: Plan, node: ast.StructDecl) -> None:
    """Decorators that are traits in edition 2026."""
    traits = []
    for decorator in node.decorators:
        value = decorator.value
        call = value if isinstance(value, ast.Call) else None
        func = call.func if call is not None else value
        name = func.id if isinstance(func, ast.Name) else ""
        if name == "register_passable":
            is_trivial = call is not None and bool(call.args)
            traits.append(_DECORATOR_TRAITS[is_trivial])
            _remove(plan, decorator)
        elif name == "nonmaterializable":
            _remove(plan, decorator)
        elif name == "doc_private":
            plan.changes.replace(table.DECORATOR, func.start, func.end, "doc_hidden")
        elif name == "value":
            plan.changes.replace(table.DECORATOR, func.start, func.end, "fieldwise_init")
            traits += ["Copyable"]
        elif name == "explicit_destroy":
            traits.append("Deinitable where False")
            if call is None:
                _remove(plan, decorator)
    known = {plan.read.of(one).split("[")[0].strip() for one in node.traits}
    _shown(plan, node, known)
    _add_traits(plan, node, [one for one in traits if one not in known])


_TEXTS = ("Stringable", "StringableRaising", "Representable")


def _shown(plan: Plan, node: ast.StructDecl, known: set[str]) -> None:
    """Texts of values come from `write_to` and `write_repr_to` in edition 2026, not from `__str__` and `__repr__`."""
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDecl)}
    old = [one for one in node.traits if isinstance(one, ast.Name) and one.id in _TEXTS]
    for one in old if "Writable" in known else old[1:]:
        _without_trait(plan, node, one)
    for name, new in (("__str__", "write_to"), ("__repr__", "write_repr_to")):
        method = methods.get(name)
        if method is None or (not old and new in methods) or len(method.args) != 1:
            continue
        if new in methods:
            text = f"the text of a '{node.name}' comes from '{new}' in edition 2026, not from '{name}'"
            plan.changes.note(table.SHOWN, method.start, text)
            continue
        margin = plan.read.indentation(method.start)
        plan.changes.insert(
            table.SHOWN, _end(plan, method),
            f"\n\n{margin}def {new}(self, mut writer: Some[Writer]):\n{margin}    writer.write(self.{name}())",
        )  # fmt: skip


def _end(plan: Plan, node: ast.FunctionDecl) -> int:
    """Return where the last line of a function ends."""
    end = plan.read.text.find("\n", node.end)
    return end if end >= 0 else len(plan.read.text)


def _without_trait(plan: Plan, node: ast.StructDecl, trait: ast.Expr) -> None:
    place = node.traits.index(trait)
    if place + 1 < len(node.traits):
        plan.changes.replace(table.SHOWN, trait.start, node.traits[place + 1].start)
    elif place:
        plan.changes.replace(table.SHOWN, node.traits[place - 1].end, trait.end)


def _remove(plan: Plan, decorator: ast.Decorator) -> None:
    """Remove a decorator with its line, unless something else stands there."""
    text = plan.read.text
    start, end = plan.read.line_start(decorator.start), text.find("\n", decorator.value.end)
    if text[start : decorator.start].strip() or text[decorator.value.end : end].strip():
        start, end = decorator.start, decorator.value.end
        while text[end] == " ":
            end += 1
        plan.changes.replace(table.DECORATOR, start, end)
    else:
        plan.changes.replace(table.DECORATOR, start, end + 1)


def _add_traits(plan: Plan, node: ast.StructDecl, traits: list[str]) -> None:
    """List traits of a struct behind those that it lists."""
    if not traits:
        return
    read = plan.read
    shown = ", ".join(traits)
    if node.traits:
        plan.changes.insert(table.DECORATOR, node.traits[-1].end, ", " + shown)
        return
    token = read.token(node.name_start) + 1
    if read.word(token) == "[":
        token = read.token(read.closer(read.starts[token])) + 1
    if read.word(token) == "(":
        plan.changes.insert(table.DECORATOR, read.starts[token] + 1, shown)
    else:
        plan.changes.insert(table.DECORATOR, read.ends[token - 1], f"({shown})")


def parameters_of_struct(plan: Plan, node: ast.StructDecl) -> None:
    """A struct's parameters are members of `Self` in its body."""
    names = {one.name for one in node.params}
    for member in node.body if names else ():
        own = declared_in(member)
        for name in sorted(names - own):
            for one in plan.read.uses_in(name, member):
                plan.changes.replace(table.PARAMETER, one.start, one.end, f"Self.{one.id}")


_TRAITS = frozenset((
    "AnyType", "Copyable", "Movable", "ImplicitlyCopyable", "ExplicitlyCopyable", "Writable", "Stringable",
    "StringableRaising", "Representable", "Hashable", "Comparable", "EqualityComparable", "KeyElement", "Sized",
    "Boolable", "Intable", "Floatable", "Absable", "Powable", "Roundable", "Defaultable", "Iterable", "Iterator",
    "Identifiable",
))  # fmt: skip
"""Traits of edition 2025, all types of which have a destructor."""


def destructors(plan: Plan, node: ast.Module) -> None:
    """A type that a trait bounds has a destructor in edition 2025; in edition 2026 the bound has to say so."""
    own = {one.name for one in node.body if isinstance(one, ast.TraitDecl)}
    for one in plan.read.nodes:
        is_open = isinstance(one, ast.Alias) and one.value is None
        params = one.params if isinstance(one, ast.StructDecl | ast.FunctionDecl) else ()
        for kind in (*(param.type for param in params), one.type if isinstance(one, ast.Alias) and is_open else None):
            if kind is not None and (names := _bounds(kind)) and names <= _TRAITS | own:
                plan.changes.insert(table.DESTRUCTOR, kind.end, " & Deinitable")


def _bounds(kind: ast.Expr) -> set[str]:
    """Return the names of `A & B`; none for another expression."""
    if isinstance(kind, ast.Binary) and kind.op == "&":
        left, right = _bounds(kind.left), _bounds(kind.right)
        return left | right if left and right else set()
    return {kind.id} if isinstance(kind, ast.Name) else set()
