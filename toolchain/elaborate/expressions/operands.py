"""Operands of operators and arguments of calls."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar, cast

from ktc.diag.codes import Code
from ktc.elaborate.builder import partial_moves, place_operations
from ktc.elaborate.calls import call_lowering
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ConstValue, FunctionValue, Opaque, ParameterPack, StructTy, UnboundParameter
from ktc.elaborate.model.values import Arg, PackValue, Place, RValue
from ktc.elaborate.types import struct_members, type_printer, well_known
from ktc.syntax import ast

N = TypeVar("N", bound=ast.Node)
T = TypeVar("T")


def arg(body: Body, node: ast.Expr) -> Arg:
    """Elaborate one argument."""
    value = body.api.expr(body, node)
    if isinstance(value, (UnboundParameter, Opaque)):
        raise Symbolic
    if isinstance(value, ParameterPack) and value.items and all(isinstance(item, ConstValue) for item in value.items):
        value = PackValue(cast(tuple[ConstValue, ...], value.items))  # a variadic parameter's values
    if isinstance(node, ast.Star) and isinstance(value, Place | RValue) and isinstance(value.ty, StructTy):
        value = unpack_variadic(body, value, node)
    return Arg(value, body.at(node))


def unpack_variadic(body: Body, value: Place | RValue, node: ast.Node) -> Place | RValue | PackValue:
    """Turn `*args` into the values of a pack; those of `*args^` are moved out of it."""
    ty = value.ty
    assert isinstance(ty, StructTy)
    pack = well_known.pack_items(body.elab, ty)
    if pack is None:
        if not body.frame.module.is_library:
            text = f"'*' cannot unpack a value of type '{type_printer.type_name(body.elab, value.ty)}' here"
            body.fail(Code.TYPE_MISMATCH, text, body.at(node), "it passes on the arguments of '*args: *Ts' only")
        return value
    items = []
    for i in range(len(pack)):
        number = ConstValue(well_known.library_type(body.elab, "Int"), i)
        getter = struct_members.method_set(body.elab, ty, "__getitem__")
        assert getter is not None
        items.append(
            call_lowering.call_fn(
                body,
                FunctionValue(getter, (number,), (), ty),
                [Arg(value, body.at(node))],
                [],
                body.at(node),
                True,
            )
        )
    if isinstance(value, Place) and value.owned and value.local is not None:
        items = [
            place_operations.take_place(body, item.ty, item.pointer, body.at(node)) if isinstance(item, Place) else item
            for item in items
        ]
        partial_moves.mark(body, "consume", value, body.at(node))
    return PackValue(tuple(items))


def all_operands(body: Body, nodes: Iterable[N], elaborate: Callable[[N], T]) -> list[T]:
    """Elaborate several operands; what is wrong with one does not hide what is wrong with the others."""
    made: list[T] = []
    failure: ErrorReported | None = None
    depth = len(body.blocks)
    for node in nodes:
        try:
            made.append(operand(body, node, elaborate))
        except ErrorReported as error:
            if body.frame.module.is_library or body.frame.comptime:
                raise
            failure = failure or error
            while len(body.blocks) > depth:
                body.close()
    if failure is not None:
        raise failure
    return made


def first_operand(body: Body, rest: Sequence[ast.Expr], elaborate: Callable[[], T]) -> T:
    """Elaborate what stands before other operands: where it is wrong, these are looked at all the same."""
    try:
        return elaborate()
    except ErrorReported:
        if not body.frame.module.is_library and not body.frame.comptime:
            parts: list[ast.Node] = [item.value if isinstance(item, ast.Star) and item.value else item for item in rest]
            all_operands(body, parts, partial(body.api.expr, body))
        raise


def operand(body: Body, node: N, elaborate: Callable[[N], T]) -> T:
    """Elaborate one of several operands; an item that a getter gives may wait for the others."""
    item = node.value if isinstance(node, ast.Keyword) else node
    if not isinstance(item, (ast.Subscript, ast.Attribute)) or body.frame.module.is_library:
        return elaborate(node)
    outer, body.site.deferred_operand = body.site.deferred_operand, item
    try:
        return elaborate(node)
    finally:
        body.site.deferred_operand = outer
