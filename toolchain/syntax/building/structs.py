"""Structs, extensions, traits, aliases and decorators: each method stands below its production."""

from itertools import pairwise
from typing import TypeAlias

from ktc.syntax import ast
from ktc.syntax.building.base import BaseBuilder, Kids, State
from ktc.syntax.building.declarations import Block, conditions, conjunction, declared, flattened

_FILE_SCOPE = (
    ast.FunctionDecl, ast.StructDecl, ast.TraitDecl, ast.Alias, ast.Import, ast.FromImport, ast.StaticAssert, ast.Pass,
)  # fmt: skip

_Names: TypeAlias = "tuple[int | _Names, ...]"
"""Tokens of names, as they stand in brackets."""


class StructBuilder(BaseBuilder):
    """Makes the nodes of structs and traits, of their members and their decorators."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.unpacked = 0
        """How many values were unpacked into aliases, for the names of these values."""

    # "struct" NAME params bases wheres ":" block
    def struct(self, kids: Kids, start: int, end: int) -> ast.StructDecl:
        name, params, traits, where, block = kids
        self.check_types(params)
        doc, body = declared(block)
        self._check_fields(body)
        self.claim_methods(body)
        at = self.token_starts[name]
        where = (*conditions(params), *where)
        return ast.StructDecl(start, end, self.word(name), at, params, traits, where, body, (), doc)

    # expr "where" expr
    def conditional_trait(self, kids: Kids, start: int, end: int) -> ast.ConditionalTrait:
        if not self.is_2026:
            self.refuse(start, end, "a trait with a condition", "leave the condition out")
        return ast.ConditionalTrait(start, end, kids[0], kids[1])

    opt_base_list = BaseBuilder.as_tuple

    def _check_fields(self, body: Block) -> None:
        """Only declarations stand in a struct, and its fields have types."""
        self._check_aliases(body)
        for item in body:
            if isinstance(item, ast.VarDecl) and item.kind == "var":
                if not self.text.startswith("var", item.start):
                    self.wrong(item.start, item.end, "a field of a struct starts with 'var'", "write 'var' before it")
                elif item.type is None:
                    self.wrong(item.start, item.end, "a field of a struct needs a type")
                elif item.value is not None:
                    help = "give it its value in '__init__'"
                    self.wrong(item.value.start, item.value.end, "a field of a struct has no initial value", help)
            elif not isinstance(item, (ast.FunctionDecl, ast.Alias, ast.Pass, ast.StaticAssert)):
                message = "only fields ('var'), methods and aliases are allowed in a struct"
                target = item.targets[0] if isinstance(item, ast.Assign) else None
                name = target.id if isinstance(target, ast.Name) else ""
                help = (
                    f"write 'var {name}: …' and give it its value in '__init__', or 'alias {name} = …'" if name else ""
                )
                self.wrong(item.start, item.end, message, help)

    def _check_aliases(self, body: Block) -> None:
        """Aliases of a struct or a trait have one name each."""
        for item in body:
            if isinstance(item, ast.Alias) and item.is_hidden:
                self.wrong(item.start, item.end, "a member alias has one name", "write an alias for each name")

    # _stmt*
    def file(self, kids: Kids, start: int, end: int) -> ast.Module:
        doc, body = declared(flattened(kids))
        body = self._extended(body)
        for item in body:
            self._check_file_scope(item)
        self.check_receivers()
        for bound in self.bounds.values():
            self.wrong(bound.start, bound.end, f"'{bound.convention}' declares a name only on the left of '='")
        for alias in self.valueless.values():
            self.wrong(alias.start, alias.end, f"alias '{alias.name}' needs a value", "write '=' and its value")
        return ast.Module(0, len(self.text), body, doc)

    def _check_file_scope(self, item: ast.Node) -> None:
        """Only declarations stand at file scope."""
        if isinstance(item, ast.VarDecl):
            help = "use 'alias' for a constant, or declare the variable inside a function"
            self.wrong(item.start, item.end, "global variables are not supported", help)
        elif not isinstance(item, _FILE_SCOPE):
            end = min(item.end, (self.text + "\n").index("\n", item.start))
            help = "put it into a function, for example 'def main():'"
            if self.text.startswith(("if __name__", "main()"), item.start):
                help = "leave it out: a program starts at 'def main():'"
            what = "expressions" if isinstance(item, ast.ExprStmt) else "statements"
            self.wrong(item.start, end, f"{what} are not supported at file scope", help)

    # "__extension" NAME bases ":" block
    def extension(self, kids: Kids, start: int, end: int) -> ast.Extension:
        name, traits, block = kids
        body = declared(block)[1]
        self.claim_methods(body)
        for item in body:
            if not isinstance(item, (ast.FunctionDecl, ast.Alias, ast.Pass, ast.StaticAssert)):
                self.wrong(item.start, item.end, "only methods and aliases are allowed in an extension")
        return ast.Extension(start, end, self.word(name), self.token_starts[name], traits, body)

    def _extended(self, body: Block) -> Block:
        """Give the members of extensions to their structs, which stand in the same file."""
        if not any(isinstance(item, ast.Extension) for item in body):
            return body
        structs = {item.name: item for item in body if isinstance(item, ast.StructDecl)}
        for item in body:
            if not isinstance(item, ast.Extension):
                continue
            struct = structs.get(item.name)
            if struct is None:
                at = item.name_start
                help = "an extension adds to a struct that is declared in the same file"
                self.wrong(at, at + len(item.name), f"there is no struct '{item.name}' here", help)
                continue
            struct.traits += item.traits
            struct.body += item.body
        return tuple(item for item in body if not isinstance(item, ast.Extension))

    # "trait" NAME params bases ":" block
    def trait(self, kids: Kids, start: int, end: int) -> ast.TraitDecl:
        name, params, traits, block = kids
        self.check_types(params)
        doc, body = declared(block)
        self._check_aliases(body)
        self.claim_methods(body)
        body = tuple([self._required(item) for item in body])
        for item in body:
            if isinstance(item, ast.Alias):
                self.valueless.pop(item.start, None)
            elif not isinstance(item, (ast.FunctionDecl, ast.Pass)):
                self.wrong(item.start, item.end, "only methods and aliases are allowed in a trait", _of_traits(item))
        return ast.TraitDecl(start, end, self.word(name), self.token_starts[name], params, traits, body, (), doc)

    def _required(self, item: ast.Node) -> ast.Node:
        """Return the item of a trait; a method whose body is `...` or `pass` loses it."""
        if (
            isinstance(item, ast.FunctionDecl)
            and item.body
            and len(item.body) == 1
            and isinstance(item.body[0], ast.Pass)
        ):
            only_passes = self.text[item.body[0].start : item.body[0].end] == "pass"
            return item if only_passes and self.is_2026 else item.as_requirement(only_passes)
        return item

    # ("alias" | "comptime") NAME params opt_type opt_value
    def alias(self, kids: Kids, start: int, end: int) -> ast.Alias:
        self._check_word(start)
        name, params, type_, where, value = kids
        self.check_types(params)
        if where and params:  # its conditions stand beside its parameters
            params[-1].where = conjunction((*conditions(params[-1:]), *where))
        node = ast.Alias(start, end, self.word(name), self.token_starts[name], params, type_, value)
        if value is None:
            self.valueless[start] = node
        return node

    # ("alias" | "comptime") alias_names "=" exprs
    def unpacked_alias(self, kids: Kids, start: int, end: int) -> tuple[ast.Stmt, ...]:
        """Return a hidden alias of the whole value, and for each name one of an item of it."""
        self._check_word(start)
        names, value = kids
        names = names[0] if len(names) == 1 else names
        self.unpacked += 1
        hidden = ast.Alias(start, end, f"_unpacked {self.unpacked}", start, (), None, value)
        return (hidden, *self._unpacked(names, ast.Name(start, end, hidden.name)))

    def _check_word(self, start: int) -> None:
        if self.is_2026 and self.text.startswith("alias", start):
            self.refuse(start, start + len("alias"), "'alias'", "write 'comptime'")

    alias_names = BaseBuilder.as_tuple
    alias_group = BaseBuilder.as_tuple

    def _unpacked(self, names: _Names, value: ast.Expr) -> list[ast.Stmt]:
        at, end = value.start, value.end
        count = ast.Call(at, end, ast.Attribute(at, end, value, "__len__", at), (), ())
        equal = ast.Compare(at, end, count, ("==",), (ast.IntLit(at, end, len(names)),))
        message = f"the value is no tuple of {len(names)} items"
        made: list[ast.Stmt] = [ast.StaticAssert(at, end, equal, ast.StrLit(at, end, message))]
        for place, name in enumerate(names):
            item = ast.Subscript(at, end, value, (ast.IntLit(at, end, place),), ())
            if isinstance(name, tuple):
                made += self._unpacked(name, item)
            elif self.word(name) != "_":
                first, last = self.token_starts[name], self.token_ends[name]
                made.append(ast.Alias(first, last, self.word(name), first, (), None, item))
        return made

    # decorator+ (function | struct | trait | if_stmt | for_stmt | alias)
    def decorated(self, kids: Kids, start: int, end: int) -> object:
        decorators, node = tuple(kids[:-1]), kids[-1]
        for decorator, following in pairwise(kids):
            if "\n" not in self.text[decorator.end : following.start]:
                self.wrong(decorator.start, decorator.end, "a decorator must be on a line of its own")
        if isinstance(node, (ast.FunctionDecl, ast.StructDecl, ast.TraitDecl)):
            node.decorators = decorators
        elif isinstance(node, (ast.If, ast.For)):
            if self.is_2026:
                word, first = ("if" if isinstance(node, ast.If) else "for"), decorators[0]
                self.refuse(first.start, first.end, "'@parameter'", f"write 'comptime {word}'")
            for decorator in decorators:
                if not (isinstance(decorator.value, ast.Name) and decorator.value.id == "parameter"):
                    self.wrong(decorator.start, decorator.end, "only '@parameter' is allowed before 'if' and 'for'")
            self.at_compile_time(node)
        return node

    # "@" postfix _NEWLINE?
    def decorator(self, kids: Kids, start: int, end: int) -> ast.Decorator:
        return ast.Decorator(start, end, kids[0])


def _of_traits(item: ast.Node) -> str:
    """Return the help for a field in a trait."""
    name = item.target.id if isinstance(item, ast.VarDecl) and isinstance(item.target, ast.Name) else ""
    return f"structs have fields; let the trait ask for a method: 'fn {name}(self) -> …: ...'" if name else ""
