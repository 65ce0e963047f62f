"""Operands of operators and arguments of calls."""

from collections.abc import Callable
from typing import Any, cast

from ktc.diag.codes import Code
from ktc.elaborate.calls import call_lowering
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ConstValue, FunctionValue, Opaque, ParameterPack, StructTy, Sym
from ktc.elaborate.model.values import Arg, PackValue, Place, RValue
from ktc.elaborate.types import struct_members, type_printer, well_known
from ktc.syntax import ast


def arg(body: Body, node: ast.Expr) -> Arg:
    """Elaborate one argument."""
    value = body.api.expr(body, node)
    if isinstance(value, (Sym, Opaque)):
        raise Symbolic
    if isinstance(value, ParameterPack) and value.items and all(isinstance(item, ConstValue) for item in value.items):
        value = PackValue(cast(tuple[ConstValue, ...], value.items))  # a variadic parameter's values
    if isinstance(node, ast.Star) and isinstance(value, Place | RValue) and isinstance(value.ty, StructTy):
        value = spread(body, value, node)
    return Arg(value, body.at(node))


def spread(body: Body, value: Any, node: Any) -> Any:
    """Turn `*args` into the values of a pack."""
    pack = well_known.pack_items(body.elab, value.ty)
    if pack is None:
        if not body.frame.module.is_library:
            text = f"'*' cannot unpack a value of type '{type_printer.type_name(body.elab, value.ty)}' here"
            body.fail(Code.TYPE_MISMATCH, text, body.at(node), "it passes on the arguments of '*args: *Ts' only")
        return value
    items = []
    for i in range(len(pack)):
        number = ConstValue(well_known.library_type(body.elab, "Int"), i)
        getter = struct_members.method_set(body.elab, value.ty, "__getitem__")
        assert getter is not None
        items.append(
            call_lowering.call_fn(
                body,
                FunctionValue(getter, (number,), (), value.ty),
                [Arg(value, body.at(node))],
                [],
                body.at(node),
                True,
            )
        )
    return PackValue(tuple(items))


def operand(body: Body, node: Any, elaborate: Callable[[Any], Any]) -> Any:
    """Elaborate one of several operands; an item that a getter gives may wait for the others."""
    item = node.value if isinstance(node, ast.Keyword) else node
    if not isinstance(item, (ast.Subscript, ast.Attribute)) or body.frame.module.is_library:
        return elaborate(node)
    outer, body.site.deferred_operand = body.site.deferred_operand, item
    try:
        return elaborate(node)
    finally:
        body.site.deferred_operand = outer
