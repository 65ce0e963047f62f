"""Variables of this body and of the bodies around it."""

from ktc.base.records import replace
from ktc.elaborate.builder import partial_moves, place_operations
from ktc.elaborate.model.declarations import FunctionInfo, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, StructTy
from ktc.elaborate.model.values import FOREIGN, Binding, Place, RValue, Val, Var
from ktc.elaborate.resolve.suggestions import read_only_argument
from ktc.elaborate.types import lookup
from ktc.ir import nodes, ops, types
from ktc.ir.nodes import Value
from ktc.syntax import ast

CLOSURE = "$closure"
"""The argument of a closure's function that is the closure itself, with the captured variables as its fields."""


def _closure_field(body: Body, var: Var) -> Place | None:
    """Return the captures of a closure of edition 2026; None outside of the body of the closure."""
    instance = body.frame.instance
    if instance is None or instance.fn.owner is not var.body:
        return None
    own = find(body, CLOSURE)
    assert isinstance(own, Var) and isinstance(own.value, Place) and isinstance(var.value, Place)
    held = place_operations.field(body, own.value, var.name)
    if var.kind == "capture":
        return replace(held, mutable=False, read_only_reason=var.value.read_only_reason)
    assert isinstance(held.ty, StructTy)
    pointer = body.let(nodes.Load(held.pointer, types.PTR), types.PTR)
    kind = held.ty.params[1]
    assert isinstance(kind, Ty)
    mutable, reason = var.value.mutable, var.value.read_only_reason
    return Place(kind, pointer, mutable, read_only_reason=reason, loans=(), by_reference=True)


def captured_variable(body: Body, var: Var) -> Place | None:
    """Return a variable of an enclosing body through the environment; None where there is none."""
    if isinstance(var.body, StructInfo) and (held := _closure_field(body, var)) is not None:
        return held
    if body.captures.env_value is None or body.frame.instance is None:
        return None
    around = body.frame.instance.fn.parent
    while around is not None and around is not var.body:
        if around.frame.instance is not None and around.frame.instance.fn.owner is var.body:
            break
        around = around.frame.instance.fn.parent if around.frame.instance is not None else None
    if around is None:
        return None
    pointer = from_environment(body, var)
    mutable = isinstance(var.value, Place) and var.value.mutable
    mutable = mutable and capture_mode(body.frame.instance.fn, var.name) != "read"
    return Place(var.ty, pointer, mutable, read_only_reason="" if mutable else f"'{var.name}', which is read only")


def from_environment(body: Body, item: Var | FunctionInfo) -> Value:
    """Return the address that stands for a variable or a closure in this function's environment."""
    assert body.frame.instance is not None and body.captures.env_value is not None
    slots = captures_of(body.frame.instance.fn.parent, body.frame.instance.fn)
    if item not in slots:
        slots.append(item)
        if isinstance(item, Var) and isinstance(item.value, Place) and item.value.local is not None:
            item.value.local.is_shared = True
    at = ops.build("offset", (body.captures.env_value, nodes.Const(types.I64, slots.index(item))), None, types.PTR)
    return body.let(nodes.Load(at, types.PTR), types.PTR)


def is_by_value(body: Body, var: Var, fn: FunctionInfo) -> bool:
    """Return whether a nested function captures a variable by value, or the variable cannot change."""
    if not isinstance(var.value, Place) or not var.value.mutable:
        return True
    if fn.parameter or "capturing" in fn.node.effects:
        return any(isinstance(item, ast.Name) and item.id == var.name for item in fn.copied_captures)
    return capture_mode(fn, var.name) in ("var", "move")


def captures_of(body: Body, fn: FunctionInfo) -> list[Var | FunctionInfo]:
    """Return the variables and closures that a nested function reaches through its environment; the list grows.

    It is one list for all targets, so that the host can give a kernel what the kernel turned out to use.
    """
    return body.captures.of(fn)


def capture_mode(fn: FunctionInfo, name: str) -> str:
    """Return how a nested function captures a variable: as its list says, else "var"; "" where the list has no word."""
    if fn.node.captures is None:
        return "var"
    modes = {one.name: one.mode for one in fn.node.captures}
    return modes.get(name, modes.get("", ""))


def find(body: Body, name: str) -> Binding:
    """Return the binding of a name, or None."""
    return lookup.find(body.elab, name, body.frame.scope, body.frame.module)


def require(body: Body, place: Place, node: ast.Node, leaves: bool = False) -> None:
    """Require that a place is initialized; `leaves`: as the function's result."""
    local = place.local
    if local is None or local in body.facts.trusted or not partial_moves.tracked(body, local):
        return
    if partial_moves.is_empty_field(body, place):
        return
    body.emit(nodes.Mark("result" if leaves else "require", local, place.path, body.at(node)))


def _require_behind(body: Body, value: Place, node: ast.Node) -> None:
    """Require that the value that a reference refers to is still initialized."""
    own = value.local
    behind = value.loans if own is None else None if own.points_to_all else own.points_to
    if behind is None or len(behind) != 1:
        return
    if behind[0].name and partial_moves.tracked(body, behind[0]) and behind[0] not in body.facts.trusted:
        body.emit(nodes.Mark("require", behind[0], (), body.at(node)))


def variable(body: Body, var: Var, node: ast.Node, part: bool = False) -> Val:
    """Return the value of a variable; `part`: only a part of it is used, and the rest may be uninitialized."""
    if var.body is not None and var.body is not body:
        return outer_variable(body, var, node)
    if body.frame.builtin_self is not None and var.kind == "out":
        if body.frame.builtin_whole is not None:
            return body.frame.builtin_whole
        return var.value
    value = var.value
    reference = body.facts.references.get(var)
    if reference is not None:
        body.emit(nodes.Mark("require", reference[0], (), body.at(node)))
    if isinstance(value, Place):
        if value.local is not None and not part:
            require(body, value, node)
        if not body.frame.module.is_library:
            _require_behind(body, value, node)
        return Place(
            value.ty, value.pointer, value.mutable, value.local, value.path, False, value.read_only_reason, value.loans,
            None, value.access_paths, value.at, value.by_reference, () if reference is None else reference[1],
        )  # fmt: skip
    if isinstance(value, RValue):
        reason = read_only_argument(var.name) if var.kind == "arg" else f"'{var.name}', which is read only"
        return RValue(value.ty, value.ir, reason, value.loans, None, value.access_paths)
    return value


def outer_variable(body: Body, var: Var, node: ast.Node) -> Val:
    """Return a variable of another body: captured, or known only by its type."""
    if isinstance(var.value, ConstValue):
        return var.value
    captured = captured_variable(body, var)
    if captured is not None:
        return captured
    place = var.value if body.site.is_reflected and isinstance(var.value, Place) else None
    mutable, loans = (place.mutable, _where(place)) if place is not None else (False, None)
    return Place(var.ty, nodes.LocalAddress(FOREIGN), mutable, None, (), False, "foreign", loans)


def _where(place: Place) -> tuple[nodes.Local, ...] | None:
    """Return the locals in which a place lies, None if that is not known."""
    return place.loans if place.local is None else (place.local,)
