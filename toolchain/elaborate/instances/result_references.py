"""`ref` results: what `ref [...]` says of the places that they may refer to."""

from ktc.diag.source import Span
from ktc.elaborate.model.declarations import FunctionInfo, Scope, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.instance import ArgumentSignature
from ktc.elaborate.model.types import ConstValue, OpenTy, OriginValue, StructTy
from ktc.elaborate.model.values import FOREIGN, Place, RValue, Var
from ktc.elaborate.tree.argument_uses import dereferenced, dereferences, names_in, root_of
from ktc.elaborate.types import struct_types, well_known
from ktc.ir import nodes
from ktc.syntax import ast


def address_space(elab: Elaboration, node: ast.Expr, scope: Scope, fn: FunctionInfo) -> int:
    """Return the number of an address space that a `ref` result names, 0 for the place of an argument."""
    if names_in(node) & {arg.name for arg in fn.node.args}:
        return 0
    value = elab.api.evaluate(elab, node, scope, fn.module)
    known_space = isinstance(value, ConstValue) and value.ty is well_known.library_type(elab, "AddressSpace")
    return value.data if known_space and isinstance(value, ConstValue) and isinstance(value.data, int) else 0


def is_mutable_reference(elab: Elaboration, fn: FunctionInfo, scope: Scope) -> bool:
    """Return whether the origin that a `ref` result names may be written through."""
    assert fn.node.result_ref is not None
    if not fn.node.result_ref:
        return True
    node = fn.node.result_ref[0]
    if root_of(node) in {arg.name for arg in fn.node.args}:
        return True
    if isinstance(node, ast.Subscript) and isinstance(node.base, ast.Attribute):
        owner = elab.api.evaluate(elab, node.base.value, scope, fn.module)  # `MutOrigin.cast_from[o]`
        of = owner.params[0] if isinstance(owner, StructTy) and owner.params else None
        return not isinstance(of, ConstValue) or bool(of.data)
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Call):
        return True
    value = elab.api.evaluate(elab, node, scope, fn.module)
    return value.data.mutable if isinstance(value, ConstValue) and isinstance(value.data, OriginValue) else True


def pointed_to(
    elab: Elaboration, fn: FunctionInfo, args: list[ArgumentSignature], scope: Scope
) -> tuple[bool | None, bool]:
    """Return whether the result may be changed, whoever holds the pointer, and whether it may point into any variable.

    `ref [self.p[]]` names what a pointer points to and lets be changed, `ref [self.p.origin]` a parameter of a pointer.
    The first is None where the holder decides.
    """
    node = fn.node.result_ref[0] if fn.node.result_ref else None
    if isinstance(node, ast.Name) and not any(sig.name == node.id for sig in args):
        origin = elab.api.evaluate(elab, node, scope, fn.module)
        return None, (
            isinstance(origin, ConstValue) and isinstance(origin.data, OriginValue) and origin.data.kind == "any"
        )
    if node is None or not (dereferences(node) or _is_path(node)):
        return None, False
    inner = Scope(scope, "function")
    for sig in args:
        if isinstance(sig.ty, Ty) and not isinstance(sig.ty, OpenTy):
            inner.names[sig.name] = placeholder_argument(sig.name, sig.ty, fn, sig.node, mutable=False)
    if isinstance(node, ast.Attribute) and root_of(node) not in inner.names:
        return None, False
    body = Body(elab, fn.module, inner, None)
    place = elab.api.expr(body, node)
    if isinstance(place, ConstValue):
        found = place.data
        return (found.mutable, found.kind == "any") if isinstance(found, OriginValue) else (None, False)
    if not dereferences(node) or not isinstance(place, Place):
        return None, False
    pointer = dereferenced(node)
    held = elab.api.expr(body, pointer) if pointer is not None else None
    origins = struct_types.origins_of(elab, held.ty) if isinstance(held, (Place, RValue)) else ()
    return True if place.mutable else None, any(one.kind == "any" for one in origins)


def _is_path(node: ast.Expr) -> bool:
    """Return whether an expression is a name with attributes, `self.p.origin`."""
    if not isinstance(node, ast.Attribute):
        return False
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def placeholder_argument(name: str, ty: Ty, fn: FunctionInfo, node: ast.Param, mutable: bool = True) -> Var:
    """Return an argument of which only the type is known, for the types that depend on it."""
    place = Place(ty, nodes.LocalAddress(FOREIGN), mutable, None, (), False, "foreign", ())
    return Var(name, ty, place, Span(fn.module.source, node.start, node.end), "arg")
