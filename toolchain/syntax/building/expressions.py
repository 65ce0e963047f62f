"""Expressions: one method for each rule of the grammar's last section, the production above each."""

from collections.abc import Sequence
from typing import Any

from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.building.base import BaseBuilder, Kids
from ktc.syntax.lexing import literals
from ktc.syntax.lexing.lex_error import LexError


class ExpressionBuilder(BaseBuilder):
    """Makes the nodes of expressions."""

    # field: exprs
    field = BaseBuilder.first
    expr_list = BaseBuilder.as_tuple
    opt_expr = BaseBuilder.optional
    call_args = BaseBuilder.as_tuple
    sub_args = BaseBuilder.as_tuple
    pair = BaseBuilder.as_tuple
    comp_if = BaseBuilder.first

    # exprs: expr ("," expr)* trailing
    def exprs(self, kids: Kids, start: int, end: int) -> ast.Expr:
        if len(kids) == 2 and not kids[1]:
            alone: ast.Expr = kids[0]
            return alone
        return ast.TupleLit(start, end, tuple(kids[:-1]))

    # targets: target ("," target)* trailing
    targets = exprs

    def trailing_none(self, kids: Kids, start: int, end: int) -> bool:
        return False

    def trailing_comma(self, kids: Kids, start: int, end: int) -> bool:
        return True

    # NAME
    def name(self, kids: Kids, start: int, end: int) -> ast.Name:
        text = self.text[start:end]
        return ast.Name(start, end, text[1:-1] if text[0] == "`" else text)

    # INT
    def integer(self, kids: Kids, start: int, end: int) -> ast.IntLit:
        text = self.text[start:end].replace("_", "")
        if text[0] == "0" and text.isdigit() and int(text):
            help = (
                f"write '0o{text.lstrip('0')}' for an octal number" if not set(text) & set("89") else "leave the 0 out"
            )
            self.errors.append(LexError(Code.INVALID_LITERAL, start, end, "a number does not begin with 0", help))
        try:
            value = int(text, 0 if text[1:2] in ("x", "X", "o", "O", "b", "B") else 10)
        except ValueError:
            self.errors.append(LexError(Code.INVALID_LITERAL, start, end, f"'{self.text[start:end]}' is not a number"))
            value = 0
        return ast.IntLit(start, end, value)

    # FLOAT
    def floating(self, kids: Kids, start: int, end: int) -> ast.FloatLit:
        return ast.FloatLit(start, end, self.text[start:end].replace("_", ""))

    # STRING+
    def string(self, kids: Kids, start: int, end: int) -> ast.StrLit | ast.FString:
        parts: list[Any] = []
        formatted = False
        for token in kids:
            begin, stop = self.token_starts[token], self.token_ends[token]
            prefix, inner, inner_end = literals.split(self.text, begin, stop)
            content = literals.Content(self.text, self.line_ends, "r" in prefix, self.edition)
            try:
                if "f" in prefix or "t" in prefix:
                    formatted = True
                    found = literals.fstring(content, inner, inner_end, self.parse_field)
                    self._check_fields(found if "t" in prefix else ())
                    parts += found
                else:
                    parts.append(ast.StrLit(begin, stop, content.value(inner, inner_end)))
            except LexError as error:
                self.errors.append(error)
        if not formatted:
            return ast.StrLit(start, end, literals.joined(part.value for part in parts))
        return ast.FString(start, end, tuple(_joined(parts)))

    def _check_fields(self, parts: Sequence[ast.StrLit | ast.FField]) -> None:
        """The fields of a t-string have neither conversions nor specifications."""
        for part in parts:
            if isinstance(part, ast.FField) and (part.conversion or part.spec):
                help = f"write '{{repr({self.text[part.value.start : part.value.end]})}}'" if part.conversion else ""
                self.refuse(part.start, part.end, "the format of a field", help or "format the value before")

    def true(self, kids: Kids, start: int, end: int) -> ast.BoolLit:
        return ast.BoolLit(start, end, True)

    def false(self, kids: Kids, start: int, end: int) -> ast.BoolLit:
        return ast.BoolLit(start, end, False)

    def none(self, kids: Kids, start: int, end: int) -> ast.NoneLit:
        return ast.NoneLit(start, end)

    def ellipsis(self, kids: Kids, start: int, end: int) -> ast.EllipsisLit:
        return ast.EllipsisLit(start, end)

    # "(" ")" | "(" named_expr "," ")" | "(" named_expr ("," named_expr)+ ","? ")"
    def tuple_lit(self, kids: Kids, start: int, end: int) -> ast.TupleLit:
        return ast.TupleLit(start, end, tuple(kids))

    # "[" "]" | "[" named_expr ("," named_expr)* ","? "]"
    def list_lit(self, kids: Kids, start: int, end: int) -> ast.ListLit:
        return ast.ListLit(start, end, tuple(kids))

    # "{" "}" | "{" pair ("," pair)* ","? "}"
    def dict_lit(self, kids: Kids, start: int, end: int) -> ast.DictLit:
        return ast.DictLit(start, end, tuple(kids))

    # "{" (named_expr | keyword) ("," (named_expr | keyword))* ","? "}"
    def set_lit(self, kids: Kids, start: int, end: int) -> ast.SetLit:
        items = tuple(kid for kid in kids if not isinstance(kid, ast.Keyword))
        keywords = tuple(kid for kid in kids if isinstance(kid, ast.Keyword))
        return ast.SetLit(start, end, items, keywords)

    # "[" named_expr comp_for+ "]"
    def list_comp(self, kids: Kids, start: int, end: int) -> ast.Comprehension:
        return ast.Comprehension(start, end, "list", kids[0], None, tuple(kids[1:]))

    # "{" named_expr comp_for+ "}"
    def set_comp(self, kids: Kids, start: int, end: int) -> ast.Comprehension:
        return ast.Comprehension(start, end, "set", kids[0], None, tuple(kids[1:]))

    # "{" pair comp_for+ "}"
    def dict_comp(self, kids: Kids, start: int, end: int) -> ast.Comprehension:
        return ast.Comprehension(start, end, "dict", kids[0][0], kids[0][1], tuple(kids[1:]))

    # "for" binding "in" or_test comp_if*
    def comp_for(self, kids: Kids, start: int, end: int) -> ast.ForClause:
        return ast.ForClause(start, end, kids[0][1], kids[1], tuple(kids[2:]))

    # targets | mixed
    def pattern(self, kids: Kids, start: int, end: int) -> object:
        return kids[0]

    # pattern | VAR targets | REF targets
    def binding(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        """Return (convention, target)."""
        convention, target = self.word(kids[0]) if len(kids) == 2 else "", kids[-1]
        bounds = [one for one in target.items if isinstance(one, ast.Bound)] if isinstance(target, ast.TupleLit) else []
        if bounds:  # a `var` before one of several names is taken for all of them
            for one in bounds:
                self.bounds.pop(one.start, None)
            convention = "var" if any(one.convention == "var" for one in bounds) else "ref"
            items = tuple(one.target if isinstance(one, ast.Bound) else one for one in target.items)
            target = ast.TupleLit(target.start, target.end, items)
        self.check_target(target, "a loop variable")
        return convention, target

    # target ("," target)* "," bound ("," (target | bound))*
    def mixed(self, kids: Kids, start: int, end: int) -> ast.TupleLit:
        return ast.TupleLit(start, end, tuple(kids))

    # (VAR | REF) target
    def bound(self, kids: Kids, start: int, end: int) -> ast.Bound:
        node = ast.Bound(start, end, self.word(kids[0]), kids[1])
        self.check_target(node.target, f"what '{node.convention}' declares")
        self.bounds[start] = node
        return node

    # expr ("," expr)* "," declared_last
    assigned_and_declared = mixed

    # (VAR | REF) target ("," target)*
    def declared_last(self, kids: Kids, start: int, end: int) -> ast.Bound:
        """`x, var y, z = …` declares `y` and `z` from the last value, which is a tuple then."""
        targets = tuple(kids[1:])
        target = targets[0] if len(targets) == 1 else ast.TupleLit(targets[0].start, end, targets)
        return self.bound([kids[0], target], start, end)

    # VAR? NAME ":=" expr
    def walrus(self, kids: Kids, start: int, end: int) -> ast.Walrus:
        return ast.Walrus(start, end, self.word(kids[-2]), kids[-1])

    # or_test "if" or_test "else" expr
    def ternary(self, kids: Kids, start: int, end: int) -> ast.Ternary:
        return ast.Ternary(start, end, kids[1], kids[0], kids[2])

    def or_op(self, kids: Kids, start: int, end: int) -> ast.BoolOp:
        return ast.BoolOp(start, end, "or", kids[0], kids[1])

    def and_op(self, kids: Kids, start: int, end: int) -> ast.BoolOp:
        return ast.BoolOp(start, end, "and", kids[0], kids[1])

    def not_op(self, kids: Kids, start: int, end: int) -> ast.Unary:
        return ast.Unary(start, end, "not", kids[0])

    # "await" postfix
    def await_op(self, kids: Kids, start: int, end: int) -> ast.Call:
        value = kids[-1]
        return ast.Call(start, end, ast.Attribute(start, end, value, "__await__", value.start), (), ())

    # bit_or (compare_op bit_or)+
    def compare(self, kids: Kids, start: int, end: int) -> ast.Compare:
        return ast.Compare(start, end, kids[0], tuple(kids[1::2]), tuple(kids[2::2]))

    # LESS | ... | NOT IN | IS | IS NOT
    def compare_op(self, kids: Kids, start: int, end: int) -> str:
        return "-".join(self.word(token) for token in kids)

    # bit_or BAR bit_xor, ...
    def binary(self, kids: Kids, start: int, end: int) -> ast.Binary:
        token = kids[1]
        op = self.text[self.token_starts[token] : self.token_ends[token]]
        return ast.Binary(start, end, op, kids[0], kids[2])

    # (MINUS | PLUS | TILDE) unary
    def unary(self, kids: Kids, start: int, end: int) -> ast.Unary:
        return ast.Unary(start, end, self.text[start], kids[1])

    # postfix TRANSFER
    def transfer(self, kids: Kids, start: int, end: int) -> ast.Transfer:
        return ast.Transfer(start, end, kids[0])

    # postfix "." NAME
    def attribute(self, kids: Kids, start: int, end: int) -> ast.Attribute:
        return ast.Attribute(start, end, kids[0], self.word(kids[1]), self.token_starts[kids[1]])

    # postfix "(" call_args ")"
    def call(self, kids: Kids, start: int, end: int) -> ast.Call:
        args, keywords = self.arguments(kids[1])
        return ast.Call(start, end, kids[0], args, keywords)

    # postfix "[" sub_args "]"
    def subscript(self, kids: Kids, start: int, end: int) -> ast.Subscript:
        args, keywords = self.arguments(kids[1], mixed=True)  # `LayoutTensor[mut=True, dtype]` is legal
        if self.is_2026 and args and isinstance(args[-1], ast.EllipsisLit):  # all that stand behind are open
            at, stop = args[-1].start, args[-1].end
            args = (*args[:-1], ast.Star(at, stop, ast.Name(at, stop, "_")))
            keywords = (*keywords, ast.Keyword(at, stop, "", ast.Name(at, stop, "_")))
        return ast.Subscript(start, end, kids[0], args, keywords)

    def arguments(
        self, items: tuple[Any, ...], mixed: bool = False
    ) -> tuple[tuple[ast.Expr, ...], tuple[ast.Keyword, ...]]:
        """Part positional arguments from keyword arguments."""
        args: list[ast.Expr] = []
        keywords: list[ast.Keyword] = []
        for item in items:
            if isinstance(item, ast.Keyword):
                keywords.append(item)
            elif mixed or not keywords or isinstance(item, ast.Star):
                args.append(item)
            else:
                self.wrong(item.start, item.end, "a positional argument follows a keyword argument")
        return tuple(args), tuple(keywords)

    # NAME "=" expr
    def keyword(self, kids: Kids, start: int, end: int) -> ast.Keyword:
        return ast.Keyword(start, end, self.word(kids[0]), kids[1])

    keyword_slice = keyword

    # "*" expr
    def star(self, kids: Kids, start: int, end: int) -> ast.Star:
        return ast.Star(start, end, kids[0])

    # "**" expr
    def star2(self, kids: Kids, start: int, end: int) -> ast.Keyword:
        return ast.Keyword(start, end, "", kids[0])

    # opt_expr ":" opt_expr | opt_expr ":" opt_expr ":" opt_expr
    def slice(self, kids: Kids, start: int, end: int) -> ast.Slice:
        return ast.Slice(start, end, kids[0], kids[1], kids[2] if len(kids) == 3 else None)


def _joined(parts: list[Any]) -> list[Any]:
    """Join neighbouring texts of an f-string."""
    out: list[Any] = []
    for part in parts:
        if out and isinstance(part, ast.StrLit) and isinstance(out[-1], ast.StrLit):
            last = out.pop()
            part = ast.StrLit(last.start, part.end, literals.joined((last.value, part.value)))
        out.append(part)
    return out
