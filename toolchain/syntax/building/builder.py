"""Rules to nodes: `Builder` makes the tree while the parser runs; here are statements and imports.

The tree that comes out is complete; what the grammar lets through and the language does not is in `errors`.
"""

from collections.abc import Callable
from typing import Any

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.building.base import BaseBuilder, Kids, State
from ktc.syntax.building.declarations import BETWEEN, Block, DeclarationBuilder, flattened
from ktc.syntax.building.expressions import ExpressionBuilder
from ktc.syntax.building.structs import StructBuilder
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.lexing.lexer import Tokens

MAX_CLAUSES = 500  # each `elif` stands inside the one before
_ASSIGNABLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


class Builder:
    """Gives each rule of the grammar the method that makes its node.

    Args:
        text, line_ends, tokens, field, edition: as in `State`.
    """

    def __init__(
        self, text: str, line_ends: dict[int, str], tokens: Tokens, field: Callable[[int, int], ast.Expr],
        edition: Edition,
    ) -> None:  # fmt: skip
        state = State(text, line_ends, tokens, field, edition)
        self.errors = state.errors
        self._builders: tuple[BaseBuilder, ...] = (
            ExpressionBuilder(state), DeclarationBuilder(state), StructBuilder(state), StatementBuilder(state),
        )  # fmt: skip

    def rules(self, rows: list[tuple[int, int, int, str, tuple[tuple[int, bool], ...]]]) -> list[Any]:
        """Return the rows of `Tables.rules` with methods instead of their names."""
        return [(a, b, kind, self._method(name), children) for a, b, kind, name, children in rows]

    def _method(self, name: str) -> object:
        found = (getattr(builder, name, None) for builder in self._builders)
        return next((method for method in found if method is not None), None)


class StatementBuilder(BaseBuilder):
    """Makes the nodes of statements and imports."""

    # _stmt+
    def block(self, kids: Kids, start: int, end: int) -> Block:
        return flattened(kids)

    opt_else = BaseBuilder.optional_tuple
    opt_finally = BaseBuilder.optional_tuple
    target = BaseBuilder.first

    # ---- simple statements ----

    # exprs
    def expr_stmt(self, kids: Kids, start: int, end: int) -> object:
        if isinstance(kids[0], ast.EllipsisLit):
            return ast.Pass(start, end)
        return ast.ExprStmt(start, end, kids[0])

    # (exprs "=")+ exprs
    def assign(self, kids: Kids, start: int, end: int) -> "ast.Assign | ast.VarDecl":
        for target in kids[:-1]:
            self.check_assignable(target)
        first = kids[0]
        if len(kids) == 2 and isinstance(first, ast.Bound) and isinstance(first.target, (ast.Name, ast.TupleLit)):
            return ast.VarDecl(start, end, first.convention, first.target, None, kids[-1])
        return ast.Assign(start, end, tuple(kids[:-1]), None, kids[-1])

    def check_assignable(self, target: ast.Expr) -> None:
        """A place, or a tuple of places, stands left of `=`."""
        if isinstance(target, (ast.TupleLit, ast.ListLit)):
            for item in target.items:
                self.check_assignable(item)
        elif isinstance(target, ast.Bound):
            self.bounds.pop(target.start, None)
        elif not isinstance(target, _ASSIGNABLE):
            help = "write '==' to compare" if isinstance(target, (ast.BoolOp, ast.Compare)) else ""
            self.wrong(target.start, target.end, "this cannot be assigned to", help)

    # postfix ":" expr opt_value
    def annotated(self, kids: Kids, start: int, end: int) -> object:
        target, type_, value = kids
        if value is None and isinstance(target, ast.Name):
            return ast.VarDecl(start, end, "var", target, type_, None)
        self.check_assignable(target)
        if value is None:
            return ast.Pass(start, end)  # `self.x: Int` of a place that is there says nothing
        return ast.Assign(start, end, (target,), type_, value)

    # exprs AUGMENTED exprs
    def augmented(self, kids: Kids, start: int, end: int) -> ast.AugAssign:
        target, op, value = kids
        if not isinstance(target, _ASSIGNABLE):
            self.wrong(target.start, target.end, "this cannot be assigned to")
        return ast.AugAssign(start, end, target, self.word(op)[:-1], value)

    # VAR pattern opt_type var_values
    def var_decl(self, kids: Kids, start: int, end: int) -> ast.VarDecl:
        _, target, type_, values = kids
        self.check_target(target, "what 'var' declares")
        self.check_no_trait(type_)
        if type_ is not None and isinstance(target, ast.TupleLit) and not isinstance(type_, ast.TupleLit):
            self.wrong(type_.start, type_.end, "one type for several variables", "declare them one by one")
        value: Any = values[-1] if values else None
        for other in reversed(values[:-1]):  # `var x = y = 1`
            if isinstance(other, ast.Name):
                value = ast.Walrus(other.start, end, other.id, value)
            else:
                self.wrong(other.start, other.end, "only a name is allowed between two '=' after 'var'")
        return ast.VarDecl(start, end, "var", target, type_, value)

    # VAR REF targets opt_type "=" exprs
    def var_ref_decl(self, kids: Kids, start: int, end: int) -> ast.VarDecl:
        return self.ref_decl(kids[1:], start, end)

    # ("=" exprs)*
    def var_values(self, kids: Kids, _start: int, _end: int) -> Kids:
        return kids

    # REF targets opt_type "=" exprs
    def ref_decl(self, kids: Kids, start: int, end: int) -> ast.VarDecl:
        _, target, type_, value = kids
        self.check_target(target, "what 'ref' declares")
        return ast.VarDecl(start, end, "ref", target, type_, value)

    # ("comptime" "assert" | "__comptime_assert") expr ("," expr)?
    def static_assert(self, kids: Kids, start: int, end: int) -> ast.StaticAssert:
        if len(kids) == 1 and isinstance(kids[0], ast.TupleLit) and len(kids[0].items) == 2:
            kids = list(kids[0].items)  # written like a call: `comptime assert(c, m)`
        return ast.StaticAssert(start, end, kids[0], kids[1] if len(kids) == 2 else None)

    # "assert" expr ("," expr)?
    def assert_stmt(self, kids: Kids, start: int, end: int) -> ast.ExprStmt:
        """Return the call of `debug_assert`: both are checked in the same builds."""
        if not self.is_2026:
            help = "call 'debug_assert', or write 'comptime assert' for compile time"
            self.refuse(start, start + len("assert"), "'assert'", help)
        if len(kids) == 1 and isinstance(kids[0], ast.TupleLit) and len(kids[0].items) == 2:
            kids = list(kids[0].items)
        return ast.ExprStmt(start, end, ast.Call(start, end, ast.Name(start, end, "debug_assert"), tuple(kids), ()))

    def return_none(self, kids: Kids, start: int, end: int) -> ast.Return:
        return ast.Return(start, end, None)

    def return_value(self, kids: Kids, start: int, end: int) -> ast.Return:
        return ast.Return(start, end, kids[0])

    def raise_again(self, kids: Kids, start: int, end: int) -> ast.Raise:
        return ast.Raise(start, end, None)

    def raise_value(self, kids: Kids, start: int, end: int) -> ast.Raise:
        return ast.Raise(start, end, kids[0])

    def break_stmt(self, kids: Kids, start: int, end: int) -> ast.Break:
        return ast.Break(start, end)

    def continue_stmt(self, kids: Kids, start: int, end: int) -> ast.Continue:
        return ast.Continue(start, end)

    def pass_stmt(self, kids: Kids, start: int, end: int) -> ast.Pass:
        return ast.Pass(start, end)

    # ---- compound statements ----

    # "if" condition ":" block elif* opt_else
    def if_stmt(self, kids: Kids, start: int, end: int) -> ast.If:
        condition, body, *elifs, orelse = kids
        if len(elifs) > MAX_CLAUSES:
            message = f"this 'if' has more than {MAX_CLAUSES} 'elif' clauses"
            self.errors.append(LexError(Code.NESTING_LIMIT, start, start + 2, message))
            elifs = []
        for at, clause, block in reversed(elifs):
            orelse = (ast.If(at, end, clause, block, orelse, False),)
        return ast.If(start, end, condition, body, orelse, False)

    # "elif" condition ":" block
    def elif_(self, kids: Kids, start: int, end: int) -> tuple[int, ast.Expr, tuple[ast.Stmt, ...]]:
        return start, kids[0], kids[1]

    # "while" condition ":" block opt_else
    def while_stmt(self, kids: Kids, start: int, end: int) -> ast.While:
        return ast.While(start, end, kids[0], kids[1], kids[2])

    # "for" binding "in" exprs ":" block opt_else
    def for_stmt(self, kids: Kids, start: int, end: int) -> ast.For:
        (convention, target), iterable, body, orelse = kids
        return ast.For(start, end, target, convention, iterable, body, orelse, False)

    # "comptime" if_stmt
    def comptime_if(self, kids: Kids, start: int, end: int) -> object:
        self.at_compile_time(kids[0])
        kids[0].start = start
        return kids[0]

    comptime_for = comptime_if

    # "try" ":" block opt_except opt_else opt_finally
    def try_stmt(self, kids: Kids, start: int, end: int) -> ast.Try:
        body, handler, orelse, final = kids
        if handler is None and not final:
            found = BETWEEN.match(self.text, end)
            at = found.end() if found is not None and found.end() < len(self.text) else start
            line = self.text.count("\n", 0, start) + 1
            message = f"the 'try' of line {line} needs an 'except' or a 'finally'"
            self.wrong(at, at + 1, message, "write 'except e:' after its block")
        return ast.Try(start, end, body, handler, orelse, final)

    def except_none(self, kids: Kids, start: int, end: int) -> None:
        return None

    # "except" ":" block
    def except_plain(self, kids: Kids, start: int, end: int) -> ast.Handler:
        return ast.Handler(start, end, "", kids[0])

    # "except" NAME ":" block
    def except_name(self, kids: Kids, start: int, end: int) -> ast.Handler:
        return ast.Handler(start, end, self.word(kids[0]), kids[1])

    # "match" exprs ":" _NEWLINE _INDENT case+ _DEDENT
    def match_stmt(self, kids: Kids, start: int, end: int) -> ast.Match:
        return ast.Match(start, end, kids[0], tuple(kids[1:]))

    # "case" case_patterns case_guard ":" block
    def case(self, kids: Kids, start: int, end: int) -> ast.Case:
        pattern, guard, body = kids
        return ast.Case(start, end, pattern, guard, body)

    case_guard = BaseBuilder.optional

    # case_pattern ("|" case_pattern)*
    def case_patterns(self, kids: Kids, start: int, end: int) -> ast.CasePattern:
        parts = tuple(self._pattern(kid) for kid in kids)
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            if _binds(part):
                self.wrong(part.start, part.end, "an alternative of a pattern cannot declare a name")
        return ast.CasePattern(start, end, "or", parts=parts)

    def _pattern(self, kid: ast.Expr | ast.CasePattern) -> ast.CasePattern:
        if isinstance(kid, ast.CasePattern):
            return kid
        return ast.CasePattern(kid.start, kid.end, "equal", value=kid)

    # NAME | VAR NAME
    def case_name(self, kids: Kids, start: int, end: int) -> ast.CasePattern:
        name = self.word(kids[-1])
        return ast.CasePattern(start, end, "any" if name == "_" else "bind", name)

    case_var = case_name

    # NAME ("." NAME)+
    def case_dotted(self, kids: Kids, start: int, end: int) -> ast.Expr:
        node: ast.Expr = ast.Name(start, self.token_ends[kids[0]], self.word(kids[0]))
        for token in kids[1:]:
            node = ast.Attribute(start, self.token_ends[token], node, self.word(token), self.token_starts[token])
        return node

    # EQUAL bit_xor
    def case_equal(self, kids: Kids, start: int, end: int) -> ast.CasePattern:
        return ast.CasePattern(start, end, "equal", value=kids[-1])

    # MINUS (INT | FLOAT)
    def case_negative(self, kids: Kids, start: int, end: int) -> ast.CasePattern:
        self.wrong(start, end, "an expression is no pattern", f"write '== {self.text[start:end]}' to compare with it")
        return ast.CasePattern(start, end, "any", "_")

    # "(" case_patterns ("," case_patterns)+ ","? ")"
    def case_tuple(self, kids: Kids, start: int, end: int) -> ast.CasePattern:
        return ast.CasePattern(start, end, "tuple", parts=tuple(kids))

    # "with" with_item ("," with_item)* ":" block
    def with_stmt(self, kids: Kids, start: int, end: int) -> ast.With:
        return ast.With(start, end, tuple(kids[:-1]), kids[-1])

    # expr ("as" NAME)?
    def with_item(self, kids: Kids, start: int, end: int) -> ast.WithItem:
        return ast.WithItem(start, end, kids[0], self.word(kids[1]) if len(kids) == 2 else "")

    # ---- imports ----

    # "import" import_name ("," import_name)*
    def import_stmt(self, kids: Kids, start: int, end: int) -> ast.Import:
        return ast.Import(start, end, tuple(kids))

    # origin ("as" NAME)?
    def import_name(self, kids: Kids, start: int, end: int) -> tuple[str, str]:
        (level, module), name = kids[0], self.word(kids[1]) if len(kids) == 2 else ""
        if level and module and self.is_2026:
            package, _, last = module.rpartition(".")
            help = f"write 'from {'.' * level}{package} import {last}'"
            self.refuse(start, end, "'import' of a relative name", help)
        if level and not module:
            self.wrong(start, end, "'import' needs the name of a module after the dots", "write 'from . import name'")
        return "." * level + module, name

    # NAME ("." NAME)*
    def dotted(self, kids: Kids, start: int, end: int) -> str:
        return ".".join(self.word(token) for token in kids)

    # "from" origin "import" _import_list
    def from_stmt(self, kids: Kids, start: int, end: int) -> ast.FromImport:
        (level, module), *names = kids
        return ast.FromImport(start, end, level, module, tuple(names))

    # dotted | dots dotted | dots
    def origin(self, kids: Kids, start: int, end: int) -> tuple[int, str]:
        level = kids[0] if isinstance(kids[0], int) else 0
        return level, kids[-1] if isinstance(kids[-1], str) else ""

    # (DOT | ELLIPSIS)+
    def dots(self, kids: Kids, start: int, end: int) -> int:
        return sum(len(self.word(token)) for token in kids)

    def import_all(self, kids: Kids, start: int, end: int) -> tuple[str, str]:
        return "*", ""

    # NAME ("as" NAME)?
    def from_name(self, kids: Kids, start: int, end: int) -> tuple[str, str]:
        return self.word(kids[0]), self.word(kids[1]) if len(kids) == 2 else ""


def _binds(pattern: ast.CasePattern) -> bool:
    """Return whether a pattern declares a name."""
    return pattern.kind == "bind" or any(map(_binds, pattern.parts))
