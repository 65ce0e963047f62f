"""Facts from the elaboration of a text in edition 2025: the function of each call, types, places where errors leave.

Input: the elaborator's calls of `Recorder`. Output: facts by the place in the text, for each file of the user.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ktc.diag.source import Span
from ktc.elaborate.builder.error_trace import ErrorTarget
from ktc.elaborate.model.declarations import FunctionInfo, StructInfo, Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.instance import Candidate
from ktc.elaborate.model.types import ConstValue, FunctionValue, StructTy
from ktc.elaborate.model.values import Arg, Place, RValue, Var
from ktc.elaborate.types import type_printer, well_known
from ktc.syntax import ast

Place_ = tuple[int, int]
Function = tuple[str, int]
"""A function: the path of its file, and where it starts."""

_STOPS = ("next", "__next__")
"""Functions of the library that raise `StopIteration` in edition 2026."""
_WRITTEN = re.compile(r"[\w.\[\], =-]+")
_UNWRITABLE = re.compile(r"\bOrigin\[|Literal|\b_\w")
_RENAMED = (
    ("InlineArray[", "Array["), ("StringSlice[StaticConstantOrigin]", "StaticString"), ("StringSlice[", "StringSpan["),
    ("UnsafePointer[", "Pointer["), ("size=", "length="),
)  # fmt: skip


@dataclass(slots=True)
class Facts:
    """Facts about one text.

    Attributes:
        calls: by the place of a call, an operator or a subscript: the functions that it means, `List.append`.
        hidden: the places of calls of functions that only texts of edition 2025 see.
        parameters: by the place of a call, the types of its function's parameters, "" where one is a type itself.
        types: by the place of an expression: the types that it has in the instances, as they are written.
        structs: the same, only the names of their structs.
        variables: types of variables by where their names stand.
        closures: of nested functions, by where they start.
        named: functions by the places of their names.
        renamed: by the place of a call: the old and the new name of its method.
        changed: places of arguments that a call may change; changing: of calls that may change their receiver.
        elaborated: where functions start of which a body was elaborated.
    """

    calls: dict[Place_, set[str]] = field(default_factory=dict)
    hidden: dict[Place_, set[str]] = field(default_factory=dict)
    implicit: dict[Place_, set[str]] = field(default_factory=dict)
    parameters: dict[Place_, list[str]] = field(default_factory=dict)
    types: dict[Place_, set[str]] = field(default_factory=dict)
    structs: dict[Place_, set[str]] = field(default_factory=dict)
    variables: dict[int, set[str]] = field(default_factory=dict)
    closures: dict[int, dict[str, str]] = field(default_factory=dict)
    elaborated: set[int] = field(default_factory=set)
    named: dict[Place_, Function] = field(default_factory=dict)
    renamed: dict[Place_, dict[str, str]] = field(default_factory=dict)
    library: dict[Place_, set[str]] = field(default_factory=dict)
    changed: set[Place_] = field(default_factory=set)
    changing: set[Place_] = field(default_factory=set)

    def meant(self, node: ast.Node) -> set[str]:
        """Return the functions that a call means; empty if that is not known."""
        return self.calls.get((node.start, node.end), set())

    def type_of(self, node: ast.Node) -> str:
        """Return the one type of an expression; "" if it has several, or none is known."""
        found = self.types.get((node.start, node.end), set())
        return next(iter(found)) if len(found) == 1 else ""

    def struct_of(self, node: ast.Node) -> str:
        """Return the one struct of an expression's types; "" if there are several, or none is known."""
        found = self.structs.get((node.start, node.end), set())
        return next(iter(found)) if len(found) == 1 else ""


@dataclass(slots=True)
class Recorder:
    """Is called by the elaborator for every expression, statement, call, and error that leaves a function.

    Attributes:
        files: the facts of each file.
        raising: functions of edition 2025 that an error leaves for sure.
        declared: functions that say 'raises'.
        raised_through: by function, the functions whose errors it lets through.
    """

    files: dict[str, Facts] = field(default_factory=dict)
    raising: set[Function] = field(default_factory=set)
    raised_through: dict[Function, set[Function]] = field(default_factory=dict)
    declared: set[Function] = field(default_factory=set)
    _stopping: set[Function] = field(default_factory=set)
    _calls: dict[Function, set[Function]] = field(default_factory=dict)
    _leaving: list[tuple[Function, str, Place_]] = field(default_factory=list)
    _callees: dict[tuple[str, Place_], set[Function]] = field(default_factory=dict)
    _nested: list[tuple[Body, FunctionInfo]] = field(default_factory=list)

    def __call__(self, body: Body, node: object, value: object) -> None:
        if body.frame.module.is_library:
            return
        path = body.frame.module.source.path
        facts = self.files.setdefault(path, Facts())
        instance = body.frame.outer_instance or body.frame.instance
        if instance is not None and instance.fn.module is body.frame.module:
            facts.elaborated.add(instance.fn.node.start)
        if isinstance(node, Span):
            if node.source.path == path:
                self._at(body, facts, node, value)
        elif isinstance(node, ErrorTarget):
            if instance is not None and not node.label:
                self.raising.add((instance.fn.module.source.path, instance.fn.node.start))
        elif isinstance(node, ast.FunctionDecl):
            found = body.frame.scope.names.get(node.name)
            for fn in getattr(found, "functions", ()):
                if fn.node is node:
                    self._nested.append((body, fn))
        elif isinstance(node, ast.Node):
            self._expression(body, facts, node, value)

    def _at(self, body: Body, facts: Facts, span: Span, value: object) -> None:
        place = span.start, span.end
        if isinstance(value, Candidate):
            fn = value.instance.fn
            name = f"{fn.owner.name}.{fn.node.name}" if fn.owner is not None else fn.node.name
            facts.calls.setdefault(place, set()).add(name)
            if isinstance(fn.owner, StructInfo):
                for new, old in fn.owner.names_2026.items():
                    if old == fn.node.name:
                        facts.renamed.setdefault(place, {})[old] = new
            if fn.edition is not None:
                facts.hidden.setdefault(place, set()).add(name)
                if fn.implicit and value.instance.self_ty is not None:
                    kind = written_type(body.elab, value.instance.self_ty)
                    facts.implicit.setdefault(place, set()).add(kind)
            self._mutation(facts, place, value)
            if fn.module.is_library:
                facts.library.setdefault(place, set()).add(fn.node.name)
                instance = body.frame.outer_instance or body.frame.instance
                written = span.source.text[span.start : span.end]
                if fn.node.name in _STOPS and "next" in written and not body.flow.handlers and instance is not None:
                    self._stopping.add((instance.fn.module.source.path, instance.fn.node.start))
            if fn.node.raises:
                self.declared.add((fn.module.source.path, fn.node.start))
            if not fn.module.is_library:
                facts.parameters[place] = [
                    written_type(body.elab, one.ty) if isinstance(one, ConstValue) else ""
                    for one in value.instance.param_values
                ]
                own = (fn.module.source.path, fn.node.start)
                self._callees.setdefault((span.source.path, place), set()).add(own)
                instance = body.frame.outer_instance or body.frame.instance
                if instance is not None and not body.flow.handlers:
                    caller = (instance.fn.module.source.path, instance.fn.node.start)
                    self._calls.setdefault(caller, set()).add(own)
        elif isinstance(value, ErrorTarget) and not value.label:
            instance = body.frame.outer_instance or body.frame.instance
            if instance is not None:
                own = (instance.fn.module.source.path, instance.fn.node.start)
                self._leaving.append((own, span.source.path, place))

    def _mutation(self, facts: Facts, place: Place_, value: Candidate) -> None:
        """Note which arguments a call may change."""
        for index, (sig, slot) in enumerate(zip(value.instance.signature.args, value.slots, strict=True)):
            if sig.convention in ("mut", "ref") and isinstance(slot, Arg):
                spot = slot.span.start, slot.span.end
                if spot != place:
                    facts.changed.add(spot)
                elif index == 0:
                    facts.changing.add(place)

    def _expression(self, body: Body, facts: Facts, node: ast.Node, value: object) -> None:
        place = node.start, node.end
        self._receiver(body, facts, node)
        ty = value.ty if isinstance(value, (RValue, Place, ConstValue)) else None
        if ty is not None:
            shown = well_known.materialized(body.elab, ty, False)
            facts.types.setdefault(place, set()).add(written_type(body.elab, shown))
            facts.structs.setdefault(place, set()).add(_struct(ty))
        elif isinstance(value, FunctionValue) and len(value.overloads.functions) == 1:
            fn = value.overloads.functions[0]
            facts.named[place] = (fn.module.source.path, fn.node.start)
        if isinstance(node, ast.Walrus):
            named = _find(body, node.name)
            if isinstance(named, Var):
                kind = well_known.materialized(body.elab, named.ty, False)
                facts.variables.setdefault(node.start, set()).add(written_type(body.elab, kind))
        if isinstance(node, ast.VarDecl | ast.Assign | ast.For):
            targets: Iterable[ast.Expr] = node.targets if isinstance(node, ast.Assign) else (node.target,)
            for target in targets:
                for one in target.items if isinstance(target, ast.TupleLit) else (target,):
                    found = _find(body, one.id) if isinstance(one, ast.Name) else None
                    if isinstance(found, Var):
                        kind = well_known.materialized(body.elab, found.ty, False)
                        facts.variables.setdefault(one.start, set()).add(written_type(body.elab, kind))

    def _receiver(self, body: Body, facts: Facts, node: ast.Node) -> None:
        """Note the type of a variable whose member or item is asked for: it is no expression of its own."""
        func = node.func if isinstance(node, ast.Call) else node
        while isinstance(func, ast.Subscript | ast.Attribute):
            base = func.base if isinstance(func, ast.Subscript) else func.value
            found = _find(body, base.id) if isinstance(base, ast.Name) else None
            if isinstance(found, Var):
                kind = well_known.materialized(body.elab, found.ty, False)
                facts.structs.setdefault((base.start, base.end), set()).add(_struct(found.ty))
                facts.types.setdefault((base.start, base.end), set()).add(written_type(body.elab, kind))
            func = base

    def finish(self) -> None:
        """Collect the facts that are complete only at the end: captures, and which functions raise."""
        for body, fn in self._nested:
            facts = self.files[fn.module.source.path]
            own = facts.closures.setdefault(fn.node.start, {})
            for one in body.captures.closures.get(fn, ()):
                if isinstance(one, FunctionInfo):
                    own[one.name] = "function"
                elif isinstance(one, Var):
                    own[one.name] = written_type(body.elab, well_known.materialized(body.elab, one.ty, False))
        for caller, path, place in self._leaving:
            through = self._callees.get((path, place))
            if through:
                self.raised_through.setdefault(caller, set()).update(through)
            else:
                self.raising.add(caller)
        while True:
            more = {one for one, called in self._calls.items() if called & self._stopping} - self._stopping
            if not more:
                break
            self._stopping |= more
        self.raising |= self._stopping

    def raises(self, raising: set[Function]) -> set[Function]:
        """Return the functions that may raise, if those of a set do and no other one says so."""
        found = {*self.raising, *self.declared, *raising}
        while True:
            more = {one for one, through in self.raised_through.items() if through & found} - found
            if not more:
                return found
            found |= more


def _find(body: Body, name: str) -> object:
    for scope in body.frame.scope.chain():
        if name in scope.names:
            return scope.names[name]
    return None


def _struct(ty: Ty) -> str:
    return ty.info.name if isinstance(ty, StructTy) else ""


def written_type(elab: Elaboration, ty: object) -> str:
    """Return a type as it is written in edition 2026; "" for one that no source can write."""
    text = type_printer.type_name(elab, ty)
    for old, new in _RENAMED:
        text = text.replace(old, new)
    return text if _WRITTEN.fullmatch(text) and not _UNWRITABLE.search(text) else ""
