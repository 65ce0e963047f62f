"""The parts of the elaborator's state.

The owner of a part is the room that answers for it; which rooms may assign its attributes is a list in
tests/unit/test_architecture.py that may only get shorter.

`Elaboration` has the parts of a whole run, `Body` those of one function or compile-time expression (`elaboration.py`).
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ktc.diag.source import Span
from ktc.elaborate.model.build_options import Defines
from ktc.elaborate.model.declarations import (
    AliasInfo,
    FunctionInfo,
    ImportRef,
    ModuleInfo,
    OverloadSet,
    Scope,
    StructInfo,
    TraitInfo,
    Ty,
)  # fmt: skip
from ktc.elaborate.model.instance import Instance, Trial, UnitState
from ktc.elaborate.model.types import FunctionTy, FunctionValue, PrimTy, StructTy, TraitTy
from ktc.elaborate.model.values import Place, Var
from ktc.ir import nodes, types
from ktc.ir.nodes import Value
from ktc.syntax import ast
from ktc.syntax.loader import Package

# ---- of one body ----


class LexicalFrame:
    """Where in the program the elaboration of a body stands. Owner: `statements`.

    Expanding a function in place swaps the whole frame (`calls/inlining.py`).

    Attributes:
        instance: the function that is elaborated; `outer_instance` stays where an expansion changes it.
        scope, function_scope: the innermost scope, and the one of the whole function.
        span: the statement that is elaborated.
        comptime: this body runs at compile time.
        builtin_self: the fields of the value that an expanded constructor makes, so far.
        inline_result: what an expanded function returned; None outside of an expansion.
    """

    def __init__(self, module: ModuleInfo, scope: Scope, instance: Instance | None) -> None:
        self.module = module
        self.scope = self.function_scope = scope
        self.instance = self.outer_instance = instance
        self.span: Span | None = None
        self.comptime = True
        self.builtin_self: dict[str, Any] | None = None
        self.inline_result: list[Any] | None = None

    def expanded(self, module: ModuleInfo, scope: Scope, instance: Instance) -> "LexicalFrame":
        """Return the frame of a function that is expanded in this place."""
        made = LexicalFrame(module, scope, instance)
        made.function_scope, made.outer_instance = self.function_scope, self.outer_instance
        made.span, made.comptime, made.inline_result = self.span, self.comptime, []
        return made


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
        self.loops: list[tuple[int, int, int, Any]] = []
        self.handlers: list[tuple[int, nodes.Local]] = []
        self.handler_depths: list[int] = []
        self.finals: list[Any] = []
        self.used_labels: set[int] = set()
        self.current_error: list[Place] = []
        self.turns = 0
        self.awaited: set[nodes.Local] = set()
        self.leaving: Span | None = None
        self.out_var: Var | None = None
        self.error_argument: Value | None = None
        self.result_pointer: Value | None = None


class OwnershipFacts:
    """What is known of the values of a body's locals. Owner: `builder`.

    Attributes:
        access_paths: the ways to what values of locals point into (`ownership/access_paths.py`).
        linear: the destructors that must not be reached (`builder/linear_types.py`).
        moved: locals from which something was moved; `trusted`: those that the library looks after.
        assigned: variables that have a value here; `assigned_once`: locals that are never assigned again.
        last_call: the last call's result, if it has a place, and its arguments.
        pending_result: the temporary of a call's result before it is moved into its target, and whether it exists only
            because the call may raise.
        lends: a primitive gave an address of one of the values.
    """

    def __init__(self) -> None:
        self.local_types: dict[nodes.Local, Ty] = {}
        self.access_paths: dict[nodes.Local, Any] = {}
        self.linear: dict[str, tuple[str, str]] = {}
        self.moved: set[nodes.Local] = set()
        self.trusted: set[nodes.Local] = set()
        self.assigned: set[str] = set()
        self.assigned_once: set[nodes.Local] = set()
        self.last_call: tuple[nodes.Local, list[Any]] | None = None
        self.pending_result: tuple[nodes.Local, bool] | None = None
        self.lends = False


class Captures:
    """Nested functions of a body, and what it reaches through its environment. Owner: `closures`.

    Attributes:
        closures: what each nested function captures.
        env_args, env_locals: environments that are passed on, and those that lie in this frame.
        env_value: this function's own environment.
        whole_captures: arguments of a kernel that are addresses of values that it captures.
    """

    def __init__(self) -> None:
        self.closures: dict[Any, list[Any]] = {}
        self.env_args: dict[Any, Value] = {}
        self.env_locals: dict[Any, nodes.Local] = {}
        self.env_value: Value | None = None
        self.whole_captures: dict[int, types.Type] = {}


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
        self.callee_syntax: Any = None
        self.deferred_operand: Any = None
        self.inferring = False
        self.reflects = False
        self.placed = False
        self.launch_targets = -1


# ---- of one elaboration ----


class Modules:
    """The modules of the program. Owner: `resolve`.

    Attributes:
        infos: modules that were entered, by the identity of their trees.
        ids: numbers of declarations.
        followed: imports that are being followed.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self.followed: set[ImportRef] = set()
        self.infos: dict[int, ModuleInfo] = {}
        self.ids: Iterator[int] = itertools.count(1)
        self.prelude_scope: Scope | None = None
        self.main: ModuleInfo  # set when the elaboration begins


class TypeTable:
    """Interned types, and what is remembered of types. Owner: `types` and `generics`.

    Attributes:
        primitives, traits, functions: interned types; `function_sets`: one for each declaration.
        constant_functions: by the name of the address that stands for it, each function that is part of a constant.
        library: types of the library that the language builds on, by name.
        nesting, open_fields: types whose origins, and whose fields, are being found.
        archetypes: stand-ins for type parameters, by name.
    """

    def __init__(self) -> None:
        self.primitives: dict[Any, PrimTy] = {}
        self.none: PrimTy  # set when the elaboration begins
        self.traits: dict[tuple[TraitInfo, ...], TraitTy] = {}
        self.functions: dict[Any, FunctionTy] = {}
        self.function_sets: dict[FunctionInfo, OverloadSet] = {}
        self.constant_functions: dict[str, FunctionValue] = {}
        self.library: dict[Any, Any] = {}
        self.nesting = 0
        self.open_fields: set[StructTy] = set()
        self.archetypes: dict[str, StructInfo] = {}


class Instances:
    """Instances of functions, and the globals that they use. Owner: `instances`.

    Attributes:
        states: what has been elaborated for each target; `state`: for the one that is elaborated now.
        current: the instance that is elaborated now.
        alone: states in which conditions of launches are computed for one target.
        elaborated: declarations of which an instance was elaborated.
        endless: declarations that instantiate themselves without end.
        entry: the symbol of the program's entry.
        deferred_kernels: kernels that are elaborated one by one, by (target's number, symbol); None where they are
            elaborated with the rest.
    """

    def __init__(self, host: UnitState) -> None:
        self.states: dict[str, UnitState] = {"host": host}
        self.state = host
        self.current: Instance | None = None
        self.alone: dict[str, UnitState] = {}
        self.globals: dict[str, nodes.Global] = {}
        self.elaborated: set[int] = set()
        self.endless: set[int] = set()
        self.entry = ""
        self.deferred_kernels: dict[tuple[int, str], Instance] | None = None


class CompileTime:
    """Evaluation at compile time. Owner: `comptime`.

    Attributes:
        busy_aliases: aliases that are being computed; `circular`: those that need themselves.
        defines: the values of `-D`.
    """

    def __init__(self, defines: Defines) -> None:
        self.busy_aliases: dict[Any, AliasInfo] = {}
        self.circular: set[Any] = set()
        self.defines = defines


class Coverage:
    """What instances have reached, and how declarations are checked by themselves. Owner: `checks`.

    Attributes:
        nested: nested functions that were declared; `reached`: nested functions that were elaborated.
        arms: arms of `@parameter if` that were taken.
        only_used: only declarations that have instances are checked.
        trial: the declaration that is elaborated by itself; `trial_state`: for which target, if not the host.
        uncertainty: how much of what is elaborated depends on a constant that was taken for a parameter (0 to 2).
        choice: which of the constants is taken.
        lent, lent_around: an origin was taken to be immutable, here and around.
        sound: bodies in which nothing was wrong: what owns their values is still to be checked.
        unseen: where no instance has looked: what all choices of constants show there in the same words counts.
    """

    def __init__(self) -> None:
        self.nested: list[FunctionInfo] = []
        self.reached: set[ast.FunctionDecl] = set()
        self.arms: set[tuple[ast.If, bool]] = set()
        self.only_used = False
        self.trial: Trial | None = None
        self.trial_state: UnitState | None = None
        self.uncertainty = 0
        self.choice = 0
        self.lent = False
        self.lent_around = False
        self.sound: list[nodes.Function] = []
        self.unseen: Sequence[tuple[int, int]] = ()
