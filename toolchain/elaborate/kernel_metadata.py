"""What `@__llvm_metadata(NAME=value)` says about a kernel.

In: the body of a kernel's instance, whose parameters the values may name. Out: the most threads of a block, or 0.
"""

from typing import Any

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.syntax import ast

_MOST_THREADS = ("ktc.max_threads_per_block", "nvvm.maxntid")


def most_threads(body: Any, decorators: tuple[ast.Decorator, ...]) -> int:
    """Return the most threads that a block of the kernel has, or 0 if nothing is said."""
    most = 0
    for decorator in decorators:
        call = decorator.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "__llvm_metadata"):
            continue
        for word in call.keywords:
            where = Span(body.module.source, word.start, word.end)
            name = word.name
            if body.find(name) is not None:
                name = body.elab.text_of(body.param_arg(ast.Name(word.start, word.start + len(name), name)))
            if name not in _MOST_THREADS:
                known = "MAX_THREADS_PER_BLOCK_METADATA"
                body.fail(Code.UNSUPPORTED, f"'{word.name}' is no metadata of a kernel", where, f"there is '{known}'")
            # the value is a StaticTuple: `Int(value[0])`
            at = (word.value.start, word.value.end)
            first = ast.Subscript(*at, word.value, (ast.IntLit(*at, 0),), ())
            most = body.elab.index_of(body.param_arg(ast.Call(*at, ast.Name(*at, "Int"), (first,), ())))
            if not 1 <= most <= 1024:
                text = f"a block cannot be bounded to {most} threads: 1 to 1024"
                body.fail(Code.CONSTRAINT_FAILED, text, Span(body.module.source, *at))
    return most
