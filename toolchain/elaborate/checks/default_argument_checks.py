"""Default arguments that no call uses, checked for their errors."""

import contextlib
from collections.abc import Sequence

from ktc.diag.source import Span
from ktc.elaborate.calls import conversions
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.comptime.default_arguments import check_dynamic, elaborated
from ktc.elaborate.generics import unification
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope, StructInfo
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.errors import ErrorReported, Mismatch
from ktc.elaborate.model.instance import Instance, Symbolic
from ktc.elaborate.model.types import FunctionTy, StructTy
from ktc.elaborate.tree.argument_uses import names_in
from ktc.elaborate.types import struct_types
from ktc.syntax import ast

_LITERALS = (ast.IntLit, ast.FloatLit, ast.StrLit, ast.BoolLit)


def check_defaults(elab: Elaboration, value: object) -> None:
    """Check the defaults of functions, or of a struct's parameters and of its methods."""
    if isinstance(value, OverloadSet):
        for fn in value.functions:
            if fn.module is elab.modules.main:
                around = fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()
                _check(elab, (*fn.node.params, *fn.node.args), (*fn.node.params, *around), fn)
                _check_dynamic(elab, fn)
                _check_computed(elab, fn, {param.name for param in (*fn.node.params, *around)})
    elif isinstance(value, StructInfo) and value.module is elab.modules.main:
        _check(elab, value.node.params, value.node.params, value)
        for member in value.members.values():
            check_defaults(elab, member)


def check_with(elab: Elaboration, instance: Instance) -> None:
    """Check the defaults of a function whose parameters are known."""
    for sig in instance.signature.args:
        if sig.node is not None and sig.node.default is not None and not isinstance(sig.node.default, _LITERALS):
            with contextlib.suppress(ErrorReported):
                elaborated(elab, instance, sig, _span(instance.fn, sig.node.default))


def _check(
    elab: Elaboration, given: Sequence[ast.Param], params: Sequence[ast.Param], info: FunctionInfo | StructInfo
) -> None:
    open_names = {one.name for one in (*params, *given)} | {"Self"}
    for one in given:
        if isinstance(one.default, _LITERALS) and one.type is not None and not names_in(one.type) & open_names:
            with contextlib.suppress(ErrorReported, Symbolic, Mismatch):
                if isinstance(evaluation.evaluate(elab, one.type, info.scope, info.module), StructTy):
                    evaluation.typed_constant(elab, one.type, one.default, Scope(info.scope, "function"), info.module)


def _check_dynamic(elab: Elaboration, fn: FunctionInfo) -> None:
    for arg in fn.node.args:
        if arg.default is not None and not isinstance(arg.default, _LITERALS):
            with contextlib.suppress(ErrorReported):
                check_dynamic(elab, fn, arg)


def _check_computed(elab: Elaboration, fn: FunctionInfo, open_names: set[str]) -> None:
    """Elaborate the defaults that depend on no parameter."""
    ty = None
    if isinstance(fn.owner, StructInfo):
        if fn.owner.node.params:
            open_names = open_names | {"Self"}
        else:
            ty = struct_types.struct_type(elab, fn.owner, ())
    open_names |= {arg.name for arg in fn.node.args}
    scope = Scope(unification.fn_scope_parent(elab, fn, ty), "function")
    for arg in fn.node.args:
        if arg.default is None or isinstance(arg.default, _LITERALS) or arg.type is None:
            continue
        if (names_in(arg.type) | names_in(arg.default)) & open_names:
            continue
        with contextlib.suppress(ErrorReported, Symbolic):
            try:
                expected = evaluation.evaluate(elab, arg.type, scope, fn.module)
                expected = expected if isinstance(expected, StructTy | FunctionTy) and not expected.symbolic else None
                body = Body(elab, fn.module, scope, None)
                value = body.api.expr(body, arg.default, expected)
                if isinstance(expected, StructTy):
                    conversions.convert(body, value, expected, _span(fn, arg.default))
            except Mismatch as reason:
                elab.report(reason.code, reason.message, reason.span or _span(fn, arg.default), reason.help())


def _span(fn: FunctionInfo, node: ast.Node) -> Span:
    return Span(fn.module.source, node.start, node.end)
