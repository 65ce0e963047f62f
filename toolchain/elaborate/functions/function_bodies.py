"""Function instances: bodies, templates, destructors, and the unit that they make up."""

from collections.abc import Container
from typing import Any, NoReturn

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.builder.function_builder import UNIT_CONST
from ktc.elaborate.functions.destructors import Destructors
from ktc.elaborate.instances.instance_table import (
    MAX_DEPTH,
    TARGETS_TABLE,
    Instance,
    OfProgram,
    Symbolic,
    UnitState,
)  # fmt: skip
from ktc.elaborate.instances.signatures import is_specialised
from ktc.elaborate.model.declarations import FnInfo, FnSet, Scope
from ktc.elaborate.model.errors import Abort, Mismatch
from ktc.elaborate.model.values import (
    KV,
    LV,
    RV,
    FnTy,
    FnVal,
    PartialTy,
    StructTy,
    TraitTy,
)  # fmt: skip
from ktc.elaborate.types.function_types import environments
from ktc.ir import nodes, walk
from ktc.records import replace
from ktc.syntax import ast


class Functions(Destructors):
    """The part of the elaborator that makes functions."""

    elaborated: set[int]
    nested: list[FnInfo]
    """The nested functions of the program, as often as their declarations were met."""
    reached: set[ast.FunctionDecl]
    """The nested functions that were elaborated."""
    arms: set[tuple[ast.If, bool]]
    """The arms of the program's `@parameter if` that were taken."""
    entry_refs: str = ""
    endless: set[int]
    """Functions that instantiate themselves without end."""

    def instance(
        self, fn: FnInfo, self_ty: StructTy | None, given: dict[str, Any], actual: list[Any], env: Any,
        asking: Any, span: Span | None = None, kernel: bool = False,
    ) -> Instance:  # fmt: skip
        """Return the instance of a function with these parameters; its signature is made on the first call."""
        state = self.state
        values = tuple(self.canonical(given[p.name]) for p in fn.node.params)
        canonical_self = self.canonical(self_ty) if self_ty is not None else None
        key = (fn.uid, canonical_self, values, kernel)
        plain = state.plain.get(key)
        if plain is not None:
            return plain
        scope = Scope(self.fn_scope_parent(fn, canonical_self), "function")
        for param, value in zip(fn.node.params, values, strict=True):
            scope.names[param.name] = value
        declared: list[Any] | None = state.memo.get(key)
        if declared is None:
            declared = self._declared_types(fn, scope, canonical_self, actual)
            if not any(isinstance(kind, (PartialTy, TraitTy)) for kind in declared):
                state.memo[key] = declared
        open_types = tuple(
            self._known(kind, have) if isinstance(kind, FnTy) and is_specialised(arg, fn)
            else self._open_key(kind, have)
            for arg, kind, have in zip(fn.node.args, declared, actual, strict=True)
            if isinstance(kind, (PartialTy, TraitTy, FnTy))
        )  # fmt: skip
        full = (key, open_types)
        found = state.instances.get(full)
        if found is None:
            parent = asking.instance if asking is not None else self.current
            depth = parent.depth + 1 if parent is not None else 0
            call_span = span or (asking.span if asking is not None else None)
            if depth > MAX_DEPTH:
                self._without_end(fn, call_span, parent)
            symbol = self.symbol_for(fn, (canonical_self, values, open_types), kernel)
            if symbol in state.by_symbol:  # of a function that is nested in a loop that is unrolled
                symbol = _numbered(symbol, state.by_symbol)
            signature = self._signature(fn, canonical_self, scope, declared, actual)
            found = Instance(fn, symbol, values, scope, canonical_self, state, signature, parent, call_span, depth)
            found.envs = environments((*values, *open_types, canonical_self))
            if env is not None and all(known.set.functions[0] is not fn for known in found.envs):
                found.envs = (*found.envs, FnVal(FnSet(fn.name, [fn]), (), (), None, env))
            found.kernel = kernel
            if fn.parent is None and fn.module.is_library and not found.envs:
                found.archived = state.archived.get(symbol)
                found.kept = state.bodies is not None and symbol in state.bodies.symbols
            state.instances[full] = found
            if key in state.memo and not open_types:
                state.plain[key] = found
            state.by_symbol[symbol] = found
        return found

    def open_arguments(self, instance: Instance) -> bool:
        """Does a signature still leave a type open."""
        return any(isinstance(a.ty, (TraitTy, PartialTy)) for a in instance.signature.args)

    def instance_of(self, fn: FnVal, span: Span | None, asking: Any, kernel: bool = False) -> Instance:
        """Return the one instance that a function value with all its parameters is.

        A function with several overloads or open parameters is an error.
        """
        if len(fn.set.functions) != 1:
            self.fail(Code.AMBIGUOUS_CALL, f"'{fn.set.name}' has several overloads; one must be chosen", span)
        actual = [None] * len(fn.set.functions[0].node.args)
        try:
            return self.only_instance(fn, actual, asking, span, kernel)
        except Mismatch as why:
            self.fail(why.code, why.message, why.span or span, why.help())

    def request(self, instance: Instance) -> None:
        """Put an instance on the work list."""
        if instance.function is None and not instance.busy and instance.archived is None:
            instance.state.queue.append(instance)

    def drain(self, only: UnitState | None = None) -> None:
        """Make all bodies on the work lists, or on that of one unit."""
        work = True
        while work:
            work = False
            for state in list(self.states.values()) if only is None else (only,):
                queue = state.queue
                queue.reverse()  # in the order of the calls: messages show the first way
                while queue:
                    work = True
                    instance, known = queue.pop(), len(queue)
                    self.elaborate_instance(instance)
                    queue[known:] = reversed(queue[known:])

    def drain_closures(self) -> None:
        """Make the bodies on the work lists that have to do with closures, and what they ask for.

        Not all that waits: this is called from within a body, and another body would begin inside of it, and so on.
        """
        work = True
        while work:
            work = False
            for state in list(self.states.values()):
                queue = state.queue
                first = next((i for i, one in enumerate(queue) if one.envs or one.fn.parent is not None), len(queue))
                while len(queue) > first:
                    work = True
                    self.elaborate_instance(queue.pop())

    def elaborate_instance(self, instance: Instance) -> None:
        """Make the body of an instance, unless it is made or being made."""
        if instance.function is not None or instance.busy or instance.failed:
            return
        if instance.kept:
            found = self.recall(instance.state, instance.symbol)
            assert found is not None
            instance.function, instance.refs = found[0], set(found[1])
            return
        instance.busy = True
        outer_state, outer = self.state, self.current
        self.state, self.current = instance.state, instance
        self.elaborated.add(instance.fn.uid)
        try:
            self._make_function(instance)
        except (Abort, Symbolic, OfProgram):
            instance.failed = True
        except Mismatch as why:
            instance.failed = True
            self.report(why.code, why.message, why.span or instance.fn.span(), "", instance)
        finally:
            instance.busy = False
            self.state, self.current = outer_state, outer

    def _without_end(self, fn: FnInfo, span: Span | None, parent: Instance | None) -> NoReturn:
        """Report a function that instantiates itself, once for all that do so through one another."""
        if fn.uid not in self.endless:
            self.report(Code.INSTANTIATION_DEPTH, f"'{fn.name}' instantiates itself without end", span, "", parent)
        while parent is not None:
            self.endless.add(parent.fn.uid)
            parent = parent.parent
        raise Abort

    def make_template(self, instance: Instance) -> None:
        """Expand a "builtin" function once with open arguments; where that gives one pure value, calls become that."""
        instance.template = False
        signature = instance.signature
        if signature.result != "direct" or any(
            a.variadic or (a.passing == "memory" and a.convention != "out") or isinstance(a.ty, FnTy)
            for a in signature.args
        ):
            return
        scratch = self.new_body(instance.fn.module, instance.scope, instance)
        values: list[Any] = []
        count = 0
        for sig in signature.args:
            if sig.convention == "out":
                values.append(None)
            elif sig.passing == "direct":
                values.append(RV(sig.ty, nodes.Argument(count, self.ir(sig.ty))))
                count += 1
            else:
                values.append(KV(sig.ty, ()))
        errors = self.sink.error_count
        try:
            made = scratch.inline(instance, values, instance.fn.span())
        except Symbolic:
            return
        is_pure = not (scratch.statements or scratch.hoisted or scratch.lends)
        if self.sink.error_count != errors or not is_pure or isinstance(made, LV):
            return
        if isinstance(made, (RV, KV)):
            value = scratch.rvalue(made)
            if value is not UNIT_CONST and not scratch.statements:
                instance.template = value
                instance.refs = scratch.refs

    def unit_of(self, state: UnitState) -> nodes.Unit:
        """Return what the entry or the kernels of a target reach."""
        unit = nodes.Unit(state.target)
        roots = [self.entry_refs] if state.index < 0 else list(state.kernels)
        roots += [s for s, i in state.by_symbol.items() if i.fn.export and i.function is not None and state.index < 0]
        if state.archived:
            roots.append(TARGETS_TABLE)  # the archive reads it
        work = [root for root in roots if root]
        seen: set[str] = set()
        while work:
            symbol = work.pop()
            if symbol in seen:
                continue
            seen.add(symbol)
            instance = state.by_symbol.get(symbol)
            if symbol in state.archived and (instance is None or instance.archived):
                unit.functions[symbol] = state.archived[symbol]
            elif symbol in state.extra:
                function, refs = state.extra[symbol]
                unit.functions[symbol] = function
                work += refs
            elif instance is not None:
                if instance.kept:  # perhaps only another kept body refers to it
                    self.elaborate_instance(instance)
                if instance.function is not None:
                    unit.functions[symbol] = instance.function
                    work += instance.refs
            elif symbol in self.globals:
                item = self.globals[symbol]
                if symbol in state.archived_variables:
                    item = replace(item, linkage="external", content=None)
                unit.globals[symbol] = item
                if isinstance(item.content, nodes.Const):
                    work += walk.addresses_of(item.content.value)
            else:
                kept = self.recall(state, symbol)
                if kept is not None:
                    unit.functions[symbol] = kept[0]
                    work += kept[1]
        unit.kernels = tuple(state.kernels[s] for s in sorted(state.kernels))
        return unit


def _numbered(symbol: str, taken: Container[str]) -> str:
    """Return a symbol that is not taken: this one with a number."""
    number = 2
    while f"{symbol}_{number}" in taken:
        number += 1
    return f"{symbol}_{number}"
