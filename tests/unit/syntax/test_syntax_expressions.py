"""Expressions: structure, precedence, spans."""

from collections.abc import Callable
from typing import Any

import pytest
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.format import dump
from ktc.syntax.parsing.parser import parse

Statement = Callable[[str], Any]


def shape(node: Any) -> str:
    """Return an expression with every grouping in parentheses."""
    match node:
        case ast.Name():
            return node.id
        case ast.IntLit():
            return str(node.value)
        case ast.FloatLit():
            return node.text
        case ast.StrLit():
            return repr(node.value)
        case ast.BoolLit():
            return str(node.value)
        case ast.NoneLit():
            return "None"
        case ast.EllipsisLit():
            return "..."
        case ast.Unary():
            return f"({node.op} {shape(node.value)})"
        case ast.Binary() | ast.BoolOp():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case ast.Compare():
            rest = "".join(f" {op} {shape(item)}" for op, item in zip(node.ops, node.rest, strict=True))
            return f"({shape(node.first)}{rest})"
        case ast.Ternary():
            return f"({shape(node.then)} if {shape(node.condition)} else {shape(node.orelse)})"
        case ast.Call():
            return f"{shape(node.func)}({many(node.args, node.keywords)})"
        case ast.Subscript():
            return f"{shape(node.base)}[{many(node.args, node.keywords)}]"
        case ast.Attribute():
            return f"{shape(node.value)}.{node.name}"
        case ast.Transfer():
            return f"{shape(node.value)}^"
        case ast.Walrus():
            return f"({node.name} := {shape(node.value)})"
        case ast.Star():
            return f"*{shape(node.value)}"
        case ast.Slice():
            return ":".join("" if part is None else shape(part) for part in (node.lower, node.upper, node.step))
        case ast.TupleLit():
            return f"({many(node.items)},)"
        case ast.ListLit():
            return f"[{many(node.items)}]"
        case ast.SetLit():
            return f"{{{many(node.items)}}}"
        case ast.DictLit():
            return "{" + ", ".join(f"{shape(k)}: {shape(v)}" for k, v in node.items) + "}"
        case ast.Comprehension():
            value = f": {shape(node.value)}" if node.value is not None else ""
            clauses = "".join(
                f" for {shape(c.target)} in {shape(c.iter)}" + "".join(f" if {shape(i)}" for i in c.conditions)
                for c in node.clauses
            )
            return f"<{node.kind} {shape(node.item)}{value}{clauses}>"
    raise AssertionError(node)


def many(items: Any, keywords: Any = ()) -> str:
    return ", ".join([shape(item) for item in items] + [f"{k.name}={shape(k.value)}" for k in keywords])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 | 2 == 3", "((1 | 2) == 3)"),
        ("-2 ** 2", "(- (2 ** 2))"),
        ("2 ** -3 ** 2", "(2 ** (- (3 ** 2)))"),
        ("a - b - c", "((a - b) - c)"),
        ("a + b * c // d % e @ f", "(a + ((((b * c) // d) % e) @ f))"),
        ("a << 1 + b & c ^ d | e", "((((a << (1 + b)) & c) ^ d) | e)"),
        ("not a == b and c or d", "(((not (a == b)) and c) or d)"),
        ("1 < g <= size != 3", "(1 < g <= size != 3)"),
        ("a not in b is not c", "(a not-in b is-not c)"),
        ("a in b", "(a in b)"),
        ("a if b else c if d else e", "(a if b else (c if d else e))"),
        ("~a.b[1](2)", "(~ a.b[1](2))"),
        ("x^", "x^"),
        ("f(x^, y ^ z)", "f(x^, (y ^ z))"),
        ("a ^ -b", "(a ^ (- b))"),
        ("x^.y", "x^.y"),
        ("x^ if c else y^", "(x^ if c else y^)"),
        ("a, b", "(a, b,)"),
        ("(a,)", "(a,)"),
        ("()", "(,)"),
        ("(a)", "a"),
        ("[1, 2,]", "[1, 2]"),
        ("{}", "{}"),
        ("{1: 2, 3: 4}", "{1: 2, 3: 4}"),
        ("{1, 2}", "{1, 2}"),
        ("[a for a, b in c if d if e for f in g]", "<list a for (a, b,) in c if d if e for f in g>"),
        ("{a for a in b}", "<set a for a in b>"),
        ("{a: b for a in c}", "<dict a: b for a in c>"),
        ("f(a, *b, k=1, *c)", "f(a, *b, *c, k=1)"),
        ("f(out=1, mut=2, read=3)", "f(out=1, mut=2, read=3)"),
        ("T[a, b=1, *Ts]", "T[a, *Ts, b=1]"),
        ("T[mut=True, Int]", "T[Int, mut=True]"),
        ("x[]", "x[]"),
        ("x[(a, b)]", "x[(a, b,)]"),
        ("x[1:2, ::3, :, a:]", "x[1:2:, ::3, ::, a::]"),
        ("f((y := 3))", "f((y := 3))"),
        ("(y := 3)", "(y := 3)"),
        ("`my var`.`!x`", "my var.!x"),
        ("__mlir_op.`pop.add`[_type=T](a)", "__mlir_op.pop.add[_type=T](a)"),
        ("x.in.raises.out", "x.in.raises.out"),
        ("a +\\\n  b", "(a + b)"),
        ("f(\n  a, # why\n\n  b\n)", "f(a, b)"),
        ("f(...)", "f(...)"),
        ("None, True, False", "(None, True, False,)"),
    ],
)
def test_shape(statement: Statement, text: str, wanted: str) -> None:
    assert shape(statement(f"v = {text}").value) == wanted


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("1_000", 1000), ("0xFf", 255), ("0o17", 15), ("0b1_01", 5), ("0", 0), ("9" * 100, int("9" * 100))],
)
def test_integers(statement: Statement, text: str, value: int) -> None:
    assert statement(f"v = {text}").value.value == value


@pytest.mark.parametrize("text", [".5", "5.", "1E-3", "9.5e-01", "1e400", "5.e3", "1.25"])
def test_floats(statement: Statement, text: str) -> None:
    node = statement(f"v = {text}").value
    assert isinstance(node, ast.FloatLit)
    assert node.text == text


def test_attribute_of_an_integer_literal(statement: Statement) -> None:
    assert shape(statement("v = 1.foo").value) == "1.foo"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\n\t\\\'\x41\101\0'", "a\n\t\\'AA\0"),
        (r"'\xc3\xa9\303' '\251'", "éé"),
        (r"'\xff\x7f'", "\udcff\x7f"),
        (r'r"\n\""', r"\n\""),
        ("'a' \"b\"", "ab"),
        ('"""a\n"b" c"""', 'a\n"b" c'),
        ("'''x'''", "x"),
        ('""', ""),
        ("'é✅'", "é✅"),
        ("'a\\\nb'", "ab"),
        ("'a\\\\'", "a\\"),
    ],
)
def test_strings(parsed: Callable[[str], Any], text: str, value: str) -> None:
    body = parsed(f"fn f():\n    v = {text}\n").body[0].body
    assert body[0].value.value == value


def test_fstring(statement: Statement) -> None:
    node = statement("""v = f"a{x!r:>8}b{y["k"]}{{}}" 'tail'""").value
    assert isinstance(node, ast.FString)
    first, field, between, second, rest = node.parts
    assert (first.value, between.value, rest.value) == ("a", "b", "{}tail")
    assert (shape(field.value), field.conversion, field.spec) == ("x", "r", ">8")
    assert (shape(second.value), second.conversion, second.spec) == ("y['k']", "", "")


def test_fstring_field_holds_any_expression(statement: Statement) -> None:
    node = statement("""v = f'{a[1:2] != b if c else {1: 2}:x}'""").value
    assert shape(node.parts[0].value) == "((a[1:2:] != b) if c else {1: 2})"
    assert node.parts[0].spec == "x"


def test_nested_fstring(statement: Statement) -> None:
    node = statement("""v = f"{f"{x}"}" """.strip()).value
    assert shape(node.parts[0].value.parts[0].value) == "x"


def test_spans(tables: Any) -> None:
    text = "fn f():\n    v = (a + b).c[1](x^, k=2) # end\n"
    source = Source("t.kpy", text)
    from ktc.diag.diagnostic import Sink

    module = parse(source, Sink(), None, tables)
    assert module is not None
    assert module.source is source
    function = module.body[0]
    assert isinstance(function, ast.FunctionDecl)
    assert text[function.start : function.end] == text[: text.index(" # end")]
    assert text[function.name_start :].startswith("f()")
    assert function.body is not None
    call = function.body[0].value  # type: ignore[union-attr]
    assert isinstance(call, ast.Call)
    assert text[call.start : call.end] == "(a + b).c[1](x^, k=2)"
    assert text[call.func.start : call.func.end] == "(a + b).c[1]"
    assert text[call.keywords[0].start : call.keywords[0].end] == "k=2"
    assert text[call.args[0].start : call.args[0].end] == "x^"
    attribute = call.func.base  # type: ignore[union-attr]
    assert isinstance(attribute, ast.Attribute)
    assert attribute.name_start == text.index(".c") + 1
    assert "Transfer @2:22" in dump(module)


def test_dump_shows_pairs_and_scalars(parsed: Callable[[str], ast.Module]) -> None:
    wanted = """\
Module @1:1
  body
    FunctionDecl name=f @1:1
      body
        Return @1:9
          value: DictLit @1:16
            items
              pair
                StrLit value='a b' @1:17
                Unary op='-' @1:24
                  value: IntLit value=1 @1:25
"""
    assert dump(parsed("fn f(): return {'a b': -1}\n")) == wanted
