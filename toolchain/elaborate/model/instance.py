"""Instances of functions, their signatures, and their bodies for each target."""

from collections.abc import Sequence, Set
from copy import copy
from dataclasses import field
from typing import Any

from ktc.base.records import entity, record
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.source import Span
from ktc.elaborate.model.body_store import Bodies, Declarations, Listed
from ktc.elaborate.model.declarations import FunctionInfo, OverloadSet, Scope, Ty
from ktc.elaborate.model.types import FunctionValue, ParameterArgument, StructTy
from ktc.elaborate.model.values import Arg, Slot, Var
from ktc.ir import nodes
from ktc.ir.interpreter.interpret import Interpreter
from ktc.syntax import ast
from ktc.targets.target import Target


class Symbolic(Exception):
    """In a pattern: the value depends on a parameter that is not known yet.

    Args:
        ty: the type of the value, where that is known.
    """

    def __init__(self, ty: StructTy | None = None) -> None:
        super().__init__()
        self.ty = ty


class DependsOnProgram(Exception):
    """In the library's archive: a function depends on the program, say on its list of targets."""


@entity
class ArgumentSignature:
    """One argument of an instance.

    Args:
        convention: "read", "mut", "var", "ref", "out" or "deinit".
        passing: "none", "direct" or "memory"; "memory" for all that is passed by its address.
        variadic: "" or "list" (`*xs: T`) or "pack" (`*xs: *Ts`); `ty` is then T, or None and the types are in `pack`:
            None there for what is no value.
        left_open: only an argument tells what its type leaves open by '_'; without one it has the defaults.
    """

    name: str
    ty: Ty
    convention: str
    kind: str
    node: ast.Param
    passing: str
    variadic: str = ""
    pack: tuple[Ty | None, ...] = ()
    left_open: bool = False


@entity
class Signature:
    """The calling convention of an instance: its arguments and how the result is passed.

    Args:
        result: "none", "direct", "memory" or "ref"; in a raising function "direct" also goes through memory.
        out_name: the name of the result inside the function, for `out` arguments.
        changes: one of several arguments is passed to be changed.
        result_space: the address space that a `ref` result names.
        borrowed_args: the arguments into which the result may point.
        pointed_args: of these, the ones that its type names only behind their pointers.
        named: of these, the ones that the origin of a `ref` result names; `borrowed_fields`: and the fields of each.
        unlinked_args: views into which it cannot point, as their types name no origin.
        error: the type of the errors that it raises; None: `Error`.
        points_anywhere: whether `ref [...]` writes the origin of any variable.
        keeps_all: whether the origin of a `ref` result is that of any variable, as the parameters of this instance say.
    """

    args: tuple[ArgumentSignature, ...]
    result_ty: Ty
    result: str
    raises: bool
    out_name: str = ""
    result_mutable: bool = True
    borrowed_args: tuple[int, ...] = ()
    pointed_args: tuple[int, ...] = ()
    named: tuple[int, ...] = ()
    borrowed_fields: tuple[tuple[int, tuple[str, ...]], ...] = ()
    changes: bool = False
    result_space: int = 0
    unlinked_args: tuple[int, ...] = ()
    points_anywhere: bool = False
    keeps_all: bool = False
    error: Ty | None = None

    @property
    def through_memory(self) -> bool:
        """Return whether the caller passes an address for the result."""
        return self.result == "memory" or (self.raises and self.result in ("direct", "ref"))


@entity
class Instance:
    """One function with all parameters known.

    Args:
        param_values: the values of its parameters.
        variadic_spans: where the variadic arguments of the first call stand.
        archived: its declaration, if the library's archive has compiled the function; a body is then made only to run
            it at compile time.
        has_stored_body: the body need not be elaborated; `Instances.recall` has it.
        defaults: values of arguments that calls did not give, as far as they are the same for all calls.
        is_reelaborated: it is elaborated once more, to find its errors.
    """

    fn: FunctionInfo
    symbol: str
    param_values: tuple[ParameterArgument, ...]
    scope: Scope
    self_ty: StructTy | None
    state: "UnitState"
    signature: Signature
    parent: "Instance | None"
    call_span: Span | None
    depth: int
    function: nodes.Function | None = None
    template: nodes.Value | bool | None = None
    refs: set[str] = field(default_factory=set)
    environments: tuple[FunctionValue, ...] = ()
    captured: list[Var | FunctionInfo] = field(default_factory=list)
    in_progress: bool = False
    failed: bool = False
    is_kernel: bool = False
    body: Any = None
    variadic_spans: tuple[Span, ...] = ()
    archived: nodes.Function | None = None
    has_stored_body: bool = False
    defaults: dict[str, Any] = field(default_factory=dict)
    is_reelaborated: bool = False
    _title: str = ""

    @property
    def title(self) -> str:
        """The name in messages."""
        if not self._title:
            params = zip(self.fn.node.params, self.param_values, strict=True)
            title = str(
                FunctionValue(
                    OverloadSet(self.fn.name, [self.fn]), tuple(v for param, v in params if param.kind != "infer")
                )
            )
            self._title = title if self.fn.owner is None else f"{self.fn.owner.name}.{title}"
        return self._title

    @property
    def is_parametric(self) -> bool:
        """Return whether the function, or one that encloses it, has parameters."""
        return "[" in self.title


@entity
class UnitState:
    """The instances and functions of one target."""

    target: Target
    index: int
    instances: dict[object, Instance] = field(default_factory=dict)
    by_symbol: dict[str, Instance] = field(default_factory=dict)
    synthesized: dict[str, tuple[nodes.Function, set[str]]] = field(default_factory=dict)
    shared: dict[str, nodes.Global] = field(default_factory=dict)
    """Shared and constant memory of the target's kernels; its size may differ from that of another target."""
    queue: list[Instance] = field(default_factory=list)
    kernels: dict[str, nodes.Kernel] = field(default_factory=dict)
    memo: dict[object, Any] = field(default_factory=dict)
    evaluated: dict[object, Any] = field(default_factory=dict)
    by_parameters: dict[object, Instance] = field(default_factory=dict)
    """Instances whose parameters say all, so that nothing about the arguments need be asked."""
    interpreter: Interpreter | None = None
    archived: Declarations | None = None
    """Declarations of the functions in the library's archive."""
    archived_variables: Set[str] = frozenset()
    """Global variables that the archive has."""
    listed: Listed = Listed()
    """Symbols that the archive may hold; those it lacks are compiled apart from the program."""
    bodies: Bodies | None = None
    """Bodies of the library's functions that need not be elaborated."""
    pending_destructors: dict[str, StructTy] = field(default_factory=dict)
    """Types whose archived destructors have no body here yet, by symbol."""
    assumed_targets: tuple[Target, ...] = ()
    """If not empty, compile-time code sees these as the program's targets. Nothing of it becomes code."""

    def forget_program(self, placed: Set[str]) -> None:
        """Forget the program's own functions, and those of the library that hold one of its places or call such a one.

        Args:
            placed: symbols of functions that hold a place.
        """
        lost = self._callers(placed & {*self.by_symbol, *self.synthesized})
        self.by_symbol = {
            symbol: one for symbol, one in self.by_symbol.items() if one.fn.module.is_library and symbol not in lost
        }
        self.kernels = {symbol: one for symbol, one in self.kernels.items() if symbol in self.by_symbol}
        self.queue.clear()
        if not lost:
            return
        self.synthesized = {symbol: one for symbol, one in self.synthesized.items() if symbol not in lost}
        self.instances = {key: one for key, one in self.instances.items() if one.symbol not in lost}
        self.by_parameters = {key: one for key, one in self.by_parameters.items() if one.symbol not in lost}
        self.memo.clear()
        self.evaluated.clear()
        self.interpreter = None

    def _callers(self, symbols: Set[str]) -> set[str]:
        """Return functions, all that call them, and all that are given closures of theirs."""
        callers: dict[str, list[str]] = {}
        bodies = {symbol: {*one.refs, *_outer_symbols(one)} for symbol, one in self.by_symbol.items()}
        for symbol, refs in {**bodies, **{symbol: one[1] for symbol, one in self.synthesized.items()}}.items():
            for name in refs:
                callers.setdefault(name, []).append(symbol)
        found, work = set[str](), list(symbols)
        while work:
            symbol = work.pop()
            if symbol not in found:
                found.add(symbol)
                work += callers.get(symbol, ())
        return found


def _outer_symbols(instance: Instance) -> list[str]:
    """Return the functions around an instance and around the functions that it is given."""
    outer = [fn.overloads.functions[0].parent if fn.env is None else fn.env for fn in instance.environments]
    around = [one.frame.instance for one in (instance.fn.parent, *outer) if one is not None]
    return [one.symbol for one in around if one is not None]


@entity
class Speculation:
    """One declaration that is elaborated by itself.

    Args:
        node: the declaration; what is found elsewhere does not count.
        diagnostics: the reports, each with the uncertainty at that time (`Coverage.uncertainty`).
        is_clean: nothing was reported that a constant taken for a parameter may have caused.
        constants: those that were taken, as a message shows them.
        instances: the instances that were elaborated.
    """

    node: ast.Node
    diagnostics: list[tuple[Diagnostic, int]] = field(default_factory=list)
    is_clean: bool = True
    constants: str = ""
    instances: list[Instance] = field(default_factory=list)


def unelaborated_copy(instance: Instance) -> Instance:
    """Return an instance of the same that is not elaborated."""
    made = copy(instance)
    made.function, made.template, made.body, made.refs = None, None, None, set()
    made.failed, made.has_stored_body, made.is_reelaborated = False, False, True
    return made


@record
class UnresolvedCall:
    """A call whose function is yet to be chosen among overloads.

    Args:
        callee: the overloads, with the parameters, the type of `self` and the environment that are given already.
        pos, kw: the arguments by position and by name.
        span: the call in its text.
        receiver: the first argument is the value whose method is called.
    """

    callee: FunctionValue
    pos: Sequence[Arg]
    kw: Sequence[Arg]
    span: Span
    receiver: bool = False


@entity
class Candidate:
    """A function that fits a call.

    Args:
        slots: the value for each argument of the function.
    """

    instance: Instance
    slots: list[Slot]
    cost: int
