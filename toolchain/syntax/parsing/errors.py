"""A place where the grammar goes no further, in words a person uses.

`describe` tries the particular mistakes first, each a function that returns an error or None, and says what was
expected if none of them applies.
"""

import bisect
import re

from ktc.base.editions import Edition
from ktc.base.similarity import close_matches
from ktc.diag.codes import Code
from ktc.syntax.lexing.lex_error import LexError
from ktc.syntax.parsing.foreign_syntax import (
    FOREIGN_STATEMENTS,
    foreign_form,
    foreign_function,
    foreign_keyword,
    foreign_operator,
)
from ktc.syntax.parsing.parse_failure import Failure, error_at

_DECLARATION = re.compile(r"^(?:(?:fn|def|struct|trait|alias|comptime|from|import|async)\b|@)", re.MULTILINE)
_STATEMENTS = (
    "return", "while", "for", "if", "def", "fn", "struct", "trait", "alias", "comptime", "import", "from", "raise",
    "var", "with", "try", "pass", "break", "continue", "elif", "else", "except", "finally", "async",
)  # fmt: skip
_BEFORE_COLON = {
    "if": "the condition", "elif": "the condition", "while": "the condition", "for": "what the loop iterates over",
    "fn": "the signature of the function", "def": "the signature of the function", "struct": "the head of the struct",
    "trait": "the head of the trait", "with": "what 'with' opens",
}  # fmt: skip
_NAMING = frozenset(("var", "ref", "for", "fn", "def", "struct", "trait", "alias", "import", "as"))
_HEADS = (*_BEFORE_COLON, "else", "try", "except", "finally", "async", "comptime")
_OPERATORS = frozenset({
    "+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "and", "or",
    "not", "in", "is", "if", "else", ".", "(", "[", "for", "->", "raises", "capturing", "escaping", "unified",
    "where", "=",
})  # fmt: skip


_AFTER_HEAD = {
    "throws": "write 'raises', before '->'", "raises": "'raises' comes before '->'",
    "then": "write ':' in place of 'then'", "noexcept": "leave it out: a function without 'raises' does not raise",
    "const": "leave it out: an argument is read only", "do": "write ':' in place of 'do'",
    "where": "leave it out, or write it behind a parameter",
    "extends": "write the traits in brackets: 'struct S(Trait):'",
    "implements": "write the traits in brackets: 'struct S(Trait):'",
}  # fmt: skip


def next_declaration(text: str, after: int) -> int:
    """Return where the next declaration in column 1 starts, after the line of an offset, or -1."""
    line_end = text.find("\n", after)
    found = _DECLARATION.search(text, line_end + 1) if line_end >= 0 else None
    return found.start() if found else -1


def describe(failure: Failure) -> LexError:
    """Return the error to report."""
    general = (
        foreign_keyword, _unclosed, _indentation, _condition, _lambda, _capture, _handler, foreign_operator, _clause,
        _colon, foreign_form, _keyword, _newer, _misspelt,
    )  # fmt: skip
    for explain in general:
        error = explain(failure)
        if error is not None:
            break
    else:
        error = _expected(failure)
    error.index, error.noticed = failure.index, failure.start
    return error


def _unclosed(failure: Failure) -> LexError | None:
    """Inside brackets a line starts that is indented no more than the statement is: the bracket was forgotten."""
    if not failure.brackets:
        return None
    line = failure.text.rfind("\n", 0, failure.start) + 1
    own = failure.tokens.starts[failure.first]
    column = own - (failure.text.rfind("\n", 0, own) + 1)
    opener = failure.brackets[-1]
    if line > opener and not failure.text[line : failure.start].strip() and failure.start - line <= column:
        bracket, number = failure.text[opener], failure.text.count("\n", 0, line) + 1
        closer = {"(": ")", "[": "]", "{": "}"}[bracket]
        if failure.word == closer:
            return None
        help = f"add '{closer}'; line {number} starts a new statement"
        error = LexError(Code.UNCLOSED_BRACKET, opener, opener + 1, f"'{bracket}' is never closed", help)
        error.line = own
        return error
    return None


def _indentation(failure: Failure) -> LexError | None:
    """A block where none can be, or none where one must be."""
    if failure.kind() == "_INDENT":
        help = "indent it like the line before, or end that line with ':'"
        return error_at(failure, "this line is indented more than its block", help, Code.INDENTATION_ERROR)
    if failure.fitting == {"_INDENT"}:
        tokens, index = failure.tokens, failure.index - 1
        while index > 0 and failure.text[tokens.starts[index] : tokens.ends[index]] != ":":
            index -= 1
        help = "indent the lines below it, or write 'pass' for an empty block"
        start, end = tokens.starts[index], tokens.ends[index]
        head = tokens.starts[tokens.lines[max(bisect.bisect_right(tokens.lines, index) - 1, 0)]]
        if failure.word and (head == 0 or failure.text[head - 1] == "\n"):  # a declaration: another one may follow
            line = failure.text.count("\n", 0, start) + 1
            return error_at(failure, f"no indented block follows the ':' of line {line}", help, Code.INDENTATION_ERROR)
        error = LexError(Code.INDENTATION_ERROR, start, end, "no indented block follows this ':'", help)
        error.missing = "block"
        return error
    return None


def _condition(failure: Failure) -> LexError | None:
    """`if a = b:`."""
    if failure.word == "=" and failure.head() in ("if", "elif", "while") and not failure.brackets:
        at, text = failure.start, failure.text
        for word, right in (("=>", ">="), ("=<", "<="), ("===", "==")):
            start = at - 2 if word == "===" else at
            if text.startswith(word, start):
                return LexError(
                    Code.SYNTAX_ERROR, start, start + len(word), f"'{word}' is not an operator", f"write '{right}'"
                )
        return error_at(failure, "'=' is not allowed in a condition", "write '==' to compare")
    return None


def _handler(failure: Failure) -> LexError | None:
    """`except T as e:`."""
    if (
        failure.head() == "except"
        and failure.index > failure.first
        and failure.word != ":"
        and failure.kind() != "_NEWLINE"
    ):
        return error_at(
            failure, "'except' takes only a name for the error", "write 'except e:'; every error is an Error"
        )
    return None


def _clause(failure: Failure) -> LexError | None:
    """`else if`, and clauses that belong to nothing."""
    if failure.word == "if" and failure.before() == "else" and failure.index - 1 == failure.first:
        return error_at(failure, "'else if' is not a clause", "write 'elif'")
    owners = {"elif": "'if'", "else": "'if', 'for', 'while' or 'except'", "except": "'try'", "finally": "'try'"}
    if failure.index == failure.first and failure.word in owners:
        return error_at(failure, f"'{failure.word}' without {owners[failure.word]} before it")
    return None


def _colon(failure: Failure) -> LexError | None:
    """The head of a block does not end in `:`."""
    head = failure.head()
    if head in ("comptime", "async"):
        index = failure.first + 1
        head = failure.text[failure.tokens.starts[index] : failure.tokens.ends[index]]
    if ":" not in failure.fitting or failure.brackets or head not in _HEADS or failure.index == failure.first:
        return None
    help = "blocks are made by ':' and indentation" if failure.word == "{" else _AFTER_HEAD.get(failure.word, "")
    if failure.before() == "}" and failure.word == "raises":
        help = "'raises' comes before the list of captures"
    if failure.word == "{" and head == "def" and failure.lexer.edition is Edition.Y2026:
        help = "a list of captures comes before '->'"
    error = error_at(failure, f"expected ':' after {_BEFORE_COLON.get(head, repr(head))}", help)
    error.missing = ":"
    return error


def _lambda(failure: Failure) -> LexError | None:
    """`lambda x: x + 1`."""
    if failure.before() != "lambda" or "(" not in failure.fitting:
        return None
    text = "the arguments of a 'lambda' stand in brackets, with their types"
    return error_at(failure, text, "write 'lambda (x: Int) -> Int: …', without arguments 'lambda () -> Int: …'")


def _capture(failure: Failure) -> LexError | None:
    """`{mut self.x}` among the captures of a function."""
    opener = failure.brackets[-1] if failure.brackets else -1
    before = failure.text[:opener].rstrip() if opener >= 0 and failure.text[opener] == "{" else ""
    if failure.word != "." or "}" not in failure.fitting or not before.endswith((")", "raises")):
        return None
    return error_at(failure, "a list of captures has the names of variables", "capture the whole variable")


def _keyword(failure: Failure) -> LexError | None:
    """A keyword where only a name can stand."""
    names = failure.fitting - {"VAR", "REF", "CONVENTION", "REF_ORIGIN", "ref", "var"}
    if not (failure.word.isidentifier() and failure.word in failure.tables.words):
        return None
    names_argument = failure.head() in ("fn", "def") and failure.before() in ("(", ",") and "NAME" in names
    if ("NAME" in names and len(names) <= 3) or failure.before() in _NAMING or names_argument:
        help = f"choose another name, or write `{failure.word}` in backquotes"
        return error_at(failure, f"'{failure.word}' is a keyword and cannot be a name", help)
    return None


def _newer(failure: Failure) -> LexError | None:
    """`match x:` looks like two names in a row."""
    if failure.head() == "match" and failure.index == failure.first + 1 and failure.word not in ("(", "["):
        return error_at(failure, "'match' is not a statement", "write 'if' and 'elif'")
    return None


def _misspelt(failure: Failure) -> LexError | None:
    """`retrun x`, `function f():`, `els:`: a word that is no keyword stands where one belongs."""
    head = failure.head()
    if not head.isidentifier() or head in failure.tables.words or failure.brackets:
        return None
    after = failure.index - failure.first
    if after == 2 and failure.before() == ":" and failure.kind() == "_NEWLINE":
        near = close_matches(head, ("else", "try", "finally", "except"), n=1)
    elif after == 1 and (failure.word[0].isalnum() or failure.word[0] in "_\"'`") and failure.word not in _OPERATORS:
        near = [word for word in _STATEMENTS if sorted(word) == sorted(head)]
        near = near or close_matches(head, _STATEMENTS, n=1, cutoff=0.65)
    else:
        return None
    help = foreign_function(failure) or FOREIGN_STATEMENTS.get(head) or (f"did you mean '{near[0]}'?" if near else "")
    if not help:
        return None
    error = error_at(failure, f"'{head}' begins no statement", help)
    error.start, error.end = failure.tokens.starts[failure.first], failure.tokens.ends[failure.first]
    return error


def _expected(failure: Failure) -> LexError:
    """Return the error that names the tokens that the grammar accepts here."""
    found, fitting = _shown(failure), failure.fitting
    if failure.kind() == "$END" and not failure.word:
        found = "the end of the field" if failure.text[failure.start :].strip() else "the end of the file"
    if {"NAME", "INT", "STRING"} <= fitting:
        if failure.index == failure.first and found != "the end of the field":
            help = "a comment begins with '#'" if failure.word == "//" else ""
            return error_at(failure, f"{found} cannot start a statement", help)
        return error_at(failure, f"expected an expression, found {found}")
    if {"fn", "struct"} <= fitting:
        return error_at(failure, f"expected a declaration after the decorator, found {found}")
    if "in" in fitting and failure.head() == "for" and not failure.brackets:
        return error_at(failure, f"expected 'in' after the loop variable, found {found}")
    if "else" in fitting and "_NEWLINE" not in fitting and not failure.fitting & {")", "]", "}", ":"}:
        return error_at(failure, f"expected 'else' and what the value is otherwise, found {found}")
    if "$END" in fitting and "_NEWLINE" not in fitting:
        return error_at(failure, f"expected the end of the field, found {found}")
    if "NAME" in fitting:
        previous = failure.before()
        return error_at(failure, f"expected a name{f' after {previous!r}' if previous else ''}, found {found}")
    rest = sorted(fitting - _OPERATORS - {"TRANSFER", "AUGMENTED", ";", ":=", "STRING", "**", "as", "NAME"})
    if "_NEWLINE" in rest:
        help = "write 'print(...)'" if failure.head() == "print" and failure.index == failure.first + 1 else ""
        if failure.head() == "var" and failure.word == ":" and "," in failure.text[: failure.start].rpartition("\n")[2]:
            help = "declare each variable in a line of its own"
        if failure.head() in ("from", "import") and failure.kind() == "NAME" and "," in fitting:
            help = "write ',' between names"
        return error_at(failure, f"expected the end of the line, found {found}", help)
    if not rest:
        rest = sorted(text for text in fitting if not text.isupper())
    if 0 < len(rest) <= 4:
        texts = [f"'{text}'" for text in rest]
        listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
        help = f"write '{failure.head()} {failure.before()}():'" if rest == ["(", "["] and failure.word == ":" else ""
        return error_at(failure, f"expected {listed}, found {found}", help)
    return error_at(failure, f"{found} has no place here")


def _shown(failure: Failure) -> str:
    names = {"_NEWLINE": "the end of the line", "_DEDENT": "the end of the block", "_INDENT": "an indented line"}
    if failure.kind() in names:
        return names[failure.kind()]
    kinds = {"STRING": "a string", "INT": "the number", "FLOAT": "the number"}
    shown = failure.word if len(failure.word) <= 30 else failure.word[:30] + "..."
    if failure.kind() == "STRING":
        return kinds["STRING"]
    return f"{kinds[failure.kind()]} {shown}" if failure.kind() in kinds else f"'{shown}'"
