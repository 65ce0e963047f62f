"""Call expressions: callee, arguments, and the call."""

from functools import partial

from ktc.diag.codes import Code
from ktc.elaborate.calls import call_lowering, construction
from ktc.elaborate.calls.writeback import fetched
from ktc.elaborate.expressions import collection_literals, operands, special_calls
from ktc.elaborate.kernels import launches
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import (
    FunctionValue,
    Opaque,
    ParameterPack,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Arg, Result
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import struct_members
from ktc.syntax import ast


def call_node(body: Body, node: ast.Call, expected: Ty | None) -> Result:
    """Elaborate a call."""
    special = special_calls.special_call(body, node)
    if special is not None:
        return special
    span = body.at(node)
    outer = body.frame.set_span(span)
    before, body.site.callee_syntax = body.site.callee_syntax, node.func
    try:
        given = (*node.args, *(item.value for item in node.keywords))
        callee = operands.first_operand(body, given, partial(body.api.expr, body, node.func))
        if isinstance(callee, (UnboundParameter, Opaque)):
            raise Symbolic
        named = given[len(node.args) :]
        argument_or_literal = partial(collection_literals.argument_or_literal, body)
        pos = operands.first_operand(body, named, partial(operands.all_operands, body, node.args, argument_or_literal))
        kw = operands.all_operands(body, node.keywords, partial(collection_literals.keyword, body))
        for arg in (*pos, *kw):
            arg.value = fetched(body, arg.value)
        if isinstance(callee, FunctionValue) and not callee.overloads.functions:
            return synthesized_method(body, callee, pos, node)
        if kw and not pos and isinstance(callee, FunctionValue) and callee.overloads.name == "__init__":
            ty = callee.self_ty  # `Self.__init__(copy=x)`
            if ty is not None and construction.role_by_keyword(ty, callee.overloads, kw):
                return construction.construct(body, ty, pos, kw, span)
        if launches.is_launch(callee):
            launches.warn_over_limit(body, node)
        if isinstance(callee, StructTy) and isinstance(node.func, ast.Subscript) and (pos or kw):
            callee = _with_open_pack(body, callee, node.func)
        return call_lowering.call(body, callee, pos, kw, span)
    except Mismatch as reason:
        body.fail(reason.code, reason.message, reason.span or span, reason.help())
    finally:
        body.frame.set_span(outer)
        body.site.callee_syntax = before


def _with_open_pack(body: Body, ty: StructTy, written: ast.Subscript) -> StructTy | PartialTy:
    """Return a struct that is called with its variadic parameter open if that is not written: arguments may say it."""
    params = ty.info.node.params
    at = next((i for i, param in enumerate(params) if param.kind == "star"), None)
    name = written.base.id if isinstance(written.base, ast.Name) else getattr(written.base, "name", "")
    if at is None or ty.params[at] != ParameterPack(()) or name != ty.info.name:
        return ty
    taken = sum(param.kind in ("pos", "any") for param in params)
    if len(written.args) > taken or any(isinstance(arg, ast.Star) for arg in written.args):
        return ty
    inits = struct_members.method_set(body.elab, ty, "__init__")
    arguments = [arg.type for fn in (inits.functions if inits is not None else ()) for arg in fn.node.args]
    if not any(params[at].name in names_in(kind) for kind in arguments):
        return ty
    return PartialTy(ty.info, tuple(None if i == at else value for i, value in enumerate(ty.params)))


def synthesized_method(body: Body, callee: FunctionValue, pos: list[Arg], node: ast.Call) -> Result:
    """Call a `__copyinit__` or `__moveinit__` that the struct does not define: `Self.__copyinit__(x)`."""
    assert callee.self_ty is not None
    if len(pos) != 1 or node.keywords:
        given = len(pos) + len(node.keywords)
        code = Code.TOO_MANY_ARGUMENTS if given > 1 else Code.MISSING_ARGUMENT
        body.fail(code, f"'{callee.overloads.name}' takes one value by its position", body.at(node))
    pos[0].span = body.at(node)
    return construction.copied_or_moved(body, callee.self_ty, callee.overloads.name, pos[0])
