"""The parts of the state of one function or compile-time expression (`Body`).

As in `elaboration_state.py`, each part is changed by one room.
"""

from collections.abc import Callable

from ktc.diag.source import Span
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, Scope, Ty
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.values import Place, Result, Val, Values, Var, Way
from ktc.ir import nodes, types
from ktc.ir.nodes import Value
from ktc.syntax import ast


class LexicalFrame:
    """Where in the program the elaboration of a body stands. Owner: `statements`.

    Expanding a function in place swaps the whole frame (`calls/inlining.py`).

    Attributes:
        instance: the function that is elaborated; `outer_instance` stays where an expansion changes it.
        scope, function_scope: the innermost scope, and the one of the whole function.
        span: the statement that is elaborated.
        comptime: this body runs at compile time.
        builtin_self: the fields of the value that an expanded constructor makes, so far; `builtin_whole`: that value,
            where it is assigned as a whole.
        inline_result: what an expanded function returned; None outside of an expansion.
    """

    def __init__(self, module: ModuleInfo, scope: Scope, instance: Instance | None, comptime: bool = True) -> None:
        self.module = module
        self.scope = self.function_scope = scope
        self.instance = self.outer_instance = instance
        self.span: Span | None = None
        self.comptime = comptime
        self.builtin_self: dict[str, Result] | None = None
        self.builtin_whole: Val | None = None
        self.inline_result: list[Val] | None = None

    def expanded(self, module: ModuleInfo, scope: Scope, instance: Instance) -> "LexicalFrame":
        """Return the frame of a function that is expanded in this place."""
        made = LexicalFrame(module, scope, instance)
        made.function_scope, made.outer_instance = self.function_scope, self.outer_instance
        made.span, made.comptime, made.inline_result = self.span, self.comptime, []
        return made

    def set_span(self, span: Span | None) -> Span | None:
        """Go on at another place of the source."""
        outer, self.span = self.span, span
        return outer

    def enter(self, scope: Scope, module: ModuleInfo) -> tuple[Scope, ModuleInfo]:
        """Look names up in another scope."""
        outer = self.scope, self.module
        self.scope, self.module = scope, module
        return outer

    def build_result(self) -> None:
        """Collect the fields of the value that an expanded constructor makes."""
        self.builtin_self = {}


class ControlFlow:
    """Loops, handlers and ways out of a body. Owner: `statements`.

    Attributes:
        loops: of each loop around: labels to leave and to continue, the depth of `finals`, how it is unrolled.
        handlers: of each `try` around: its label and where the error goes; `handler_depths`: their depths of `finals`.
        finals: what runs when control leaves: `finally` blocks and `__exit__`.
        turns: how many unrolled loops are around.
        awaited: results of calls that a `try` waits for: named, but no variables.
        leaving: the statement that leaves, while `finals` run.
        out_var: the result, where the function names it.
        error_argument, result_pointer: addresses that the caller passes.
    """

    def __init__(self) -> None:
        self.loops: list[tuple[int, int, int, type[nodes.Break | nodes.Continue]]] = []
        self.handlers: list[tuple[int, nodes.Local]] = []
        self.handler_depths: list[int] = []
        self.finals: list[Callable[[], None]] = []
        self.used_labels: set[int] = set()
        self.current_error: list[Place] = []
        self.turns = 0
        self.awaited: set[nodes.Local] = set()
        self.leaving: Span | None = None
        self.out_var: Var | None = None
        self.error_argument: Value | None = None
        self.result_pointer: Value | None = None

    def set_result_pointer(self, pointer: Value) -> None:
        """The caller passes the address of the result."""
        self.result_pointer = pointer

    def set_error_argument(self, pointer: Value) -> None:
        """The caller passes the address of the error."""
        self.error_argument = pointer

    def name_result(self, var: Var) -> None:
        """The function names its result."""
        self.out_var = var

    def set_leaving(self, span: Span | None) -> None:
        """Another statement leaves, or the end of the body."""
        self.leaving = span

    def await_result(self, local: nodes.Local) -> None:
        """A `try` waits for this result of a call."""
        self.awaited.add(local)

    def use_label(self, label: int) -> None:
        """Control reaches the end of a block."""
        self.used_labels.add(label)


class Assignments:
    """Which variables have been assigned. Owner: `statements`.

    Attributes:
        assigned: variables that have a value here; `assigned_once`: locals that are never assigned again.
        pending_result: the temporary of a call's result before it is moved into its target, and whether it exists only
            because the call may raise.
    """

    def __init__(self) -> None:
        self.assigned: set[str] = set()
        self.assigned_once: set[nodes.Local] = set()
        self.pending_result: tuple[nodes.Local, bool] | None = None


class OwnershipFacts:
    """What is known of the values of a body's locals. Owner: `builder`.

    Attributes:
        access_paths: the paths to what values of locals point into (`ownership/access_paths.py`).
        linear: the destructors that must not be reached (`builder/linear_types.py`).
        moved: locals from which something was moved; `trusted`: those that the library looks after.
        last_call: the last call's result, if it has a place, and its arguments.
        lends: a primitive gave an address of one of the values.
    """

    def __init__(self) -> None:
        self.local_types: dict[nodes.Local, Ty] = {}
        self.access_paths: dict[nodes.Local, tuple[Way, ...]] = {}
        self.linear: dict[str, tuple[str, str]] = {}
        self.moved: set[nodes.Local] = set()
        self.trusted: set[nodes.Local] = set()
        self.last_call: tuple[nodes.Local, Values] | None = None
        self.lends = False

    def note_call(self, call: tuple[nodes.Local, Values] | None) -> None:
        """Keep the last call's result and arguments."""
        self.last_call = call

    def note_paths(self, local: nodes.Local, paths: tuple[Way, ...]) -> None:
        """Keep the paths to what a local's value points into."""
        self.access_paths[local] = paths

    def note_lent(self) -> None:
        """A primitive gives an address of one of the values."""
        self.lends = True

    def trust(self, local: nodes.Local) -> None:
        """Leave a local to the library."""
        self.trusted.add(local)

    def restore_moved(self, moved: set[nodes.Local]) -> None:
        """Forget the moves of code that is not run."""
        self.moved = moved


class Captures:
    """Nested functions of a body, and what it reaches through its environment. Owner: `closures`.

    Attributes:
        closures: what each nested function captures.
        env_args, env_locals: environments that are passed on, and those that lie in this frame.
        env_value: this function's own environment.
        whole_captures: arguments of a kernel that are addresses of values that it captures.
    """

    def __init__(self) -> None:
        self.closures: dict[FunctionInfo, list[Var | FunctionInfo]] = {}
        self.env_args: dict[FunctionInfo, Value] = {}
        self.env_locals: dict[FunctionInfo, nodes.Local] = {}
        self.env_value: Value | None = None
        self.whole_captures: dict[int, types.Type] = {}

    def of(self, fn: FunctionInfo) -> list[Var | FunctionInfo]:
        """Return what a nested function captures; the list grows."""
        return self.closures.setdefault(fn, [])


class CallSite:
    """What the innermost call is elaborated for. Owner: `expressions`.

    Attributes:
        callee_syntax: the callee of the innermost enclosing call, as written.
        deferred_operand: the operand whose item may be fetched after the other operands (`calls/writeback.py`).
        inferring: arguments are elaborated only for their types; `reflects`: so is the whole expression.
        placed: it was asked where the call stands.
        launch_targets: for which of the program's targets kernels are started here, a bit each.
    """

    def __init__(self) -> None:
        self.callee_syntax: ast.Expr | None = None
        self.deferred_operand: ast.Expr | None = None
        self.inferring = False
        self.reflects = False
        self.placed = False
        self.launch_targets = -1

    def set_inferring(self, inferring: bool) -> bool:
        """Elaborate arguments only for their types, or in full again."""
        outer, self.inferring = self.inferring, inferring
        return outer

    def set_placed(self, placed: bool) -> bool:
        """Note, or forget, that it was asked where the call stands."""
        outer, self.placed = self.placed, placed
        return outer

    def set_launch_targets(self, targets: int) -> int:
        """Start kernels for other targets."""
        outer, self.launch_targets = self.launch_targets, targets
        return outer

    def defer(self, operand: ast.Expr | None) -> ast.Expr | None:
        """Let another operand be the one whose item may be fetched late."""
        outer, self.deferred_operand = self.deferred_operand, operand
        return outer
