"""The state of one elaboration and of one body, and the interface through which lower rooms call higher ones.

`Elaboration` is one run over a program, `Body` one function or compile-time expression. `ElaborationApi` is the whole
recursion of the elaborator: a function that a lower room may call in a higher one is a method of it, and `dispatch.py`
implements each in one statement.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from ktc.config import Config
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, Label, Sink
from ktc.diag.source import Span
from ktc.elaborate.model.body_state import (
    Assignments,
    CallSite,
    Captures,
    ControlFlow,
    IrBuilder,
    LexicalFrame,
    OwnershipFacts,
)  # fmt: skip
from ktc.elaborate.model.build_options import Defines
from ktc.elaborate.model.declarations import AliasInfo, ModuleInfo, OverloadSet, Scope, TraitInfo, Ty
from ktc.elaborate.model.elaboration_state import (
    CompileTime,
    Coverage,
    GenericTypes,
    Instances,
    Modules,
    TypeTable,
)  # fmt: skip
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import (
    ArgumentSignature,
    Candidate,
    DependsOnProgram,
    Instance,
    UnitState,
    UnresolvedCall,
)
from ktc.elaborate.model.reporting import Reporter
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    ParameterArgument,
    PartialTy,
    StructTy,
    UnboundParameter,
)
from ktc.elaborate.model.values import Arg, Binding, CollectionLiteral, ComputedAccess, Place, Result, RValue, Val
from ktc.ir import nodes, types
from ktc.ir.nodes import Value
from ktc.syntax import ast
from ktc.syntax.loader import Package
from ktc.targets.target import Target

UNIT_CONST = nodes.Const(types.UNIT, ())


Observe = Callable[["Body", Any, Any], None]


class ElaborationApi:
    """The functions that a lower room may call in a higher one (`dispatch.py` implements them)."""

    def expr(self, body: "Body", node: ast.Expr, expected: Ty | None = None) -> Result:
        """Elaborate an expression; `expected` is a hint for collection literals."""
        raise NotImplementedError

    def statement(self, body: "Body", node: ast.Stmt) -> None:
        """Elaborate one statement."""
        raise NotImplementedError

    def alias_value(self, elab: "Elaboration", alias: AliasInfo, self_ty: StructTy | None) -> ParameterArgument:
        """Return the value of an alias without parameters (an `AliasInfo` itself if it has parameters)."""
        raise NotImplementedError

    def block(self, body: "Body", statements: tuple[ast.Stmt, ...], names: dict[str, Binding] | None = None) -> None:
        """Elaborate statements in a scope of their own; an error in one does not stop the others."""
        raise NotImplementedError

    def build_collection(self, body: "Body", late: CollectionLiteral, expected: Ty | None) -> Val:
        """Build a collection literal: of the expected type if possible, else of its own."""
        raise NotImplementedError

    def call_fn(
        self, body: "Body", fn: FunctionValue, pos: list[Arg], kw: list[Arg], span: Span, receiver: bool = False
    ) -> Val:
        """Call a function with the parameters that it was given."""
        raise NotImplementedError

    def call_init(self, body: "Body", ty: Ty, init: OverloadSet, pointer: Value, val: Place) -> None:
        """Run `__copyinit__` or `__moveinit__` on a place."""
        raise NotImplementedError

    def call_value(
        self, body: "Body", callee: RValue | Place | ConstValue, pos: list[Arg], kw: list[Arg], span: Span
    ) -> Val:
        """Call a function that is known only at run time."""
        raise NotImplementedError

    def choose(
        self, body: "Body", call: UnresolvedCall, implicit_only: bool = False, quiet: bool = False
    ) -> Candidate | None:
        """Return the best candidate; reports an error and aborts if there is none, or returns None if `quiet`."""
        raise NotImplementedError

    def condition(self, body: "Body", value: Result, node: ast.Node) -> nodes.Value:
        """Return the truth value of a value as an i1."""
        raise NotImplementedError

    def construct(self, body: "Body", ty: StructTy, pos: list[Arg], kw: list[Arg], span: Span) -> Val:
        """Construct a value of a struct."""
        raise NotImplementedError

    def convert_constant(
        self, elab: "Elaboration", value: ConstValue | FunctionValue, expected: "Ty | PartialTy"
    ) -> ConstValue | None:
        """Convert a constant to another type by an implicit conversion, or return None; remembered."""
        raise NotImplementedError

    def declared_function(
        self, elab: "Elaboration", param: ast.Param, value: ParameterArgument, expected: FunctionTy, what: str
    ) -> ParameterArgument:
        """Return a function that a parameter of function type is given, one overload of it."""
        raise NotImplementedError

    def default_value(self, body: "Body", instance: Instance, sig: ArgumentSignature, span: Span) -> Result:
        """Return the value of an argument that a call leaves out, converted to its type."""
        raise NotImplementedError

    def destructor(self, elab: "Elaboration", ty: StructTy) -> str:
        """Return the symbol of the function that destroys a value: its `__del__`, then its fields."""
        raise NotImplementedError

    def collection_cost(self, body: "Body", late: CollectionLiteral | ast.Expr, expected: Ty) -> int | None:
        """Return the cost of converting a collection literal, or its syntax, to `expected`; None if it does not fit."""
        raise NotImplementedError

    def synthesize_destructor(self, elab: "Elaboration", ty: StructTy, symbol: str) -> None:
        """Make the body of a destructor."""
        raise NotImplementedError

    def elaborate_instance(self, elab: "Elaboration", instance: Instance) -> None:
        """Elaborate the body of an instance, unless that is done or in progress."""
        raise NotImplementedError

    def emit_call(self, body: "Body", found: Candidate, span: Span) -> Val:
        """Emit the call of a chosen candidate."""
        raise NotImplementedError

    def environment(self, body: "Body", env: FunctionValue, span: Span | None) -> Value:
        """Return the address of the environment of a closure."""
        raise NotImplementedError

    def evaluate(
        self, elab: "Elaboration", node: ast.Expr, scope: Scope, module: ModuleInfo, expected: Ty | None = None
    ) -> ParameterArgument:
        """Compute a parameter value of an expression."""
        raise NotImplementedError

    def evaluate_open(self, elab: "Elaboration", node: ast.Expr, scope: Scope, module: ModuleInfo) -> ParameterArgument:
        """Compute a parameter value that may be a parameter without a value."""
        raise NotImplementedError

    def fits_function(self, elab: "Elaboration", have: FunctionTy, expected: FunctionTy) -> bool:
        """Return whether a function type is a subtype of another."""
        raise NotImplementedError

    def conforms_to_call(self, elab: "Elaboration", ty: Ty, trait: TraitInfo) -> bool:
        """Return whether values of a type can be called as the trait of a function type says."""
        raise NotImplementedError

    def function_as(self, elab: "Elaboration", fn: FunctionValue, expected: FunctionTy) -> FunctionValue | None:
        """Return the one overload, with its parameters, that a function type means; None if none fits."""
        raise NotImplementedError

    def function_value(
        self, body: "Body", fn: FunctionValue, expected: FunctionTy, span: Span | None
    ) -> RValue | Place | None:
        """Return the address of the overload that fits a function type, or a closure; None if none fits."""
        raise NotImplementedError

    def instance_of(
        self, elab: "Elaboration", fn: FunctionValue, span: Span | None, asking: "Body | None", kernel: bool = False
    ) -> Instance:
        """Return the one instance that a function value with all its parameters is."""
        raise NotImplementedError

    def make_template(self, elab: "Elaboration", instance: Instance) -> None:
        """Expand a "builtin" function once with open arguments; where that gives one pure value, calls become that."""
        raise NotImplementedError

    def bound_alias(
        self, elab: "Elaboration", alias: AliasInfo, ty: StructTy | None, scope: Scope
    ) -> ParameterArgument:
        """Return a placeholder for an alias that the traits of an archetype require but do not define."""
        raise NotImplementedError

    def write_back(self, body: "Body", after: list[tuple[ComputedAccess, Place]]) -> None:
        """Give the changed values to the setters, the last first."""
        raise NotImplementedError

    def run_cleanups(self, body: "Body", depth: int) -> None:
        """Run the pending `finally` and `__exit__` parts down to a depth, innermost first."""
        raise NotImplementedError

    def thin_type(self, elab: "Elaboration", fn: FunctionValue) -> FunctionTy | None:
        """Return the type that a function has as a value at run time; None if it is not one function, or captures."""
        raise NotImplementedError

    def typed_constant(
        self, elab: "Elaboration", type_node: ast.Expr | None, value: ast.Expr, scope: Scope, module: ModuleInfo
    ) -> ParameterArgument:
        """Compute `value`, converted to the type if one is written."""
        raise NotImplementedError

    def type_with_defaults(self, elab: "Elaboration", value: ParameterArgument) -> ParameterArgument:
        """Return the type that the name of a struct means alone, if all of its parameters have defaults."""
        raise NotImplementedError

    def unify_function(
        self,
        elab: "Elaboration",
        pattern: FunctionTy,
        actual: ParameterArgument,
        bound: dict[UnboundParameter, ParameterArgument],
    ) -> bool:
        """Bind what a function type leaves open by a function's own type."""
        raise NotImplementedError


class Elaboration:
    """One elaboration of a program, or of the library's archive."""

    def __init__(
        self, package: Package, config: Config, sink: Sink, api: ElaborationApi, host: UnitState, is_archive: bool,
    ) -> None:  # fmt: skip
        self.api = api
        self.config = config
        self.reporter = Reporter(sink)
        self.is_archive = is_archive
        self.modules = Modules(package)
        self.types = TypeTable()
        self.generics = GenericTypes()
        self.instances = Instances(host)
        self.comptime = CompileTime(Defines(config.defines))
        self.coverage = Coverage()
        self.observe: Observe | None = None
        """Receives what each expression gives and the end of each statement: for editors and migration. With the span
        of a call it gets its `Candidate`; with that of a call or a `raise`, the `ErrorTarget` of what is raised; with
        an `ErrorTarget`, the same where an error is raised again."""

    def forget_program(self, package: Package, sink: Sink) -> None:
        """Forget the program, for another one in its place; what is known of the library stays."""
        self.reporter, self.coverage = Reporter(sink), Coverage()
        self.modules.forget_program(package)
        self.instances.forget_program()
        self.generics.forget_program()

    def fail(
        self, code: Code, message: str, span: Span | None, help: str = "", instance: Instance | None = None
    ) -> NoReturn:
        """Report an error at the innermost place in a user's file, with the chain of instantiations, and abort."""
        self.reporter.report(code, message, span, help, instance or self.instances.current)
        raise ErrorReported

    def report(
        self, code: Code, message: str, span: Span | None, help: str = "", instance: Instance | None = None,
        extra: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        """Report an error like `fail`, and go on."""
        self.reporter.report(code, message, span, help, instance or self.instances.current, extra)

    def targets_of_program(self) -> tuple[Target, ...]:
        """Return the targets of the program's kernels, which the library's archive does not know."""
        self.depends_on_program()
        return self.instances.state.assumed_targets or self.config.accelerators

    def depends_on_program(self) -> None:
        """Note that the current function differs from program to program: the library's archive cannot have it.

        Raises:
            DependsOnProgram: the seed of the archive is elaborated.
            Bug: the archive may have it, says its list.
        """
        if self.is_archive:
            raise DependsOnProgram
        current = self.instances.current
        if current is not None and current.symbol in self.instances.state.listed.functions:
            text = f"the list of the library's archive is old: '{current.title}' depends on the program"
            raise Bug(f"{text}; run 'make archive'", "archive")

    def main_span(self) -> Span:
        """Return the beginning of the main file."""
        return Span(self.modules.main.source, 0, 0)


class Body(IrBuilder):
    """One function, or one expression at compile time: the IR that is built, and the parts of the state.

    Attributes:
        state: the instances and units of the target.
    """

    def __init__(
        self, elab: Elaboration, module: ModuleInfo, scope: Scope, instance: Instance | None, comptime: bool = True
    ) -> None:
        super().__init__()
        self.elab = elab
        self.api = elab.api
        self.state = elab.instances.state
        self.frame = LexicalFrame(module, scope, instance, comptime)
        self.flow = ControlFlow()
        self.assignments = Assignments()
        self.facts = OwnershipFacts()
        self.captures = Captures()
        self.site = CallSite()

    @property
    def target(self) -> Target:
        """The target that is being elaborated."""
        return self.state.target

    def at(self, node: ast.Node) -> Span:
        """Return the span of a node."""
        return Span(self.frame.module.source, node.start, node.end)

    def fail(self, code: Code, message: str, span: Span | None = None, help: str = "") -> NoReturn:
        """Report an error and abort the statement."""
        self.elab.fail(code, message, span or self.frame.span, help, self.frame.instance)

    def let(self, action: nodes.Action, type: types.Type) -> Value:
        """Emit a `Let` and return its temp; for void a unit constant."""
        if isinstance(type, types.VoidType):
            self.emit(nodes.Let(None, action, self.frame.span))
            return UNIT_CONST
        temp = nodes.Temp(self.fresh(), type)
        self.emit(nodes.Let(temp, action, self.frame.span))
        return temp
