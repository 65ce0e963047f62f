"""Launches in host functions: the targets that each is compiled for, and warnings where no GPU of the build takes it.

Input: the condition of a `@parameter if` around launches; the call of a launch and its keywords. Output: a bit for each
target; warnings about constant extents. Others are compared with the limits when the program launches.
"""

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Severity
from ktc.elaborate.builder import variables
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.instances import instance_table
from ktc.elaborate.model.declarations import AliasInfo
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ConstValue, FunctionValue, ParameterArgument
from ktc.elaborate.model.values import Method
from ktc.elaborate.types import primitive_types
from ktc.syntax import ast
from ktc.targets.launch_limits import Limits, limits_of

_EXTENTS = {"grid_dim": "blocks", "block_dim": "threads of a block", "cluster_dim": "blocks of a cluster"}
_USUAL_BLOCKS = (32, 64, 128, 192, 256, 512, 768, 1024)
_SHARED = "shared_mem_bytes"
_SIGNS, _OPERATORS = frozenset("+-"), frozenset(("+", "-", "*", "//", "%", "**", "<<", ">>"))
_NUMBERS = frozenset(("Int", "UInt", "ceildiv", "min", "max", "align_up"))
"""Calls that give a constant of constants."""


def is_launch(callee: object) -> bool:
    """Return whether a callee is one of the library's methods that start a kernel."""
    fn = callee.fn if isinstance(callee, Method) else callee
    if not isinstance(fn, FunctionValue) or not fn.overloads.name.startswith("enqueue_function"):
        return False
    return bool(fn.overloads.functions) and fn.overloads.functions[0].module.is_library


def warn_over_limit(body: Body, node: ast.Call) -> None:
    """Warn about a launch whose extents are over the limits of every target for which it is compiled."""
    if body.frame.module.is_library:
        return
    chosen = body.site.launch_targets
    targets = [one for index, one in enumerate(body.elab.config.accelerators) if chosen >> index & 1]
    gpus = [one for one in targets if one.vendor != "cpu"]
    known = [limits_of(one) for one in gpus or targets]
    for keyword in node.keywords:
        reason = _refusal(body, keyword, known) if known else ""
        if reason:
            span = body.at(keyword.value)
            help = _help(body, keyword, node) if "threads" in reason else ""
            diagnostic = Diagnostic(Code.LAUNCH_LIMITS, span, reason, help, severity=Severity.WARNING)
            body.elab.reporter.sink.report(diagnostic)


def _help(body: Body, keyword: ast.Keyword, node: ast.Call) -> str:
    """Return the help for a block of too many threads: swap the extents if the other one would do as a block."""
    others = [extent for one in node.keywords if one.name == "grid_dim" for extent in _extents(body, one.value)]
    if keyword.name == "block_dim" and len(others) == 1 and others[0] in _USUAL_BLOCKS:
        return "'grid_dim' counts the blocks, 'block_dim' the threads of one block: swap the two?"
    return "write 'grid_dim=ceildiv(count, 256), block_dim=256', with 'from math import ceildiv'"


def _refusal(body: Body, keyword: ast.Keyword, known: list[Limits]) -> str:
    """Say why all refuse; "" if one of them does not, or if it is not known."""
    if keyword.name == _SHARED:
        size = _number(body, keyword.value)
        most = max(one.shared_bytes for one in known)
        return _text(known, f"{size:,} bytes of shared memory", most) if size is not None and size > most else ""
    if keyword.name not in _EXTENTS:
        return ""
    extents = _extents(body, keyword.value)
    if any(one is not None and one <= 0 for one in extents):
        return f"'{keyword.name}' must be positive in every dimension"
    what = _EXTENTS[keyword.name]
    for axis, extent in enumerate(extents):
        most = max(one.of(keyword.name)[axis] for one in known)
        if extent is not None and extent > most:
            return _text(known, f"{extent:,} {what} in {'xyz'[axis]}", most)
    numbers = [one for one in extents if one is not None]
    if keyword.name == "block_dim" and len(numbers) == len(extents):
        product = 1
        for one in numbers:
            product *= one
        most = max(one.block_threads for one in known)
        if product > most:
            return _text(known, f"{product:,} {what}", most)
    return ""


def _text(known: list[Limits], what: str, most: int) -> str:
    names = " and ".join(one.name for one in known)
    return f"the launch has {what}; {names} take{'' if len(known) > 1 else 's'} at most {most:,}"


def _extents(body: Body, node: ast.Expr) -> list[int | None]:
    """Return the extents of `4`, `(4, 2)`, `Dim(4, 2)` and aliases of these; None where one is no constant."""
    if isinstance(node, ast.Name):
        alias = variables.find(body, node.id)
        parts = _parts(alias.node.value) if isinstance(alias, AliasInfo) and alias.node.value is not None else ()
        if isinstance(alias, AliasInfo) and parts and not alias.node.params and parts[0] is not alias.node.value:
            return [_value(body, evaluation.evaluate(body.elab, one, alias.scope, alias.module)) for one in parts]
    return [_number(body, one) for one in _parts(node)]


def _parts(node: ast.Expr) -> tuple[ast.Expr, ...]:
    if isinstance(node, ast.TupleLit):
        return node.items[:3]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Dim":
        return node.args[:3]
    return (node,)


def _number(body: Body, node: ast.Expr) -> int | None:
    """Return the value of an expression of constants; None if it is something else, such as a tuple under a name."""
    return _value(body, evaluation.param_arg(body, node)) if _is_constant(body, node) else None


def _value(body: Body, value: ParameterArgument) -> int | None:
    try:
        return primitive_types.comptime_int(body.elab, value)
    except ValueError:
        return None


def _is_constant(body: Body, node: ast.Expr) -> bool:
    match node:
        case ast.IntLit():
            return True
        case ast.Name():
            held = variables.find(body, node.id)
            return isinstance(held, ConstValue | AliasInfo)
        case ast.Unary():
            return node.op in _SIGNS and _is_constant(body, node.value)
        case ast.Binary():
            return node.op in _OPERATORS and _is_constant(body, node.left) and _is_constant(body, node.right)
        case ast.Call(func=ast.Name(id=name)):
            return name in _NUMBERS and not node.keywords and all(_is_constant(body, one) for one in node.args)
    return False


def targets_satisfying(body: Body, condition: ast.Expr, truth: bool) -> int:
    """Return for which of a body's `launch_targets` a condition has this truth, if each were the only target.

    A launch under `@parameter if has_nvidia_gpu_accelerator()` is not meant for the others.
    """
    elab, found = body.elab, 0
    config = elab.config
    if len(config.accelerators) < 2 or body.frame.module.is_library or elab.instances.state.index >= 0:
        return int(body.site.launch_targets)
    for index, target in enumerate(config.accelerators):
        outer = elab.instances.enter_state(instance_table.single_target_state(elab, target))
        try:
            found |= (bool(evaluation.index_of(elab, evaluation.param_arg(body, condition))) == truth) << index
        finally:
            elab.instances.enter_state(outer)
    return found & int(body.site.launch_targets)
