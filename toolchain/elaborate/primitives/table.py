"""The closed table of primitive operations, the meaning of ``__mlir_op.`name`[attributes](operands)``.

Input: the name, attributes and operands of one use, and the function body in which it stands. Output: its value. The
types are in `builtin_types`; docs/primitives.md describes both. Only the standard library is written over them.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ktc.base.records import record
from ktc.base.similarity import close_matches
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.types import ParameterArgument
from ktc.elaborate.model.values import Result
from ktc.elaborate.primitives.arithmetic import ARITHMETIC
from ktc.elaborate.primitives.fields import FIELDS, TYPE_LISTS
from ktc.elaborate.primitives.literals import LITERALS
from ktc.elaborate.primitives.memory import MEMORY
from ktc.elaborate.primitives.reflection import COMPTIME
from ktc.elaborate.primitives.spellings import SAME, SPELLED
from ktc.elaborate.primitives.targets import TARGETS
from ktc.elaborate.primitives.tuning import TUNING
from ktc.elaborate.primitives.use import Use


@record
class Operation:
    """One primitive operation.

    Args:
        run: does it.
        arity: number of operands; -1 for any.
        attrs: the attributes that it takes.
    """

    run: Callable[[Use], Result]
    arity: int
    attrs: tuple[str, ...]


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        name: Operation(*row)
        for table in (ARITHMETIC, MEMORY, COMPTIME, TYPE_LISTS, FIELDS, TARGETS, TUNING, LITERALS, SPELLED)
        for name, row in table.items()
    }
)
"""Every primitive operation by its name."""


def operation(
    body: Body, name: str, attrs: Mapping[str, ParameterArgument], args: Sequence[Result], span: Span | None = None
) -> Result:
    """Perform one primitive operation and return its value.

    Reports (through `body.fail`, which does not return): UNDEFINED_NAME, MISSING_ARGUMENT, TOO_MANY_ARGUMENTS,
    UNKNOWN_ARGUMENT, TYPE_MISMATCH, NOT_COMPILE_TIME, CONSTRAINT_FAILED, UNKNOWN_TARGET, COMPILE_TIME_FAILED,
    COMPILE_TIME_LIMIT.
    """
    name = SAME.get(name, name)
    row = OPERATIONS.get(name)
    if row is None:
        near = close_matches(name, OPERATIONS, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        body.fail(Code.UNDEFINED_NAME, f"there is no primitive operation '{name}'{hint}", span)
    for key in attrs:
        if key not in row.attrs:
            body.fail(Code.UNKNOWN_ARGUMENT, f"primitive operation '{name}' has no attribute '{key}'", span)
    if len(args) != row.arity and row.arity >= 0:
        code = Code.MISSING_ARGUMENT if len(args) < row.arity else Code.TOO_MANY_ARGUMENTS
        body.fail(code, f"primitive operation '{name}' has {row.arity} operands, not {len(args)}", span)
    return row.run(Use(body, name, attrs, args, span))
