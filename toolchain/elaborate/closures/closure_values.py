"""Closures of edition 2026: values of a struct of their own, whose fields are the captured variables.

Input: a nested function or a lambda with its list of captures. Output: a function, if it captures nothing; else a place
with the closure. A capture by reference is a pointer with the variable's origin, so that the closure keeps the
variable alive as any other value with pointers does; what is captured by value is copied or moved when the closure is
made, and the closure owns it. A call runs the method `__call__`, in whose body captured names stand for the fields.
"""

from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values, locals, materialization, partial_moves, place_operations, variables
from ktc.elaborate.builder.variables import CLOSURE
from ktc.elaborate.generics.callable_traits import CALL
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope, StructInfo, TraitInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, ParameterArgument, StructTy
from ktc.elaborate.model.values import FOREIGN, AccessPath, Place, Val, Var
from ktc.elaborate.ownership.access_paths import of_inside, of_place
from ktc.elaborate.resolve import modules
from ktc.elaborate.resolve.suggestions import captured_read_only, mutability_help
from ktc.elaborate.tree.free_variables import captured_names, first_use
from ktc.elaborate.types import struct_members, struct_types, type_printer, well_known
from ktc.ir import nodes
from ktc.syntax import ast

_OWNED = ("var", "move")
_LIST = "write '{imm %s}' behind the arguments to read it, '{mut %s}' to change it, '{var %s}' for a copy"


class _Capture:
    """A variable that a closure captures.

    Args:
        mode: "read", "mut", "ref", "var" or "move".
        value: the variable's value where the closure is made.
        at: where the list names it, else where the function uses it.
    """

    def __init__(self, var: Var, mode: str, value: Val, at: Span) -> None:
        self.var, self.mode, self.value, self.at = var, mode, value, at


def closure(body: Body, fn: FunctionInfo, name: str) -> Place | None:
    """Make the closure of a nested function; None if it captures nothing.

    Args:
        name: of the variable that holds it; "" for a temporary.
    """
    captures = _captures(body, fn)
    if not captures or body.dead:
        return None
    ty = _closure_type(body, fn, captures)
    local = locals.new_local(body, struct_types.ir_type(body.elab, ty), name, ty)
    place = Place(ty, nodes.LocalAddress(local), True, local, owned=not name)
    for capture in captures:
        _fill(body, capture, place_operations.field(body, replace(place, owned=False), capture.var.name))
    if not body.frame.module.is_library:
        _note_paths(body, fn, captures, local)
    partial_moves.mark(body, "init", place)
    return place


def _captures(body: Body, fn: FunctionInfo) -> list[_Capture]:
    """Return the variables that a function captures: those of its list in their order, then the others by name."""
    module, found, listed = fn.module, list[_Capture](), fn.node.captures or ()
    default = next((one.mode for one in listed if not one.name), "")
    modes = {one.name: one for one in listed if one.name}
    used = captured_names(fn.node)
    for name in (*modes, *sorted(used - modes.keys())):
        entry = modes.get(name)
        mode, at = default, body.at(first_use(fn.node, name))
        if entry is not None:
            mode, at = entry.mode, Span(module.source, entry.name_start, entry.name_start + len(name))
        var = variables.find(body, name)
        if var is None and entry is not None:
            body.fail(Code.UNDEFINED_NAME, f"'{fn.name}' captures '{name}', which is not defined", at)
        if not isinstance(var, Var) or isinstance(var.value, ConstValue):
            continue  # known at compile time
        if not mode:
            text = f"'{fn.name}' uses the variable '{name}' and does not say how it captures it"
            body.fail(Code.UNDEFINED_NAME, text, at, _LIST % (name, name, name))
        value = variables.variable(body, var, first_use(fn.node, name) if entry is None else entry)
        if isinstance(value, ConstValue):
            continue
        found.append(_Capture(var, mode, value, at))
    return found


def _note_paths(body: Body, fn: FunctionInfo, captures: list[_Capture], local: nodes.Local) -> None:
    """Record the paths to the variables that a closure may change, or, if it changes none, to those that it reads."""
    changed, read = list[AccessPath](), list[AccessPath]()
    for capture in captures:
        if capture.mode in _OWNED:
            read += of_inside(body, capture.value)
        elif isinstance(capture.value, Place):
            (changed if _is_mutable(body, fn, capture) else read).extend(of_place(capture.value))
    changed, read = list(dict.fromkeys(changed)), list(dict.fromkeys(read))
    if changed:
        body.facts.note_paths(local, tuple(changed), tuple(read))
    elif read:
        body.facts.note_paths(local, tuple(read))


def _closure_type(body: Body, fn: FunctionInfo, captures: list[_Capture]) -> StructTy:
    """Return the struct of a closure: its parameters are the types and the origins of the captured variables."""
    elab, node = body.elab, fn.node
    scope = Scope(body.frame.scope, "block")
    params: list[ast.Param] = []
    values: list[ParameterArgument] = []
    fields: list[ast.VarDecl] = []
    origins: dict[str, ast.Name] = {}

    def parameter(value: ParameterArgument) -> ast.Name:
        name = f"${len(params)}"
        params.append(ast.Param(node.start, node.start, name, None, None, "any", "", (), False))
        values.append(value)
        return ast.Name(node.start, node.start, name)

    for capture in captures:
        kind: ast.Expr = parameter(capture.value.ty)
        if capture.mode not in _OWNED:
            origin = ir_values.origin_of(body, capture.value, _is_mutable(body, fn, capture))
            pointer = ast.Name(node.start, node.start, "$pointer")
            origins[capture.var.name] = parameter(well_known.origin_constant(elab, origin))
            parts = (kind, origins[capture.var.name])
            kind = ast.Subscript(node.start, node.start, pointer, parts, ())
        target = ast.Name(node.start, node.start, capture.var.name)
        fields.append(ast.VarDecl(node.start, node.start, "var", target, kind, None))
    declared = ast.StructDecl(
        node.start, node.end, fn.name, node.name_start, tuple(params), (), (), tuple(fields), (), ""
    )
    scope.names["$pointer"] = well_known.library_info(elab, "UnsafePointer")
    info = StructInfo(declared.name, declared, fn.module, next(elab.modules.ids), scope, closure=fn)
    info.field_nodes = fields
    info.traits = _traits(body, captures)
    for capture in captures:
        scope.names[capture.var.name] = _variable_inside(body, fn, capture, info)
    head = node.head
    if node.result_ref:  # `-> ref [a] T`, where `a` is captured by reference
        named = [origins.get(one.id, one) if isinstance(one, ast.Name) else one for one in node.result_ref]
        head = replace(head, result_ref=tuple(named))
    receiver = ast.Param(node.name_start, node.name_start + 1, CLOSURE, None, None, "pos", "", (), False)
    fn.node = ast.FunctionDecl(
        node.start, node.end, node.name, node.name_start, node.decorators,
        replace(head, args=(receiver, *node.args)), node.body,
    )  # fmt: skip
    fn.owner, fn.scope = info, scope
    info.members[CALL] = OverloadSet(CALL, [fn])
    return struct_types.struct_type(elab, info, tuple(values))


def _is_mutable(body: Body, fn: FunctionInfo, capture: _Capture) -> bool:
    """Return whether a closure may change a variable that it captures by reference."""
    is_place = isinstance(capture.value, Place) and (capture.value.mutable or capture.value.owned)
    if capture.mode == "mut" and not is_place:
        name = capture.var.name
        reason = getattr(capture.value, "read_only_reason", "")
        text = f"'{fn.name}' captures '{name}' by 'mut', and it is immutable"
        text += f": it is {reason}" if reason else ""
        others = f"write '{{imm {name}}}', or '{{var {name}}}' for a copy"
        body.fail(Code.CANNOT_MUTATE, text, capture.at, "; ".join(filter(None, (mutability_help(reason), others))))
    return capture.mode != "read" and is_place


def _variable_inside(body: Body, fn: FunctionInfo, capture: _Capture, info: StructInfo) -> Var:
    """Return the variable that a captured name refers to in the body of the closure."""
    name, ty = capture.var.name, capture.value.ty
    mutable = capture.mode not in _OWNED and _is_mutable(body, fn, capture)
    reason = captured_read_only("var" if capture.mode in _OWNED else "imm", name)
    place = Place(ty, nodes.LocalAddress(FOREIGN), mutable, read_only_reason="" if mutable else reason)
    kind = "capture" if capture.mode in _OWNED else "captured reference"
    return Var(name, ty, place, capture.var.span, kind, None, info)


def _traits(body: Body, captures: list[_Capture]) -> tuple[TraitInfo, ...]:
    """Return the traits of a closure: it can be copied if all that it owns can."""
    owned = [capture.value.ty for capture in captures if capture.mode in _OWNED]
    names = ["Movable"]
    for name in ("Copyable", "ImplicitlyCopyable"):
        if all(struct_members.has_trait(body.elab, ty, name) for ty in owned):
            names.append(name)
    found: list[TraitInfo] = []
    for name in names:
        trait = modules.prelude_name(body.elab, name)
        assert isinstance(trait, TraitInfo)
        struct_members.add_trait(body.elab, trait, found)
    return tuple(found)


def _fill(body: Body, capture: _Capture, field: Place) -> None:
    """Store a captured variable, or the pointer to it, in the field of a closure."""
    value, ty = capture.value, capture.value.ty
    if capture.mode not in _OWNED:
        place = materialization.as_place(body, value)
        if place.local is not None:
            place.local.is_shared = True
        body.emit(nodes.Store(field.pointer, place.pointer, span=capture.at))
        return
    if capture.mode == "move":
        if isinstance(value, Place) and value.local is None and not struct_types.is_trivial(body.elab, ty):
            reason = value.read_only_reason or "not this function's own"
            text = f"'{capture.var.name}' cannot be moved into the closure: it is {reason}"
            body.fail(Code.CANNOT_MOVE, text, capture.at, f"write 'var {capture.var.name}' for a copy")
        value = replace(value, owned=True) if isinstance(value, Place) else value
    elif not struct_members.is_copied_implicitly(body.elab, ty):
        kind, name = type_printer.type_name(body.elab, ty), capture.var.name
        text = f"'{name}' is captured by value, and a '{kind}' cannot be copied implicitly"
        help = f"write 'var {name}^' to move it into the closure, or 'imm {name}' to refer to it"
        body.fail(Code.NOT_COPYABLE, text, capture.at, help)
    place_operations.init_place(body, ty, field.pointer, value, capture.at)
