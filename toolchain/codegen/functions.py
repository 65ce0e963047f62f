"""Functions: structured statements to basic blocks.

Input: a `Function` and the unit's `Context`. Output: `FunctionText`: what stands between the braces, the parameters,
and what the function uses. Header and linkage are decided where a module is put together.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.base.records import record
from ktc.codegen.actions import ACTIONS, copy, fill, store
from ktc.codegen.context import Context, Uses
from ktc.codegen.debugging import line_tables
from ktc.codegen.entries import coroutine_kernels
from ktc.codegen.tail_merging import share_exits
from ktc.codegen.values.operations import Operations
from ktc.diag.diagnostic import Bug
from ktc.diag.source import Span
from ktc.ir.nodes import (
    Block,
    Break,
    CallIntrinsic,
    Const,
    Continue,
    Declare,
    Function,
    If,
    Let,
    Local,
    Loop,
    Mark,
    MemCopy,
    MemSet,
    Op,
    Return,
    Statement,
    Store,
    Unreachable,
)
from ktc.ir.types import BOOL, I32, Type

_NOT_UNROLLED = MappingProxyType(
    {1: "!1 = distinct !{!1, !2}", 2: '!2 = !{!"llvm.loop.unroll.runtime.disable"}'},
)
"""Metadata of the host's loops: those whose length is not known stay as they are."""

COMPACT_LOOPS = MappingProxyType(
    {**_NOT_UNROLLED, 1: "!1 = distinct !{!1, !2, !3}", 3: '!3 = !{!"llvm.loop.interleave.count", i32 1}'},
)
"""The same for loops of a long host: one vector in a turn, which LLVM compiles in five sixths of the time."""


@record
class FunctionText:
    """One lowered function.

    Args:
        result: with attributes. parameters: (type, attributes and name) of each that is not empty.
        trailing: further parameters, whole.
        scope: ` !dbg !N` or "".
        is_coroutine: it is a coroutine, see `coroutine_kernels`.
        is_grouped: and one of several blocks at the same time, see `block_groups`.
        stops: of a kernel that is to be cut, where it waits; each such call has its number here as its last argument.
        body: lines, without the braces.
    """

    function: Function
    result: str
    parameters: tuple[tuple[str, str], ...]
    trailing: tuple[str, ...]
    scope: str
    body: str
    uses: Uses
    is_coroutine: bool = False
    is_grouped: bool = False
    stops: tuple[Span | None, ...] = ()


def lower_function(context: Context, function: Function) -> FunctionText:
    """Lower one function."""
    context.uses = uses = Uses()
    writer = _Writer(context, function)
    lines = writer.write()
    types = context.types
    # An environment is not written while a function that gets it runs.
    environments = frozenset(function.environments.values()) if context.is_host else frozenset()
    parameters = tuple(
        (types.value(kind), f"{_attributes(kind, index in environments, index in function.read_only)}%a{index}")
        for index, (_, kind) in enumerate(function.params)
        if not types.is_empty(kind)
    )
    back = "void" if types.is_empty(function.result) else types.value(function.result)
    scope = ""
    if writer.scope:
        scope = f" !dbg !{writer.scope}"
    trailing = tuple(context.trailing.parameters(function.symbol))
    if writer.is_coroutine:
        more = coroutine_kernels.GROUP_PARAMETERS if writer.is_grouped else coroutine_kernels.PARAMETERS
        back, trailing = "ptr", (*trailing, *more)
    return FunctionText(
        function,
        f"zeroext {back}" if function.result == BOOL else back,
        parameters,
        trailing,
        scope,
        "\n".join(lines),
        uses,
        writer.is_coroutine,
        writer.is_grouped,
        tuple(writer.stops),
    )


def _attributes(kind: Type, is_environment: bool, is_read_only: bool) -> str:
    if is_environment:
        return "noalias readonly "
    if is_read_only:
        return "readonly captures(none) "
    return "zeroext " if kind == BOOL else ""


class _Writer(Operations):
    """Writes the statements of one function."""

    def __init__(self, context: Context, function: Function) -> None:
        super().__init__(context, function.symbol)
        self._function = function
        self._open = True
        self._labels = 0
        self._left: set[int] = set()
        self.scope = 0
        self.stops: list[Span | None] = []
        self.is_coroutine = coroutine_kernels.is_coroutine(context, function)
        self.is_grouped = coroutine_kernels.is_grouped(context, function)
        self._variables = False
        self._described_locals: list[tuple[Local, str]] = []
        if line_tables.is_described(context, function):
            self._variables = line_tables.describes_variables(context)
            signature = 0
            if self._variables:
                from ktc.codegen.debugging import variables  # late: only with some options

                signature = variables.subroutine(context, function)
            self.scope = line_tables.subprogram(context, function, signature)

    def write(self) -> list[str]:
        """Return the lines of the body."""
        if self._function.linkage == "external":
            return []
        self._block(self._function.body)
        if self._open:
            self.lines.append("  unreachable")
        if self.scope:
            self._locate(0, self._function.span)
        described = self._described() if self._variables else ()
        if self.is_coroutine:
            begin = coroutine_kernels.begin(self.context)
            leave = coroutine_kernels.LEAVE_GROUP if self.is_grouped else coroutine_kernels.LEAVE
            return ["entry:", *self.allocas, *described, *begin, *self.lines, *leave, *coroutine_kernels.END]
        lines = share_exits(self.lines) if self.context.is_host else self.lines
        return ["entry:", *self.allocas, *described, *lines]

    def _described(self) -> list[str]:
        from ktc.codegen.debugging import variables  # late: only with some options

        arguments = [at for at, (_, kind) in enumerate(self._function.params) if not self.types.is_empty(kind)]
        return variables.records(self.context, self._function, self.scope, arguments, self._described_locals)

    def _block(self, body: tuple[Statement, ...]) -> None:
        context = self.context
        around = context.is_rare
        context.is_rare = around or (bool(body) and body[-1].__class__ is Unreachable)
        self._statements(body)
        context.is_rare = around

    def _statements(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if not self._open:
                return
            writer = _STATEMENTS.get(statement.__class__)
            if writer is None:
                raise Bug(f"no code for statement {statement.__class__.__name__}", "codegen")
            start = len(self.lines)
            writer(self, statement)
            if self.scope:
                self._locate(start, getattr(statement, "span", None))

    def _scoped(self, body: tuple[Statement, ...]) -> None:
        mark = self.open_scope()
        self._block(body)
        self.close_scope(mark)

    def _locate(self, start: int, span: Span | None) -> None:
        """Give each instruction from line `start` on a place, if it has none."""
        if span is None:
            return
        suffix = f", !dbg {line_tables.location(self.context, self._function, self.scope, span)}"
        lines = self.lines
        for index in range(start, len(lines)):
            line = lines[index]
            if line.startswith("  ") and ", !dbg !" not in line:
                lines[index] = line + suffix

    def _jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")
        self._open = False

    def _jump_back(self, label: int) -> None:
        """Jump to the head of a loop. The host's loops of an unknown length are not unrolled: programs were not faster
        for it, and it was a third of LLVM's time for a loop."""
        self._jump(f"loop{label}")
        if self.context.is_host:
            self.context.uses.metadata |= _NOT_UNROLLED
            self.lines[-1] += ", !llvm.loop !1"

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._open = True

    # ---- statements --------------------------------------------------------------------------------------

    def let(self, statement: Let) -> None:
        """Bind what an action gives."""
        action = statement.value
        if coroutine_kernels.is_idle(action, self.is_grouped):
            return
        if self.is_coroutine and coroutine_kernels.is_stop(action):
            self._labels += 1
            given = coroutine_kernels.stop(self, action, self._labels)
            if statement.temp is not None:
                self.temps[statement.temp.id] = given
            return
        if self.context.marks and coroutine_kernels.is_stop(action):
            assert isinstance(action, CallIntrinsic)
            number = Const(I32, len(self.stops))
            self.stops.append(statement.span)
            action = CallIntrinsic(action.name, (*action.args, number), action.type)
        text = self.value(action) if isinstance(action, Op) else ACTIONS[action.__class__](self, action)
        if statement.temp is not None:
            self.temps[statement.temp.id] = text

    def declare(self, statement: Declare) -> None:
        """A local has its slot for the whole function."""
        address = self.local(statement.local)
        if self._variables and statement.local.name:
            self._described_locals.append((statement.local, address))

    def mark(self, statement: Mark) -> None:
        """Ownership has become calls before this."""

    def branch(self, statement: If) -> None:
        """Two ways."""
        condition = statement.condition
        if isinstance(condition, Const):
            self._scoped(statement.then if condition.value else statement.orelse)
            return
        test = self.value(condition)
        self._labels = number = self._labels + 1
        join = f"join{number}"
        other = f"else{number}" if statement.orelse else join
        self.lines.append(f"  br i1 {test}, label %then{number}, label %{other}")
        joined = not statement.orelse
        for label, body in ((f"then{number}", statement.then), (other, statement.orelse)):
            if body or label != join:
                self._begin(label)
                self._scoped(body)
                if self._open:
                    self._jump(join)
                    joined = True
        self._open = False
        if joined:
            self._begin(join)

    def loop(self, statement: Loop) -> None:
        """Round and round."""
        label = statement.label
        self._jump(f"loop{label}")
        self._begin(f"loop{label}")
        self._scoped(statement.body)
        if self._open:
            self._jump_back(label)
        if label in self._left:
            self._begin(f"exit{label}")

    def block(self, statement: Block) -> None:
        """Once; a break leads after it."""
        label = statement.label
        self._scoped(statement.body)
        if label in self._left:
            if self._open:
                self._jump(f"exit{label}")
            self._begin(f"exit{label}")

    def leave(self, statement: Break) -> None:
        """To the end of a loop or block."""
        self._left.add(statement.label)
        self._jump(f"exit{statement.label}")

    def continue_statement(self, statement: Continue) -> None:
        """To the next turn."""
        self._jump_back(statement.label)

    def give(self, statement: Return) -> None:
        """Leave the function."""
        value = statement.value
        if self.is_coroutine:
            self.lines.append(f"  br label %{coroutine_kernels.LEFT}")
        elif value is None or self.types.value(self._function.result) == "void" or self.types.is_empty(value.type):
            self.lines.append("  ret void")
        else:
            self.lines.append(f"  ret {self.typed(value)}")
        self._open = False

    def unreachable_statement(self, statement: Unreachable) -> None:
        """Nothing comes here."""
        self.lines.append("  unreachable")
        self._open = False


_STATEMENTS: Mapping[type, Callable[[_Writer, Any], None]] = MappingProxyType(
    {
        Let: _Writer.let,
        Store: store,
        MemCopy: copy,
        MemSet: fill,
        Declare: _Writer.declare,
        Mark: _Writer.mark,
        If: _Writer.branch,
        Loop: _Writer.loop,
        Block: _Writer.block,
        Break: _Writer.leave,
        Continue: _Writer.continue_statement,
        Return: _Writer.give,
        Unreachable: _Writer.unreachable_statement,
    }
)
