"""The parts of the state of one function or compile-time expression (`Body`).

As in `elaboration_state.py`, each part is changed by one room.
"""

from collections.abc import Callable, Sequence

from ktc.base.records import entity
from ktc.diag.source import Span
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, Scope, Ty
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.values import AccessPath, Interior, Place, Result, Val, Values, Var
from ktc.ir import nodes, types
from ktc.ir.nodes import Value
from ktc.syntax import ast


class IrBuilder:
    """The IR of a body so far. Only its methods change it.

    Attributes:
        statements: the innermost open list; `blocks`: those around it; `hoisted`: declarations for the whole function.
        dead: control does not reach this place.
        refs: symbols that the code names.
        late_locals: locals without a destructor of which it matters whether they have a value.
        unchanged: constants that lie in memory only to have an address.
    """

    def __init__(self) -> None:
        self.statements: list[nodes.Statement] = []
        self.blocks: list[list[nodes.Statement]] = []
        self.hoisted: list[nodes.Statement] = []
        self.next_id = 0
        self.dead = False
        self.refs: set[str] = set()
        self.late_locals: set[nodes.Local] = set()
        self.unchanged: dict[nodes.Local, nodes.Const] | None = None

    def fresh(self) -> int:
        """Return a new number for a temp, a local or a label."""
        self.next_id += 1
        return self.next_id

    def emit(self, statement: nodes.Statement) -> None:
        """Append a statement; what follows a jump is dropped."""
        if not self.dead:
            self.statements.append(statement)
            if isinstance(statement, (nodes.Return, nodes.Break, nodes.Continue, nodes.Unreachable)):
                self.dead = True

    def open(self) -> None:
        """Begin a nested list of statements."""
        self.blocks.append(self.statements)
        self.statements = []

    def close(self) -> tuple[nodes.Statement, ...]:
        """End the nested list and return it. `dead` says whether its end is reached."""
        done = tuple(self.statements)
        self.statements = self.blocks.pop()
        return done

    def close_list(self) -> list[nodes.Statement]:
        """End the nested list and return it for `reopen`."""
        done, self.statements = self.statements, self.blocks.pop()
        return done

    def reopen(self, statements: list[nodes.Statement]) -> None:
        """Go on with a nested list."""
        self.blocks.append(self.statements)
        self.statements = statements

    def position(self) -> tuple[int, list[nodes.Statement], bool]:
        """Return where statements are appended now, for `return_to`."""
        return len(self.blocks), self.statements, self.dead

    def return_to(self, position: tuple[int, list[nodes.Statement], bool]) -> None:
        """Leave all nested lists that were opened since."""
        depth, self.statements, self.dead = position
        del self.blocks[depth:]

    def replace_from(self, start: int, statements: list[nodes.Statement]) -> None:
        """Replace the statements of the open list from a position on."""
        self.statements[start:] = statements

    def swap_statements(self, statements: list[nodes.Statement]) -> list[nodes.Statement]:
        """Append to another list; return the one that was open."""
        outer, self.statements = self.statements, statements
        return outer

    def set_dead(self, dead: bool) -> None:
        """Return whether control reaches this place."""
        self.dead = dead

    def refer(self, *symbols: str) -> None:
        """Note that the code names symbols."""
        self.refs.update(symbols)

    def restore_names(self, refs: set[str], late_locals: set[nodes.Local]) -> None:
        """Forget what code that is not run has named."""
        self.refs, self.late_locals = refs, late_locals

    def hoist(self, statement: nodes.Statement) -> None:
        """Declare something for the whole function."""
        self.hoisted.append(statement)

    def note_late(self, local: nodes.Local) -> None:
        """Note that it matters whether a local without a destructor has a value."""
        self.late_locals.add(local)

    def append(self, statements: Sequence[nodes.Statement]) -> None:
        """Go on with statements that were emitted in a nested list."""
        self.statements.extend(statements)

    def note_unchanged(self, local: nodes.Local, value: nodes.Const) -> None:
        """Note a constant that lies in memory only to have an address."""
        if self.unchanged is None:
            self.unchanged = {}
        self.unchanged[local] = value

    def finish(self) -> tuple[nodes.Statement, ...]:
        """Return all statements."""
        return (*self.hoisted, *self.statements)


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
        inline_result: the value that an expanded function returned; None outside of an expansion.
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


@entity
class Handler:
    """Where the errors of a `try` go.

    Args:
        label: of the block that they leave. local: holds the error. ty: the error's type.
        is_open: nothing has raised yet, and the first that does decides the type.
    """

    label: int
    local: nodes.Local
    ty: Ty
    is_open: bool


class ControlFlow:
    """Loops, handlers and ways out of a body. Owner: `statements`.

    Attributes:
        loops: of each loop around: labels to leave and to continue, the depth of `cleanups`, how it is unrolled.
        handlers: of each `try` around; `handler_depths`: their depths of `cleanups`.
        cleanups: code to run when control leaves: `finally` blocks and `__exit__`.
        unrolled_depth: how many unrolled loops are around.
        try_results: temporaries for the results of calls inside a `try`.
        exit_span: the statement that leaves the block, while `cleanups` run.
        out_var: the result, where the function names it.
        error_argument, result_pointer: addresses that the caller passes.
    """

    def __init__(self) -> None:
        self.loops: list[tuple[int, int, int, type[nodes.Break | nodes.Continue]]] = []
        self.handlers: list[Handler] = []
        self.handler_depths: list[int] = []
        self.cleanups: list[Callable[[], None]] = []
        self.used_labels: set[int] = set()
        self.current_error: list[Place] = []
        self.unrolled_depth = 0
        self.try_results: set[nodes.Local] = set()
        self.exit_span: Span | None = None
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

    def set_exit_span(self, span: Span | None) -> None:
        """Set the statement that leaves the block; None at the end of the body."""
        self.exit_span = span

    def note_try_result(self, local: nodes.Local) -> None:
        """A call inside a `try` has its result in this temporary."""
        self.try_results.add(local)

    def use_label(self, label: int) -> None:
        """Control reaches the end of a block."""
        self.used_labels.add(label)

    def restore_labels(self, labels: set[int]) -> None:
        """Forget which blocks' ends code that is not run reaches."""
        self.used_labels = labels


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

    def restore(self, assigned: set[str]) -> None:
        """Forget what code that is not run has assigned."""
        self.assigned = assigned


class OwnershipFacts:
    """Facts about the values of a body's locals: paths, moves, loans. Owner: `builder`.

    Attributes:
        access_paths: the paths to what values of locals point into (`ownership/access_paths.py`).
        read_paths: of closures that change some variables, the paths to those that they only read.
        linear: the destructors that must not be reached (`builder/linear_types.py`).
        moved: locals from which something was moved; `trusted`: those that the library looks after.
        last_call: the last call's result, if it has a place, and its arguments.
        address_taken: a primitive took the address of one of the values.
        references: the variables that refer into a collection, with their marks (`ownership/interior_references.py`).
    """

    def __init__(self) -> None:
        self.local_types: dict[nodes.Local, Ty] = {}
        self.access_paths: dict[nodes.Local, tuple[AccessPath, ...]] = {}
        self.read_paths: dict[nodes.Local, tuple[AccessPath, ...]] = {}
        self.linear: dict[str, tuple[str, str]] = {}
        self.moved: set[nodes.Local] = set()
        self.trusted: set[nodes.Local] = set()
        self.last_call: tuple[nodes.Local, Values] | None = None
        self.address_taken = False
        self.references: dict[Var, tuple[nodes.Local, tuple[Interior, ...]]] = {}

    def refer(self, var: Var, mark: nodes.Local, interior: tuple[Interior, ...]) -> None:
        """Keep the mark of a variable that refers into a collection, and the ways there."""
        self.references[var] = mark, interior

    def set_references_aside(self) -> dict[Var, tuple[nodes.Local, tuple[Interior, ...]]]:
        """Forget the marks of variables that refer into a collection; returns them."""
        outer, self.references = self.references, {}
        return outer

    def restore_references(self, outer: dict[Var, tuple[nodes.Local, tuple[Interior, ...]]]) -> None:
        """Keep marks again that were set aside."""
        self.references = outer

    def note_call(self, call: tuple[nodes.Local, Values] | None) -> None:
        """Keep the last call's result and arguments."""
        self.last_call = call

    def note_paths(
        self, local: nodes.Local, paths: tuple[AccessPath, ...], read: tuple[AccessPath, ...] = ()
    ) -> None:  # fmt: skip
        """Keep the paths to the places that a local's value points into, those that a closure only reads apart."""
        self.access_paths[local] = paths
        if read:
            self.read_paths[local] = read

    def note_address_taken(self) -> None:
        """A primitive takes the address of one of the values."""
        self.address_taken = True

    def trust(self, local: nodes.Local) -> None:
        """Leave a local to the library."""
        self.trusted.add(local)

    def restore_moved(self, moved: set[nodes.Local]) -> None:
        """Forget the moves of code that is not run."""
        self.moved = moved


class Captures:
    """Nested functions of a body, and the variables that it reaches through its environment. Owner: `closures`.

    Attributes:
        closures: the captures of each nested function.
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
        """Return the captures of a nested function; the list grows."""
        return self.closures.setdefault(fn, [])


class CallSite:
    """The context of the innermost call. Owner: `expressions`.

    Attributes:
        callee_syntax: the callee of the innermost enclosing call, as written.
        deferred_operand: the operand whose item may be fetched after the other operands (`calls/writeback.py`).
        inferring: arguments are elaborated only for their types; `is_reflected`: so is the whole expression.
        location_read: the location of the call was asked for.
        launch_targets: for which of the program's targets kernels are started here, a bit each.
    """

    def __init__(self) -> None:
        self.callee_syntax: ast.Expr | None = None
        self.deferred_operand: ast.Expr | None = None
        self.inferring = False
        self.is_reflected = False
        self.location_read = False
        self.launch_targets = -1

    def set_inferring(self, inferring: bool) -> bool:
        """Elaborate arguments only for their types, or in full again."""
        outer, self.inferring = self.inferring, inferring
        return outer

    def set_location_read(self, placed: bool) -> bool:
        """Note, or forget, that the location of the call was asked for."""
        outer, self.location_read = self.location_read, placed
        return outer

    def set_launch_targets(self, targets: int) -> int:
        """Start kernels for other targets."""
        outer, self.launch_targets = self.launch_targets, targets
        return outer

    def defer(self, operand: ast.Expr | None) -> ast.Expr | None:
        """Let another operand be the one whose item may be fetched late."""
        outer, self.deferred_operand = self.deferred_operand, operand
        return outer
