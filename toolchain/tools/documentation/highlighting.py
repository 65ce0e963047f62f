"""A Pygments lexer of the language, for documents and for ktc's own output; registered as `kpy` and `mojo`."""

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

_WORDS = (
    "and", "as", "async", "await", "break", "continue", "elif", "else", "except", "finally", "for", "if", "in", "is",
    "not", "or", "pass", "raise", "return", "try", "while", "with",
)  # fmt: skip
_DECLARING = (
    "alias", "borrowed", "capturing", "comptime", "deinit", "escaping", "imm", "inout", "lambda", "mut", "out", "owned",
    "raises", "read", "ref", "thin", "unified", "var", "where",
)  # fmt: skip


class KpyLexer(RegexLexer):  # type: ignore[misc]
    """Cuts a program into coloured words; it reads any text."""

    name = "kpy"
    aliases: ClassVar[list[str]] = ["kpy", "mojo", "ktc"]
    filenames: ClassVar[list[str]] = ["*.kpy", "*.mojo", "*.🔥"]
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Text),
            (r"#.*$", Comment.Single),
            (r"(?i)(r?)(\"\"\"|''')(?s:.*?)(?:\2|\Z)", String.Doc),
            (r"(?i)(?:[ft]|r[ft]|[ft]r)\"", String.Double, "interpolated"),
            (r"(?i)r?\"(?:\\.|[^\"\\\n])*\"?", String.Double),
            (r"(?i)(?:[ft]|r|r[ft]|[ft]r)?'(?:\\.|[^'\\\n])*'?", String.Single),
            (r"(?<!\S)(?:match|case|assert)(?=[ \t]+(?!(?:in|is|and|or|if|else)\b)[\w\"'(\[.-])", Keyword),
            (r"(fn|def)(\s+)(\w+)", bygroups(Keyword, Text, Name.Function)),
            (r"(struct|trait)(\s+)(\w+)", bygroups(Keyword, Text, Name.Class)),
            (r"(from|import)(\s+)([\w.]+)", bygroups(Keyword.Namespace, Text, Name.Namespace)),
            include("words"),
        ],
        "words": [
            (r"(\.)(\w+)", bygroups(Operator, Name)),
            (r"@[A-Za-z_][\w.]*", Name.Decorator),
            (words(("from", "import"), suffix=r"\b"), Keyword.Namespace),
            (words(_WORDS, suffix=r"\b"), Keyword),
            (words((*_DECLARING, "fn", "def", "struct", "trait"), suffix=r"\b"), Keyword.Declaration),
            (words(("True", "False", "None"), suffix=r"\b"), Keyword.Constant),
            (words(("self", "Self"), suffix=r"\b"), Name.Builtin.Pseudo),
            (r"0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+", Number.Integer),
            (r"\d[\d_]*(?:\.[\d_]*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (r"[A-Z]\w*", Name.Class),
            (r"[^\W\d]\w*(?=\()", Name.Function),
            (r"[^\W\d]\w*|`[^`\n]*`", Name),
            (r"->|:=|\*\*|//|<<|>>|[-+*/%@&|^<>=!]=?|~|\.", Operator),
            (r"[()\[\]{},:;]", Punctuation),
            (r".", Text),
        ],
        "interpolated": [
            (r"\\.|\{\{|\}\}", String.Escape),
            (r"\{", String.Interpol, "field"),
            (r"\"|\n", String.Double, "#pop"),
            (r"[^\"\\{}\n]+|.", String.Double),
        ],
        "field": [
            (r"\}", String.Interpol, "#pop"),
            (r"\n", Text, "#pop:2"),
            (r"\s+", Text),
            (r"'[^'\n]*'", String.Single),
            (r"\"", String.Double, "#pop:2"),
            include("words"),
        ],
    }
