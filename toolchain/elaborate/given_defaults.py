"""Defaults of parameters and arguments that are literals: they must be values of the declared types, used or not.

In: the main file's declarations. Out: errors at the defaults. All other defaults are looked at where a call takes them.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

from ktc.elaborate.instances import Symbolic
from ktc.elaborate.mentions import names_in
from ktc.elaborate.mismatch import Abort, Mismatch
from ktc.elaborate.scope import FnSet, Scope, StructInfo
from ktc.elaborate.values import StructTy
from ktc.syntax import ast

_LITERALS = (ast.IntLit, ast.FloatLit, ast.StrLit, ast.BoolLit)


def check_defaults(elab: Any, value: Any) -> None:
    """Check the defaults of functions, or of a struct's parameters and of its methods."""
    if isinstance(value, FnSet):
        for fn in value.functions:
            if fn.module is elab.main:
                around = fn.owner.node.params if isinstance(fn.owner, StructInfo) else ()
                _check(elab, (*fn.node.params, *fn.node.args), (*fn.node.params, *around), fn)
    elif isinstance(value, StructInfo) and value.module is elab.main:
        _check(elab, value.node.params, value.node.params, value)
        for member in value.members.values():
            check_defaults(elab, member)


def _check(elab: Any, given: Sequence[ast.Param], params: Sequence[ast.Param], info: Any) -> None:
    open_names = {param.name for param in params} | {"Self"}
    for one in given:
        if isinstance(one.default, _LITERALS) and one.type is not None and not names_in(one.type) & open_names:
            with contextlib.suppress(Abort, Symbolic, Mismatch):
                if isinstance(elab.evaluate(one.type, info.scope, info.module), StructTy):
                    elab.typed_constant(one.type, one.default, Scope(info.scope, "function"), info.module)
