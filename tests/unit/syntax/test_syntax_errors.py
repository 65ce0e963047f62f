"""What is reported for a text that is no program: the code, the place, the words."""

import time
from collections.abc import Callable
from typing import Any

import pytest

Errors = Callable[[str], Any]

FUNCTION = "fn f():\n    "
IN_FUNCTION = [
    ("if a = b: pass", 10, "syntax-error", "'=' is not allowed in a condition"),
    ("if a\n        pass", 9, "syntax-error", "expected ':' after the condition"),
    ("while True pass", 16, "syntax-error", "expected ':' after the condition"),
    ("for x in y pass", 16, "syntax-error", "expected ':' after what the loop iterates over"),
    ("for x range(3): pass", 11, "syntax-error", "expected 'in' after the loop variable, found 'range'"),
    ("x = lambda y: y", 9, "syntax-error", "lambda expressions are not supported"),
    ("assert x", 5, "wrong-edition", "'assert' is not in edition 2025"),
    ("del x", 5, "syntax-error", "'del' is not a statement"),
    ("global x", 5, "syntax-error", "'global' is not a statement"),
    ("yield x", 5, "syntax-error", "generators are not supported"),
    ("let x = 3", 5, "syntax-error", "'let' is not a statement"),
    ("x = 1)", 10, "syntax-error", "')' closes no bracket"),
    ("x = (1, 2]", 9, "unclosed-bracket", "'(' is never closed: ']' comes first"),
    ("x = f(a, b", 10, "unclosed-bracket", "'(' is never closed"),
    ("x = a b", 11, "syntax-error", "expected the end of the line, found 'b'"),
    ("g(a b)", 9, "syntax-error", "expected ')' or ',', found 'b'"),
    ("x =", 8, "syntax-error", "expected an expression, found the end of the line"),
    ("x = 1 +", 12, "syntax-error", "expected an expression, found the end of the line"),
    ("var in = 3", 9, "syntax-error", "'in' is a keyword and cannot be a name"),
    ("x = a && b", 11, "syntax-error", "'&&' is not an operator"),
    ("x = a || b", 11, "syntax-error", "'||' is not an operator"),
    ("x = !a", 9, "syntax-error", "'!' is not an operator"),
    ("x++", 6, "syntax-error", "'++' is not an operator"),
    ("x = $", 9, "syntax-error", "'$' has no place in a program"),
    ("else: pass", 5, "syntax-error", "'else' without 'if', 'for', 'while' or 'except' before it"),
    ("a + 1 = 3", 5, "syntax-error", "this cannot be assigned to"),
    ("@parameter if a: b", 5, "syntax-error", "a decorator must be on a line of its own"),
    ("g(x=1, 2)", 12, "syntax-error", "a positional argument follows a keyword argument"),
    ("x = a if b", 15, "syntax-error", "expected 'else' and what the value is otherwise, found the end of the line"),
    ("try: pass", 5, "syntax-error", "the 'try' of line 2 needs an 'except' or a 'finally'"),
    ("x = 'abc", 9, "invalid-literal", "this string is never closed"),
    ('x = """abc', 9, "invalid-literal", "this string is never closed"),
    ("x = 'a\\u00e9'", 11, "invalid-literal", "'\\u' is not an escape"),
    ("x = b'a'", 9, "invalid-literal", "a string cannot start with 'b''"),
    ("x = 0b12", 9, "invalid-literal", "'0b12' is not a number"),
    ("x = 12ab", 9, "invalid-literal", "'12ab' is not a number"),
    ("x = 1_", 9, "invalid-literal", "'1_' is not a number"),
    ("x = " + "9" * 17000, 9, "invalid-literal", "a number has more than 16000 digits"),
    ("x = 0x", 9, "invalid-literal", "'0x' is not a number"),
    ("x = f'{}'", 11, "invalid-literal", "this field of the f-string is empty"),
    ("x = f'}'", 11, "invalid-literal", "'}' closes no field of this f-string"),
    ("x = f'{a!q}'", 13, "invalid-literal", "the conversion of a field is '!r', '!s' or '!a'"),
    ("x = f'{a b}'", 14, "syntax-error", "expected the end of the field, found 'b'"),
    ("x = `a", 9, "invalid-literal", "this name in backquotes is never closed"),
    ("alias X", 5, "syntax-error", "alias 'X' needs a value"),
    ("print x", 11, "syntax-error", "expected the end of the line, found 'x'"),
]


@pytest.mark.parametrize(("text", "column", "code", "message"), IN_FUNCTION, ids=[row[0] for row in IN_FUNCTION])
def test_in_function(errors: Errors, text: str, column: int, code: str, message: str) -> None:
    found = errors(FUNCTION + text + "\n")
    assert [(d.span.source.position(d.span.start), d.code.id, d.message) for d in found] == [
        ((2, column), code, message)
    ]
    assert found[0].span.end > found[0].span.start


IN_FILE = [
    ("class A:\n    pass\n", 1, 1, "classes are not supported"),
    ("print(1)\n", 1, 1, "expressions are not supported at file scope"),
    ("x = 3\n", 1, 1, "statements are not supported at file scope"),
    ("var x = 3\n", 1, 1, "global variables are not supported"),
    ("fn f(x): pass\n", 1, 6, "argument 'x' needs a type"),
    ("fn f[T](): pass\n", 1, 6, "parameter 'T' needs a type"),
    ("fn f()\n    pass\n", 1, 7, "expected ':' after the signature of the function"),
    ("fn 3(): pass\n", 1, 4, "expected a name after 'fn', found the number 3"),
    ("struct: pass\n", 1, 7, "expected a name after 'struct', found ':'"),
    ("struct S:\n    x = 3\n", 2, 5, "only fields ('var'), methods and aliases are allowed in a struct"),
    ("struct S:\n    x: Int\n", 2, 5, "a field of a struct starts with 'var'"),
    ("struct S:\n    var x = 3\n", 2, 5, "a field of a struct needs a type"),
    ("trait T:\n    var x: Int\n", 2, 5, "only methods and aliases are allowed in a trait"),
    ("struct S:\n    alias a, b = 1, 2\n", 2, 5, "a member alias has one name"),
    ("trait T:\n    alias (a, b) = (1, 2)\n", 2, 5, "a member alias has one name"),
    ("from a import\n", 1, 14, "expected a name after 'import', found the end of the line"),
    ("@a\n", 1, 3, "expected a declaration after the decorator, found the end of the file"),
    ("fn f():\n    try: a\n    except T as e: b\n", 3, 14, "'except' takes only a name for the error"),
    ("fn f():\n    if a: b\n    else if c: d\n", 3, 10, "'else if' is not a clause"),
    ("fn f():\n    @inline\n    if a: b\n", 2, 5, "only '@parameter' is allowed before 'if' and 'for'"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), IN_FILE, ids=[row[0] for row in IN_FILE])
def test_in_file(errors: Errors, text: str, line: int, column: int, message: str) -> None:
    found = errors(text)
    assert [(d.span.source.position(d.span.start), d.message) for d in found] == [((line, column), message)]


INDENTATION = [
    ("fn f():\npass\n", 2, "no indented block follows the ':' of line 1"),
    ("fn f():\n    if x:\n    pass\n", 2, "no indented block follows this ':'"),
    ("fn f():", 1, "no indented block follows this ':'"),
    ("fn f():\n  x = 1\n    y = 2\n", 3, "this line is indented more than its block"),
    ("fn f():\n    x = 1\n  y = 2\n", 3, "this line's indentation matches no block around it"),
    ("fn f():\n\tx = 1\n        y = 2\n", 3, "tabs and spaces are mixed in this line's indentation"),
    ("fn f():\n    if a:\n\tx = 1\n", 3, "tabs and spaces are mixed in this line's indentation"),
]


@pytest.mark.parametrize(("text", "line", "message"), INDENTATION)
def test_indentation(errors: Errors, text: str, line: int, message: str) -> None:
    (found,) = errors(text)
    assert (found.code.id, found.span.source.position(found.span.start)[0], found.message) == (
        "indentation-error",
        line,
        message,
    )


UNCLOSED = [
    ("fn f():\n    var c = data[offset(a, b, cols)\n    var d = 3\n    return d\n", (2, 17), "line 3"),
    ("fn f():\n    x = (1, [2, 3\n    y = 3\n", (2, 13), "the end of the file"),
    ("fn f(a: Int:\n    pass\n\ndef main():\n    pass\n", (1, 5), "line 4"),
    ("fn f():\n    x = g(a,\n        b\n\n@inline\nfn g(): pass\n", (2, 10), "line 5"),
    ("fn f():\n    x = {1: [2]\n    if x: pass\n    y = {}\n    return y\n", (2, 9), "line 5"),
]


@pytest.mark.parametrize(("text", "place", "help"), UNCLOSED)
def test_unclosed_bracket_is_shown_where_it_opens(errors: Errors, text: str, place: tuple[int, int], help: str) -> None:
    (found,) = errors(text)
    assert (found.code.id, found.span.source.position(found.span.start)) == ("unclosed-bracket", place)
    assert help in found.help


def test_first_error_of_each_declaration(errors: Errors) -> None:
    text = "fn a():\n    x = )\n    y = (\n\nfn b():\n    if c\n\nfn c():\n    pass\n\nstruct D:\n    a b\n"
    assert [d.span.source.position(d.span.start)[0] for d in errors(text)] == [2, 6, 12]


def test_an_error_before_an_unclosed_bracket(errors: Errors) -> None:
    text = "fn a():\n    x = = 3\n\nfn b():\n    y = (1,\n"
    assert [d.span.source.position(d.span.start)[0] for d in errors(text)] == [2, 5]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "fn f():\n    x = " + "[" * 100_000 + "]" * 100_000 + "\n",
        "fn f():\n    x = " + "-" * 100_000 + "1\n",
        "fn f():\n    x = " + "not " * 50_000 + "a\n",
        "fn f():\n    x = " + "+".join(["1"] * 20_000) + "\n",
        "fn f():\n    x = a" + ".b" * 20_000 + "\n",
        "fn f():\n    x = " + "1 if a else " * 20_000 + "2\n",
        "fn f():\n    if a: pass\n" + "    elif b: pass\n" * 5_000,
        "".join(" " * i + "if a:\n" for i in range(2_000)),
        "fn f():\n    x = " + "f'{" * 1 + 'f"{' * 300 + "x" + '}"' * 300 + "}'\n",
    ],
    ids=["open", "nested", "minus", "not", "plus", "dots", "ternary", "elif", "blocks", "fstring"],
)
def test_deep_nesting_is_one_clear_error(errors: Errors, text: str) -> None:
    start = time.perf_counter()
    found = errors(text)
    assert [d.code.id for d in found] == ["nesting-limit"]
    assert time.perf_counter() - start < 5


def test_wide_is_not_deep(parsed: Callable[[str], Any]) -> None:
    parsed("fn f():\n    x = [" + "(1 + 2) * a[3], " * 5_000 + "]\n")
    parsed("fn f():\n    x = " + "+".join(["1"] * 500) + "\n")


def test_more_mistakes_than_are_reported_beside_a_long_statement(errors: Errors) -> None:
    long = "+".join(["x"] * 600)
    found = errors(f"fn f():\n    x = {long}\n" + "    x = = 2\n" * 25)
    assert [one.message for one in found] == ["expected an expression, found '='"] * 20
