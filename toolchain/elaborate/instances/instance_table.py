"""Instances of functions, evaluation at compile time, and aliases.

An `Instance` is one function with all its parameters known, for one target. Its signature is computed when it is first
called, its body when the work list comes to it, or at once when compile-time evaluation runs it.
"""

import hashlib
from collections.abc import Mapping, Set
from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING, Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, Diagnostic, Label
from ktc.diag.source import Span
from ktc.elaborate.instances.body_store import Bodies
from ktc.elaborate.model.declarations import AliasInfo, FnInfo, FnSet, ModuleInfo, Scope, StructInfo, TraitInfo
from ktc.elaborate.model.errors import Abort
from ktc.elaborate.model.values import (
    KV,
    BoundAlias,
    FnTy,
    FnVal,
    Opaque,
    PackPV,
    StructTy,
    Sym,
    TraitTy,
    Ty,
)  # fmt: skip
from ktc.elaborate.types.mangling import Symbols
from ktc.elaborate.types.type_printer import shown_instance
from ktc.ir import nodes, types
from ktc.ir.interpret import Interpreter
from ktc.records import entity
from ktc.syntax import ast
from ktc.targets.target import Target

if TYPE_CHECKING:
    from ktc.elaborate.program import Body

MAX_DEPTH = 400
"""Instantiations in one another; more is taken for a recursion without end."""


TARGETS_TABLE = "ktc.targets"
"""Symbol of the program's list of device targets."""

_TOLD_BY_LIBRARY = frozenset((Code.CONSTRAINT_FAILED, Code.BAD_KERNEL, Code.KERNEL_ARGUMENT))
"""The message of these says all; where the library checks it helps nobody."""


FOUND_HERE = "found here"
"""The note at the place of a mistake that is told at the user's own line."""


class Symbolic(Exception):
    """In a pattern: the value depends on a parameter that is not known yet."""


class OfProgram(Exception):
    """In the library's archive: a function depends on the program, say on its list of targets."""


@entity
class ArgSig:
    """One argument of an instance.

    Args:
        convention: "read", "mut", "var", "ref", "out" or "deinit".
        passing: "none", "direct" or "memory"; "memory" for all that is passed by its address.
        variadic: "" or "list" (`*xs: T`) or "pack" (`*xs: *Ts`); `ty` is then T, or None and the types are in `pack`.
    """

    name: str
    ty: Ty
    convention: str
    kind: str
    node: ast.Param
    passing: str
    variadic: str = ""
    pack: tuple[Any, ...] = ()


@entity
class Signature:
    """What a call of an instance looks like.

    Args:
        result: "none", "direct", "memory" or "ref"; in a raising function "direct" also goes through memory.
        out_name: the name of the result inside the function, for `out` arguments.
        changes: one of several arguments is passed to be changed.
        lends: the arguments into which the result may point.
        named: of these, the ones that the origin of a `ref` result names; `lent_fields`: and the fields of each.
    """

    args: tuple[ArgSig, ...]
    result_ty: Ty
    result: str
    raises: bool
    out_name: str = ""
    result_mutable: bool = True
    noreturn: bool = False
    lends: tuple[int, ...] = ()
    named: tuple[int, ...] = ()
    lent_fields: tuple[tuple[int, tuple[str, ...]], ...] = ()
    changes: bool = False

    @property
    def through_memory(self) -> bool:
        """Does the caller pass an address for the result."""
        return self.result == "memory" or (self.raises and self.result in ("direct", "ref"))


@entity
class Instance:
    """One function with all parameters known.

    Args:
        given: the values of its parameters.
        rest_spans: where the variadic arguments of the first call stand.
        archived: its declaration, if the library's archive has the function; a body is then made only to run it at
            compile time.
        kept: the body need not be elaborated; `Instances.recall` has it.
        defaults: values of arguments that calls did not give, as far as they are the same for all calls.
        again: it is elaborated once more, for its mistakes.
    """

    fn: FnInfo
    symbol: str
    given: tuple[Any, ...]
    scope: Scope
    self_ty: StructTy | None
    state: "UnitState"
    signature: Signature
    parent: "Instance | None"
    call_span: Span | None
    depth: int
    function: nodes.Function | None = None
    template: Any = None
    refs: set[str] = field(default_factory=set)
    envs: tuple[FnVal, ...] = ()
    captured: list[Any] = field(default_factory=list)
    busy: bool = False
    failed: bool = False
    kernel: bool = False
    body: Any = None
    rest_spans: tuple[Span, ...] = ()
    archived: nodes.Function | None = None
    kept: bool = False
    defaults: dict[str, Any] = field(default_factory=dict)
    again: bool = False
    _title: str = ""

    @property
    def title(self) -> str:
        """What messages call it."""
        if not self._title:
            params = zip(self.fn.node.params, self.given, strict=True)
            title = str(FnVal(FnSet(self.fn.name, [self.fn]), tuple(v for param, v in params if param.kind != "infer")))
            self._title = title if self.fn.owner is None else f"{self.fn.owner.name}.{title}"
        return self._title

    @property
    def is_parametric(self) -> bool:
        """Does what the function is made of depend on parameters, its own or those around it."""
        return "[" in self.title


def afresh(instance: Instance) -> Instance:
    """Return an instance of the same that is not elaborated."""
    made = copy(instance)
    made.function, made.template, made.body, made.refs = None, None, None, set()
    made.failed, made.kept, made.again = False, False, True
    return made


@entity
class UnitState:
    """What has been elaborated for one target."""

    target: Target
    index: int
    instances: dict[Any, Instance] = field(default_factory=dict)
    by_symbol: dict[str, Instance] = field(default_factory=dict)
    extra: dict[str, tuple[nodes.Function, set[str]]] = field(default_factory=dict)
    queue: list[Instance] = field(default_factory=list)
    kernels: dict[str, nodes.Kernel] = field(default_factory=dict)
    memo: dict[Any, Any] = field(default_factory=dict)
    computed: dict[Any, Any] = field(default_factory=dict)
    plain: dict[Any, Instance] = field(default_factory=dict)
    """Instances whose parameters say all, so that nothing about the arguments need be asked."""
    interpreter: Interpreter | None = None
    archived: Mapping[str, nodes.Function] = field(default_factory=dict)
    archived_variables: Set[str] = frozenset()
    bodies: Bodies | None = None
    """Bodies of the library's functions that need not be elaborated."""
    undrawn: dict[str, StructTy] = field(default_factory=dict)
    """Types whose archived destructors have no body here yet, by symbol."""
    only: tuple[Target, ...] = ()
    """If not empty: what is computed here takes these for the program's targets. Nothing of it becomes code."""


class Instances(Symbols):
    """The part of the elaborator that knows instances and constants."""

    states: dict[str, UnitState]
    state: UnitState
    globals: dict[str, nodes.Global]
    current: Instance | None
    constants: list[tuple[Span, Instance | None]]
    """The user's constants that are being computed, the outermost first, each with the instance that needs it."""
    told_by_library: set[tuple[Code, str]]
    """Places where the library has said that the target has not something."""
    busy_aliases: dict[Any, AliasInfo]
    circular: set[Any]

    def fn_as(self, fn: FnVal, want: FnTy) -> FnVal | None:
        """Return the overload that a function type means (in `FunctionTypes`)."""
        raise NotImplementedError

    def find(self, name: str, scope: Scope, module: ModuleInfo) -> Any:
        """Return the binding of a name (in `Elaborator`)."""
        raise NotImplementedError

    def new_body(self, module: ModuleInfo, scope: Scope, instance: Instance | None) -> "Body":
        """Make a body (in `Elaborator`)."""
        raise NotImplementedError

    def fail(
        self, code: Code, message: str, span: Span | None, help: str = "", instance: Instance | None = None
    ) -> NoReturn:
        """Report an error at the innermost place in a user's file, with the chain of instantiations, and abort."""
        self.report(code, message, span, help, instance)
        raise Abort

    def report(
        self, code: Code, message: str, span: Span | None, help: str = "", instance: Instance | None = None,
        extra: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        """Report an error like `fail`, and go on."""
        instance = instance or self.current
        primary, notes = span, list(extra)
        if primary is not None and primary.source.is_library:
            if code not in _TOLD_BY_LIBRARY:
                notes.insert(0, Label(primary, FOUND_HERE))
            primary = self._asking_span(instance)
        shown = []
        at = instance
        # The way to `main` says nothing where no parameter is on it, and `main` itself never does.
        says = primary is None or (at is not None and at.is_parametric)
        while at is not None:
            if at.call_span is not None and not at.call_span.source.is_library:
                if primary is None:
                    primary = at.call_span
                elif says and not _inside(primary, at.call_span) and at.parent is not None:
                    shown.append(Label(at.call_span, f"instantiated from here: {shown_instance(self, at)}"))
            at = at.parent
        if primary is not None and span is not primary and code in _TOLD_BY_LIBRARY:
            # what a target has not, it often has not in several ways; the first one says it
            key = (code, primary.location())
            if key in self.told_by_library:
                return
            self.told_by_library.add(key)
        self.sink.report(Diagnostic(code, primary or span, message, help, (*notes, *reversed(shown))))

    def _asking_span(self, instance: Instance | None) -> Span | None:
        """Return the user's expression that the library is at work for, where no call of an instance says it."""
        for place, owner in reversed(self.constants):
            if owner is instance:
                return place
        body = instance.body if instance is not None else None
        span = body.span if body is not None else None
        return None if span is None or span.source.is_library else span

    def evaluate(self, node: ast.Expr, scope: Scope, module: ModuleInfo, expected: Ty | None = None) -> Any:
        """Compute a parameter value of an expression."""
        if type(node) is ast.Name:  # most types are, and need no body
            found = self.find(node.id, scope, module)
            if type(found) is AliasInfo:
                found = self.alias_value(found, None)
            if type(found) is StructTy or type(found) is KV or type(found) is PackPV:
                return found
            if type(found) is TraitInfo:
                return self.trait((found,))
            if type(found) is StructInfo and not found.node.params and not found.deprecated:
                return self.struct(found, ())
        body = self.new_body(module, scope, self.current)
        return body.param(body.expr(node, expected), Span(module.source, node.start, node.end))

    def evaluate_open(self, node: ast.Expr, scope: Scope, module: ModuleInfo) -> Any:
        """Compute a parameter value that may be a parameter without a value."""
        body = self.new_body(module, scope, self.current)
        value = body.expr(node, None)
        if isinstance(value, (Sym, Opaque)):
            return value
        return body.param(value, Span(module.source, node.start, node.end))

    def alias_value(self, alias: AliasInfo, self_ty: StructTy | None) -> Any:
        """Return the value of an alias without parameters (an `AliasInfo` itself if it has parameters)."""
        if alias.node.params:
            return alias if self_ty is None else BoundAlias(alias, self_ty)
        cache = self_ty.aliases if self_ty is not None else alias.values
        key = alias.name if self_ty is not None else self.state.target.name
        if self_ty is not None:
            key = f"{alias.uid}@{self.state.target.name}"
        if key in cache:
            return cache[key]
        busy = (alias.uid, self_ty)
        if busy in self.busy_aliases:
            self._circular(alias, busy)
        scope = self_ty.scope if self_ty is not None and self_ty.scope is not None else alias.scope
        if alias.node.value is None:
            cache[key] = self.promised_alias(alias, self_ty, scope)
            return cache[key]
        if busy in self.circular:
            raise Abort
        self.busy_aliases[busy] = alias
        try:
            cache[key] = self.typed_constant(alias.node.type, alias.node.value, scope, alias.module)
        finally:
            del self.busy_aliases[busy]
        return cache[key]

    def _circular(self, alias: AliasInfo, busy: Any) -> NoReturn:
        """Report aliases that are defined by one another, once for all of them."""
        keys = list(self.busy_aliases)
        ring = keys[keys.index(busy) :]
        self.circular.update(ring)
        notes = tuple(Label(self.busy_aliases[one].span(), "by this one, which needs it") for one in ring[1:])
        self.report(Code.NOT_COMPILE_TIME, f"'{alias.name}' is defined by itself", alias.span(), extra=notes)
        raise Abort

    def promised_alias(self, alias: AliasInfo, ty: StructTy | None, scope: Scope) -> Any:
        """Return what an alias without a value stands for; only archetypes know (`Archetypes`)."""
        self.fail(Code.NO_MEMBER, f"'{alias.name}' has no value here", alias.span())

    def typed_constant(self, type_node: ast.Expr | None, value: ast.Expr, scope: Scope, module: ModuleInfo) -> Any:
        """Compute `value`, converted to the type if one is written."""
        want = self.evaluate(type_node, scope, module) if type_node is not None else None
        want = want if isinstance(want, Ty) and not isinstance(want, TraitTy) else None
        body = self.new_body(module, scope, self.current)
        span = Span(module.source, value.start, value.end)
        if not module.is_library:
            self.constants.append((span, self.current))
        try:
            result = body.expr(value, want)
            if isinstance(want, FnTy) and isinstance(result, FnVal):
                result = self.fn_as(result, want) or body.convert(result, want, span)
            elif want is not None:
                result = body.convert(result, want, span)
            elif isinstance(result, FnVal) and (result.params or result.named) and not module.is_library:
                self.check_bound(result, span)
            return body.param(result, span)
        finally:
            if not module.is_library:
                self.constants.pop()

    def check_bound(self, fn: FnVal, span: Span) -> None:
        """Check the parameters that a name for a function gives (in `FunctionTypes`)."""
        raise NotImplementedError

    def elaborate_instance(self, instance: Instance) -> None:
        """Make the body of an instance (in `Elaborator`)."""
        raise NotImplementedError

    def draw_destructor(self, ty: StructTy, symbol: str) -> None:
        """Make the body of a destructor (in `Elaborator`)."""
        raise NotImplementedError

    def string_constant(self, text: str) -> nodes.Const:
        """Return the {address, length} of a constant text; the same text is the same global."""
        data = text.encode("utf-8", "surrogateescape")
        name = "str$" + hashlib.sha256(data).hexdigest()[:16]
        if name not in self.globals:
            kind = types.ArrayType(types.I8, len(data) + 1)
            self.globals[name] = nodes.Global(name, kind, data + b"\0", True, 0, 1)
        return nodes.Const(types.StructType((types.PTR, types.I64)), (nodes.Address(name), len(data)))

    def string_of(self, value: Any) -> str:
        """Return the text of a constant {address, length}."""
        if isinstance(value, str):
            return value
        address, size = value[0], value[1]
        if isinstance(address, int):
            return ""
        content = self.globals[address.name].content
        if isinstance(content, nodes.Const):
            content = bytes(content.value if isinstance(content.value, tuple) else ())  # type: ignore[arg-type]
        if not isinstance(content, bytes):
            raise Bug(f"the text at {address.name} is not known at compile time", "elaborate")
        return content[address.offset : address.offset + size].decode("utf-8", "surrogateescape")


def _inside(inner: Span, outer: Span) -> bool:
    return inner.source is outer.source and outer.start <= inner.start and inner.end <= outer.end
