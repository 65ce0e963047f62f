"""Variables of one function: unused ones, those without a value, and those that hide others.

Input: a function. Output: warnings in the sink. A name that is read anywhere in the function, in a nested one too,
counts as used; names that begin with `_` are meant to be unused.
"""

from dataclasses import field

from ktc.base.records import entity
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Severity, Sink
from ktc.diag.source import Span
from ktc.syntax import ast
from ktc.syntax.tree import Tree

_WORDS = {"loop": "loop variable", "error": "the error", "var": "variable"}


@entity
class _Declared:
    """Where a name was declared first, as what, and whether anything gave it a value."""

    span: Span
    kind: str
    assigned: bool


@entity
class _Block:
    """Names that a block declares, and where."""

    names: dict[str, Span] = field(default_factory=dict)


class FunctionNames:
    """The look at one function and those nested in it."""

    def __init__(
        self,
        module: ast.Module,
        function: ast.FunctionDecl,
        tree: Tree,
        sink: Sink,
        outer: frozenset[str] = frozenset(),
    ) -> None:
        self.module, self.function, self.tree, self.sink, self.outer = module, function, tree, sink, outer
        self.declared: dict[str, _Declared] = {}
        self.used: set[str] = set()
        self.nested: list[ast.FunctionDecl] = []
        self.arguments = {p.name for p in (*function.args, *function.params)}
        self.blocks = [_Block({p.name: self._at(p) for p in function.args})]

    def check(self) -> None:
        """Report what is odd."""
        self._block(self.function.body or (), False)
        for name, found in self.declared.items():
            if name not in self.used and not name.startswith("_"):
                self._unused(name, found)
        own = self.outer | self.arguments | frozenset(self.declared)
        for inner in self.nested:
            FunctionNames(self.module, inner, self.tree, self.sink, own).check()

    def _unused(self, name: str, found: _Declared) -> None:
        if not found.assigned:
            self._warn(Code.NEVER_ASSIGNED, found.span, f"variable '{name}' never gets a value", "remove it")
            return
        help = "write 'except:'" if found.kind == "error" else "write '_' in its place"
        self._warn(Code.UNUSED_VARIABLE, found.span, f"{_WORDS[found.kind]} '{name}' is never used", help)

    # ---- statements ----

    def _block(self, body: tuple[ast.Stmt, ...], inner: bool = True) -> None:
        if inner:
            self.blocks.append(_Block())
        for statement in body:
            self._statement(statement)
        if inner:
            self.blocks.pop()

    def _statement(self, node: ast.Stmt) -> None:
        match node:
            case ast.VarDecl(kind=kind, target=target, type=type_, value=value):
                self._read(type_, value)
                self._declare(target, "var" if kind == "var" else "ref", value is not None)
            case ast.Assign(targets=targets, type=type_, value=value):
                self._read(type_, value)
                for target in targets:
                    self._store(target)
            case ast.If():
                self._read(node.condition)
                self._block(node.body)
                self._block(node.orelse)
            case ast.While():
                self._read(node.condition)
                self._block(node.body)
                self._block(node.orelse)
            case ast.For():
                self._read(node.iter)
                self.blocks.append(_Block())
                kind = "ref" if node.comptime or node.convention == "ref" else "loop"
                self._declare(node.target, kind, True)
                self._block(node.body, False)
                self.blocks.pop()
                self._block(node.orelse)
            case ast.Try():
                self._try(node)
            case ast.With():
                self.blocks.append(_Block())
                for item in node.items:
                    self._read(item.value)
                    self.blocks[-1].names.setdefault(item.name, self._at(item))
                self._block(node.body, False)
                self.blocks.pop()
            case ast.FunctionDecl():
                self.nested.append(node)
                self._read(node)
            case _:
                self._read(node)

    def _try(self, node: ast.Try) -> None:
        self._block(node.body)
        if node.handler is not None:
            self.blocks.append(_Block())
            if node.handler.name:
                start = self.module.source.text.find(node.handler.name, node.handler.start + len("except"))
                span = Span(self.module.source, start, start + len(node.handler.name))
                self._name(node.handler.name, span, "error", True)
            self._block(node.handler.body, False)
            self.blocks.pop()
        self._block(node.orelse)
        self._block(node.final)

    # ---- names ----

    def _read(self, *nodes: ast.Node | None) -> None:
        """Note the names that expressions read; what a nested function stores to is read too."""
        for top in nodes:
            for node in self.tree.walk(top) if top is not None else ():
                if isinstance(node, ast.Name):
                    self.used.add(node.id)
                elif isinstance(node, ast.FunctionDecl) and node.captures:
                    self.used.update(one.name for one in node.captures)
                elif isinstance(node, ast.Walrus):
                    self._name(
                        node.name, Span(self.module.source, node.start, node.start + len(node.name)), "var", True
                    )

    def _store(self, target: ast.Expr) -> None:
        if isinstance(target, ast.TupleLit):
            for item in target.items:
                self._store(item)
        elif not isinstance(target, ast.Name):
            self._read(target)
        elif target.id in self.declared:
            found = self.declared[target.id]
            found.assigned = True
            if found.kind == "ref":
                self.used.add(target.id)
        elif target.id not in self.arguments and target.id not in self.outer:
            # declared for the whole function: it hides nothing
            self.declared[target.id] = _Declared(self._at(target), "var", True)
            self.blocks[0].names.setdefault(target.id, self._at(target))

    def _declare(self, target: ast.Expr, kind: str, assigned: bool) -> None:
        if isinstance(target, ast.TupleLit):
            for item in target.items:
                self._declare(item, kind, assigned)
        elif isinstance(target, ast.Name):
            self._name(target.id, self._at(target), kind, assigned)

    def _name(self, name: str, span: Span, kind: str, assigned: bool) -> None:
        if name == "_":
            return
        for block in self.blocks[:-1]:
            if name in block.names:
                text, notes = (
                    f"'{name}' hides another '{name}' of this function",
                    (Label(block.names[name], "declared here"),),
                )
                self._warn(Code.SHADOWING, span, text, "choose another name", notes)
                break
        self.blocks[-1].names[name] = span
        if kind == "ref":
            self.used.add(name)
        self.declared.setdefault(name, _Declared(span, kind, assigned))

    def _at(self, node: ast.Node) -> Span:
        return Span(self.module.source, node.start, node.end)

    def _warn(self, code: Code, span: Span, message: str, help: str, notes: tuple[Label, ...] = ()) -> None:
        self.sink.report(Diagnostic(code, span, message, help, notes, Severity.WARNING))
