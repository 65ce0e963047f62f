"""Declarations and function types: each method stands below its production."""

import re
from collections.abc import Sequence
from typing import Any

from ktc.base.records import entity
from ktc.diag.codes import Code
from ktc.syntax import ast
from ktc.syntax.building.base import BaseBuilder, Kids
from ktc.syntax.lexing.lex_error import LexError

_MAKES = re.compile(r"\b__(?:init|copyinit|moveinit)__\s*(?:\[[^()]*\])?\(\s*$")
_OLD_CONVENTIONS = {"inout": "write 'mut'", "borrowed": "leave it out, or write 'read'"}


_UNTIL_2025 = {
    "owned": "write 'var'", "read": "write 'imm', or leave it out", "inout": "write 'mut'", "borrowed": "leave it out",
}  # fmt: skip
"""Conventions that edition 2026 does not have."""

_VALUES = (
    ast.IntLit, ast.FloatLit, ast.StrLit, ast.FString, ast.BoolLit, ast.Binary, ast.BoolOp, ast.Compare, ast.Unary,
    ast.ListLit, ast.TupleLit,
)  # fmt: skip
"""Expressions that surely have a value, so that a function that gives one has a result."""

BETWEEN = re.compile(r"(?:\s|#[^\n]*)*")
"""Text between two tokens, or two statements: space and comments."""


@entity
class _Mark:
    """`*`, `/` or `//` alone in a parameter list."""

    start: int
    end: int
    text: str


Block = tuple[Any, ...]
"""Statements of a body: the grammar says of which kinds they are."""


def docstring(body: Block) -> tuple[str, Block]:
    """Part the docstring from a body; its line ends are `\\n`, whatever the file has."""
    if body and isinstance(body[0], ast.ExprStmt) and isinstance(body[0].value, ast.StrLit):
        return body[0].value.value.replace("\r\n", "\n").replace("\r", "\n"), body[1:]
    return "", body


def flattened(kids: Kids) -> Block:
    """Return the nodes of statements, of which some are several."""
    if not any(isinstance(kid, tuple) for kid in kids):
        return tuple(kids)
    return tuple([node for kid in kids for node in (kid if isinstance(kid, tuple) else (kid,))])


def declared(block: Block) -> tuple[str, Block]:
    """Like `docstring`, for a body of declarations: a string after one of them documents it, and is left out."""
    doc, body = docstring(block)
    return doc, tuple(i for i in body if not (isinstance(i, ast.ExprStmt) and isinstance(i.value, ast.StrLit)))


class DeclarationBuilder(BaseBuilder):
    """Makes the nodes of declarations."""

    opt_type = BaseBuilder.optional
    opt_default = BaseBuilder.optional
    opt_value = BaseBuilder.optional
    params = BaseBuilder.optional_tuple
    bases = BaseBuilder.optional_tuple
    where = BaseBuilder.as_tuple

    # ---- parameters ----

    # ("*" | "/" | "//") alone
    def mark_keyword(self, kids: Kids, start: int, end: int) -> _Mark:
        return _Mark(start, end, self.text[start:end])

    mark_positional = mark_keyword
    mark_infer = mark_keyword

    # (param ("," param)* ","?)?
    def param_list(self, kids: Kids, start: int, end: int) -> tuple[ast.Param, ...]:
        """Set the kinds from the marks, and drop them."""
        self._check_marks(kids)
        out: list[ast.Param] = []
        keyword_only = False
        for item in kids:
            if isinstance(item, _Mark):
                if item.text == "*":
                    keyword_only = True
                else:
                    kind = "pos" if item.text == "/" else "infer"
                    for param in out:
                        if param.kind != "infer":
                            param.kind = kind
                continue
            if item.kind == "any" and keyword_only:
                item.kind = "kw"
            keyword_only = keyword_only or item.kind == "star"
            out.append(item)
        return tuple(out)

    def _check_marks(self, items: Kids) -> None:
        """Report marks that stand twice, or where they mean nothing."""
        seen = ""
        for item in items:
            text = item.text if isinstance(item, _Mark) else {"star": "*", "starstar": "**"}.get(item.kind, "")
            reason = ""
            if seen == "**":
                reason = "nothing can come after '**'"
            elif text and (text == seen or (text == "/" and seen == "*")):
                reason = "there can be one '*' only" if text == "*" else f"'{text}' must come earlier"
            elif text == "*" and isinstance(item, _Mark) and item is items[-1] and not self._has_comma(item.end):
                reason = "'*' must be followed by a name"
            if reason:
                self.wrong(item.start, item.end, reason)
                return
            seen = text or seen

    def _has_comma(self, at: int) -> bool:
        """Tell whether a comma follows: it lets a `*` end a list."""
        found = BETWEEN.match(self.text, at)
        return found is not None and self.text.startswith(",", found.end())

    # (fn_arg ("," fn_arg)* ","?)?
    fn_args = param_list

    # NAME opt_type opt_where opt_default
    def param_plain(self, kids: Kids, start: int, end: int) -> ast.Param:
        type_ = _with_plain_origin(kids[1])
        return ast.Param(start, end, self.word(kids[0]), type_, kids[3], "any", "", (), False, kids[2])

    # ("where" expr)?
    def opt_where(self, kids: Kids, start: int, end: int) -> object:
        return kids[0] if kids else None

    # convention NAME opt_type opt_default
    def param_convention(self, kids: Kids, start: int, end: int) -> ast.Param:
        (convention, origin), name, type_, default = kids
        return ast.Param(start, end, self.word(name), type_, default, "any", convention, origin, False)

    # convention? "*" NAME star_type
    def param_star(self, kids: Kids, start: int, end: int) -> ast.Param:
        convention, origin = kids[0] if len(kids) == 3 else ("", ())
        type_, splat = kids[-1]
        return ast.Param(start, end, self.word(kids[-2]), type_, None, "star", convention, origin, splat)

    # convention? "**" NAME opt_type
    def param_starstar(self, kids: Kids, start: int, end: int) -> ast.Param:
        convention, origin = kids[0] if len(kids) == 3 else ("", ())
        return ast.Param(start, end, self.word(kids[-2]), kids[-1], None, "starstar", convention, origin, False)

    # (":" expr)?
    def star_type(self, kids: Kids, start: int, end: int) -> tuple[ast.Expr | None, bool]:
        return (kids[0] if kids else None), False

    # ":" "*" expr
    def splat_type(self, kids: Kids, start: int, end: int) -> tuple[ast.Expr | None, bool]:
        return kids[0], True

    # CONVENTION | VAR | REF | REF_ORIGIN | REF_ORIGIN "[" expr_list "]"
    def convention(self, kids: Kids, start: int, end: int) -> tuple[str, tuple[ast.Expr, ...]]:
        word = self.word(kids[0])
        if self.is_2026 and word in _UNTIL_2025:
            self.refuse(self.token_starts[kids[0]], self.token_ends[kids[0]], f"'{word}'", _UNTIL_2025[word])
        elif word in _OLD_CONVENTIONS:
            self.wrong(start, end, f"'{word}' is not in the language any more", self._instead_of(word, start))
        return "read" if word == "imm" else word, kids[1] if len(kids) == 2 else ()

    def _instead_of(self, word: str, start: int) -> str:
        """Return the help for an old convention; the `self` that a method makes is 'out'."""
        makes = word == "inout" and _MAKES.search(self.text[max(start - 200, 0) : start])
        return "write 'out'" if makes else _OLD_CONVENTIONS[word]

    # ---- function types ----

    # expr opt_type opt_default
    def fn_arg(self, kids: Kids, start: int, end: int) -> ast.Param:
        return self._fn_arg(("", ()), kids, start, end)

    # convention expr opt_type opt_default
    def fn_arg_convention(self, kids: Kids, start: int, end: int) -> ast.Param:
        return self._fn_arg(kids[0], kids[1:], start, end)

    def _fn_arg(self, convention: tuple[str, tuple[ast.Expr, ...]], kids: Kids, start: int, end: int) -> ast.Param:
        name, type_ = self._named_type(kids[0], kids[1])
        return ast.Param(start, end, name, type_, kids[2], "any", convention[0], convention[1], False)

    # convention? "*" expr star_type
    def fn_arg_star(self, kids: Kids, start: int, end: int) -> ast.Param:
        convention, origin = kids[0] if len(kids) == 3 else ("", ())
        type_, splat = kids[-1]
        name, type_ = self._named_type(kids[-2], type_)
        return ast.Param(start, end, name, type_, None, "star", convention, origin, splat)

    # "**" expr opt_type
    def fn_arg_starstar(self, kids: Kids, start: int, end: int) -> ast.Param:
        name, type_ = self._named_type(kids[0], kids[1])
        return ast.Param(start, end, name, type_, None, "starstar", "", (), False)

    def _named_type(self, first: ast.Expr, type_: ast.Expr | None) -> tuple[str, ast.Expr | None]:
        """Return (name, type) of a function type's argument, which may be only a type."""
        if type_ is None:
            if isinstance(first, ast.Name) and first.id == "self":
                return "self", None
            return "", first
        if not isinstance(first, ast.Name):
            self.wrong(first.start, first.end, "an argument's name comes before ':'")
            return "", type_
        return first.id, type_

    # _fn_word params "(" fn_args ")" effects result
    def function_type(self, kids: Kids, start: int, end: int) -> ast.FunctionType:
        word, params, args, (raises, error, effects), (type_, ref) = kids
        self.check_types(params)
        is_def = self._is_def(word, "write 'def', and 'thin' before '->'")
        if not self.is_2026 and "thin" in effects:
            self.refuse(start, end, "'thin'", "leave it out; in 'fn (…) -> …' it is understood")
        return ast.FunctionType(start, end, params, args, type_, ref, raises, effects, is_def, error)

    def _is_def(self, word: int, instead: str = "write 'def'") -> bool:
        """Return whether a function raises by its first word, `def`; edition 2026 has only `def`, without that."""
        is_def = self.word(word) == "def"
        if self.is_2026 and not is_def:
            self.refuse(self.token_starts[word], self.token_ends[word], "'fn'", instead)
        return is_def and not self.is_2026

    # ---- functions ----

    # effect*
    def effects(self, kids: Kids, start: int, end: int) -> tuple[bool, ast.Expr | None, tuple[str, ...]]:
        """Return (raises, type of errors, the other effects)."""
        if not kids:
            return False, None, ()
        raises = [error for name, error in kids if name == "raises"]
        return bool(raises), next(iter(raises), None), tuple(name for name, _ in kids if name != "raises")

    # "raises" error_type?
    def effect_raises(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        if kids and not self.is_2026:
            help = "every error is an 'Error': leave its type out"
            self.refuse(kids[0].start, kids[0].end, "the type of an error", help)
            return "raises", None
        return "raises", kids[0] if kids else None

    def effect_capturing(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        return "capturing", None

    def effect_escaping(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        if self.is_2026:
            help = "list what the function captures: '{var x}' for a copy that it owns, '{var x^}' for the value itself"
            self.refuse(start, end, "'escaping'", help)
        return "escaping", None

    def effect_unified(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        if self.is_2026:
            self.refuse(start, end, "'unified'", "leave it out; the list of captures stands alone")
        return "unified", None

    def effect_thin(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        return "thin", None

    # "abi" "(" STRING ")"
    def effect_abi(self, kids: Kids, start: int, end: int) -> tuple[str, object]:
        if self.text[self.token_starts[kids[0]] : self.token_ends[kids[0]]].strip("\"'") != "C":
            self.wrong(start, end, "the only other calling convention is that of C", "write 'abi(\"C\")'")
        return "abi", None

    def captures_none(self, kids: Kids, start: int, end: int) -> None:
        return None

    # "{" (capture ("," capture)* ","?)? "}"
    def capture_list(self, kids: Kids, start: int, end: int) -> tuple[ast.Capture, ...]:
        seen = set[str]()
        for one in kids if self.is_2026 else ():
            if one.name in seen:
                text = "the list says twice how other variables are captured"
                text = f"'{one.name}' is captured twice" if one.name else text
                self.wrong(one.start, one.end, text, "leave one of them out")
            seen.add(one.name)
        return tuple(kids)

    # NAME | (CONVENTION | VAR | REF) NAME | VAR? NAME TRANSFER
    def capture(self, kids: Kids, start: int, end: int) -> ast.Capture:
        words = [self.word(token) for token in kids]
        if self.is_2026 and words[0] == "read":
            self.refuse(start, start + len("read"), "'read'", "write 'imm'")
        mode, at = "read" if words[0] == "imm" else words[0], start
        if words[-1] == "^":
            return ast.Capture(start, end, "move", words[-2], self.token_starts[kids[-2]])
        if len(words) == 2:
            return ast.Capture(start, end, mode, words[1], self.token_starts[kids[1]])
        if mode in ("read", "mut", "var", "ref"):  # for each variable that is not named
            return ast.Capture(start, end, mode, "", at)
        return ast.Capture(start, end, "read" if self.is_2026 else "", words[0], at)

    def result_none(self, kids: Kids, start: int, end: int) -> tuple[ast.Expr | None, tuple[ast.Expr, ...] | None]:
        return None, None

    # "->" expr
    def result_type(self, kids: Kids, start: int, end: int) -> tuple[ast.Expr | None, tuple[ast.Expr, ...] | None]:
        if isinstance(kids[0], ast.TupleLit):
            self.wrong(kids[0].start, kids[0].end, "a tuple of types is not a type", "write 'Tuple[…]'")
        self.check_no_trait(kids[0])
        return kids[0], None

    # "->" REF expr | "->" REF_ORIGIN "[" expr_list "]" expr
    def result_ref(self, kids: Kids, start: int, end: int) -> tuple[ast.Expr | None, tuple[ast.Expr, ...] | None]:
        return kids[-1], kids[1] if len(kids) == 3 else ()

    # where*
    def wheres(self, kids: Kids, start: int, end: int) -> tuple[ast.Expr, ...]:
        return tuple(condition for clause in kids for condition in clause)

    # _fn_word NAME params "(" param_list ")" effects captures result wheres ":" block
    def function(self, kids: Kids, start: int, end: int) -> ast.FunctionDecl:
        word, name, params, args, (raises, error, effects), captures, (type_, ref), where, block = kids
        self.check_types(params)
        self.check_arguments(args, start)
        for arg in args:
            if arg.where is not None:
                self.wrong(
                    arg.where.start, arg.where.end, "an argument has no 'where' of its own", "write it after the result"
                )
        doc, body = docstring(block)
        where = (*conditions(params), *where)
        at, is_def = self.token_starts[name], self._is_def(word)
        self._check_captures(captures, effects, at, len(self.word(name)))
        if is_def and raises:
            self.wrong(start, at + len(self.word(name)), "a 'def' raises already", "leave 'raises' out, or write 'fn'")
        head = ast.FunctionHead(params, args, type_, ref, raises, effects, captures, where, is_def, doc, False, error)
        return ast.FunctionDecl(start, end, self.word(name), at, (), head, body)

    def _check_captures(self, captures: object, effects: tuple[str, ...], at: int, length: int) -> None:
        """Refuse forms that edition 2025 lacks: a list of captures without 'unified', other conventions."""
        if self.is_2026:
            return
        for name, shown in (("thin", "'thin'"), ("abi", "'abi'")):
            if name in effects:
                self.refuse(at, at + length, shown, "leave it out; '@export' gives a function the convention of C")
        if captures is not None and "unified" not in effects:
            self.refuse(at, at + length, "a list of captures", "leave it out, or write 'unified' before it")

    # "lambda" params "(" param_list ")" effects captures result ":" expr
    def lambda_function(self, kids: Kids, start: int, end: int) -> ast.Lambda:
        params, args, (raises, error, effects), captures, (type_, ref), value = kids
        self.check_types(params)
        self.check_arguments(args, start)
        if type_ is None and isinstance(value, _VALUES):
            text = "a 'lambda' without a result gives no value, and this is one"
            help = "write its type before the ':', as in 'lambda (x: Int) -> Int: x + 1'"
            self.errors.append(LexError(Code.UNDECLARED_RESULT, value.start, value.end, text, help))
        captures = (ast.Capture(start, start, "read", "", start),) if captures is None else captures
        head = ast.FunctionHead(params, args, type_, ref, raises, effects, captures, (), False, "", False, error)
        body = (ast.Return(value.start, value.end, value),)
        return ast.Lambda(start, end, ast.FunctionDecl(start, end, "lambda", start, (), head, body))

    # ASYNC function
    def async_function(self, kids: Kids, start: int, end: int) -> ast.FunctionDecl:
        function: ast.FunctionDecl = kids[1]
        function.head.effects = ("async", *function.effects)
        return function


def _with_plain_origin(kind: ast.Expr | None) -> ast.Expr | None:
    """Return `Origin[m]` for `Origin[mut=m]`, any other type as it is."""
    match kind:
        case ast.Subscript(start, end, ast.Name(id="Origin") as base, (), (ast.Keyword(name="mut", value=value),)):
            return ast.Subscript(start, end, base, (value,), ())
    return kind


def conditions(params: Sequence[ast.Param]) -> tuple[ast.Expr, ...]:
    """Return the conditions that stand beside parameters."""
    return tuple(param.where for param in params if param.where is not None)


def conjunction(conditions: Sequence[ast.Expr]) -> ast.Expr:
    """Return one condition that holds if all of several do."""
    first, *more = conditions
    for other in more:
        first = ast.BoolOp(first.start, other.end, "and", first, other)
    return first
