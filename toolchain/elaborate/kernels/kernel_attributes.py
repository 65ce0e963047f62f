"""Attributes of kernels: launch bounds, and which functions can be kernels at all."""

from typing import TypeGuard

from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder import variables
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.model.declarations import FunctionInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import StructTy
from ktc.syntax import ast
from ktc.targets import float_modes

_BOUNDS = {
    "ktc.max_threads_per_block": ("threads", 1024, "a block cannot be bounded to {} threads: 1 to 1024"),
    "nvvm.maxntid": ("threads", 1024, "a block cannot be bounded to {} threads: 1 to 1024"),
    "nvvm.minctasm": ("resident_blocks", 32, "{} blocks cannot be on a multiprocessor at once: 1 to 32"),
    "nvvm.maxnreg": ("registers", 255, "a thread cannot be bounded to {} registers: 1 to 255"),
    "nvvm.cluster_dim": ("cluster", 16, "a cluster cannot have {} blocks in a dimension: 1 to 16"),
}
"""By the name in the program: the bound, the greatest value of its numbers, and the message for greater ones."""


def bounds_of(body: Body, decorators: tuple[ast.Decorator, ...]) -> dict[str, tuple[int, ...]]:
    """Return the launch bounds and modes of a kernel, by their names."""
    bounds: dict[str, tuple[int, ...]] = {}
    for decorator in decorators:
        call = decorator.value
        if _is_mode(call):
            bounds["floats"] = (_floats(body, call),)
            continue
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "__llvm_metadata"):
            continue
        for word in call.keywords:
            where = Span(body.frame.module.source, word.start, word.end)
            name = word.name
            if variables.find(body, name) is not None:
                name = evaluation.text_of(
                    body.elab, evaluation.param_arg(body, ast.Name(word.start, word.start + len(name), name))
                )
            if name not in _BOUNDS:
                known = "MAX_THREADS_PER_BLOCK_METADATA"
                body.fail(Code.UNSUPPORTED, f"'{word.name}' is not metadata of a kernel", where, f"there is '{known}'")
            bound, most, text = _BOUNDS[name]
            numbers = _numbers(body, word.value, 3 if bound == "cluster" else 1)
            for number in numbers:
                if not 1 <= number <= most:
                    at = Span(body.frame.module.source, word.value.start, word.value.end)
                    body.fail(Code.UNSATISFIED_CONSTRAINT, text.format(number), at)
            bounds[bound] = numbers
    return bounds


def mode_of(body: Body, fn: FunctionInfo) -> dict[str, tuple[int, ...]]:
    """Return the floating-point modes that `@fp_mode` sets for a function that kernels call."""
    calls = [one.value for one in fn.node.decorators if _is_mode(one.value)]
    if not calls:
        return {}
    where = Span(fn.module.source, calls[0].start, calls[0].end)
    if fn.inline == "always" and body.facts.address_taken:
        text = "'@fp_mode' above a function that is inlined and has memory of its own is not supported"
        body.fail(Code.UNSUPPORTED, text, where, "leave out '@always_inline', or write '@fp_mode' above the kernel")
    mask = 0
    for call in calls:
        words = [word.value for word in call.args if isinstance(word, ast.StrLit)]
        mask |= _floats(body, call)
        if any("ftz" in word.split(",") for word in words):
            text = "'ftz' is a mode of a whole kernel, and this function is called by one"
            body.fail(Code.UNSUPPORTED, text, where, "write it above the kernel")
    return {"floats": (mask & ~float_modes.FLUSH,)}


def _is_mode(call: ast.Expr) -> TypeGuard[ast.Call]:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "fp_mode"


def _floats(body: Body, call: ast.Call) -> int:
    """Return the modes of `@fp_mode("ftz", "approx")` as bits of `float_modes.MODES`."""
    mask = 0
    for word in call.args:
        where = Span(body.frame.module.source, word.start, word.end)
        if not isinstance(word, ast.StrLit):
            body.fail(Code.SYNTAX_ERROR, "'@fp_mode' takes the names of modes, in quotes", where)
        try:
            mask |= float_modes.mask_of(word.value)
        except float_modes.UnknownMode as error:
            body.fail(Code.SYNTAX_ERROR, str(error), where)
    return mask


def _numbers(body: Body, value: ast.Expr, most: int) -> tuple[int, ...]:
    """Return the first numbers of a value with a length, `Int(value[0])` and so on, or the one that the value is."""
    at = (value.start, value.end)

    def call(name: str, argument: ast.Expr) -> int:
        made: int = evaluation.index_of(
            body.elab, evaluation.param_arg(body, ast.Call(*at, ast.Name(*at, name), (argument,), ()))
        )
        return made

    kind = getattr(evaluation.param_arg(body, value), "ty", None)
    if not isinstance(kind, StructTy) or "__getitem__" not in kind.info.members:
        return (call("Int", value),)
    places = [ast.IntLit(*at, index) for index in range(min(most, call("len", value)))]
    return tuple([call("Int", ast.Subscript(*at, value, (place,), ())) for place in places])


def may_be_kernel(config: Config, fn: FunctionInfo) -> bool:
    """Return whether a function may be a kernel, and so use device-only features."""
    return fn.owner is None and not fn.raises and fn.node.result is None and bool(config.accelerators)
