"""Statements and declarations: what each becomes."""

from collections.abc import Callable
from typing import Any

import pytest
from ktc.syntax import ast

Parse = Callable[[str], Any]


def names(nodes: Any) -> list[str]:
    return [type(node).__name__ for node in nodes]


def first(parsed: Parse, text: str) -> Any:
    return parsed(text).body[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("return", ast.Return), ("return 1, 2", ast.Return), ("raise", ast.Raise), ("raise Error('x')", ast.Raise),
        ("pass", ast.Pass), ("...", ast.Pass), ("f()", ast.ExprStmt), ("alias x = 3", ast.Alias),
        ("comptime x: Int = 3", ast.Alias), ("import a", ast.Import), ("from a import b", ast.FromImport),
        ("__comptime_assert a, 'm'", ast.StaticAssert), ("comptime assert a", ast.StaticAssert),
        ("while a: break", ast.While), ("while a: continue", ast.While), ("fn g(): pass", ast.FunctionDecl),
        ("struct S: pass", ast.StructDecl),
    ],
)  # fmt: skip
def test_kind(statement: Parse, text: str, kind: type) -> None:
    assert type(statement(text)) is kind


def test_soft_words_are_names(parsed: Parse) -> None:
    words = "read mut out owned deinit inout borrowed ref raises where capturing escaping unified alias comptime async"
    for word in words.split():
        text = f"fn f(a: Int):\n    var {word} = 1\n    {word} += {word} * 2\n    {word} = x if {word} else -{word}\n"
        text += f"    for {word} in g({word}, {word}={word}): {word}.{word}({word})\n    return {word}^\n"
        assert names(first(parsed, text).body) == ["VarDecl", "AugAssign", "Assign", "For", "Return"], word


def test_soft_words_are_argument_names(parsed: Parse) -> None:
    function = first(parsed, "fn f(out: Int, input: Int, read mut: Int, kernel: Int, ref: Int, type: Int): pass\n")
    assert [(a.name, a.convention) for a in function.args] == [
        ("out", ""), ("input", ""), ("mut", "read"), ("kernel", ""), ("ref", ""), ("type", ""),
    ]  # fmt: skip


def test_argument_kinds(parsed: Parse) -> None:
    text = "fn f[T: AnyType, //, n: Int = 3, *Ts: X](a: Int, /, b: Int, *c: *Ts, d: Int = 1, **e: T): pass\n"
    function = first(parsed, text)
    assert [(p.name, p.kind) for p in function.params] == [("T", "infer"), ("n", "any"), ("Ts", "star")]
    assert [(a.name, a.kind, a.splat) for a in function.args] == [
        ("a", "pos", False), ("b", "any", False), ("c", "star", True), ("d", "kw", False), ("e", "starstar", False),
    ]  # fmt: skip
    assert function.params[1].default.value == 3
    assert [a.kind for a in first(parsed, "fn f(a: A, *, b: B): pass\n").args] == ["any", "kw"]


@pytest.mark.parametrize("word", ["read", "mut", "out", "var", "owned", "ref", "deinit"])
def test_conventions(parsed: Parse, word: str) -> None:
    function = first(parsed, f"fn f({word} a: T, {word} x: Int, {word} *xs: Int): pass\n")
    assert [(a.name, a.convention) for a in function.args] == [("a", word), ("x", word), ("xs", word)]


def test_ref_with_origin(parsed: Parse) -> None:
    function = first(parsed, "fn f(ref [a, b] s: S, ref[c] x: Int) -> ref [s.d, e] T: pass\n")
    assert [[o.id for o in a.origin] for a in function.args] == [["a", "b"], ["c"]]
    assert len(function.result_ref) == 2
    assert function.result.id == "T"
    assert first(parsed, "fn f() -> ref [a] T: pass\n").result_ref[0].id == "a"
    assert first(parsed, "fn f() -> T: pass\n").result_ref is None


def test_effects(parsed: Parse) -> None:
    function = first(parsed, "fn f() raises capturing [_] -> None: pass\n")
    assert (function.raises, function.effects) == (True, ("capturing",))
    function = first(parsed, "fn f() unified {read a, mut b, var c, d} -> None: pass\n")
    assert [(one.mode, one.name) for one in function.captures] == [("read", "a"), ("mut", "b"), ("var", "c"), ("", "d")]
    assert first(parsed, "async fn f(): pass\n").effects == ("async",)
    function = first(parsed, "def f() escaping: pass\n")
    assert (function.is_def, function.effects) == (True, ("escaping",))


def test_where_and_named_result(parsed: Parse) -> None:
    function = first(parsed, "fn f[n: Int](a: Int, out r: T) -> Int where n > 3, n < 5 where True: pass\n")
    assert names(function.where) == ["Compare", "Compare", "BoolLit"]
    assert function.args[-1].convention == "out"


def test_function_type(parsed: Parse) -> None:
    alias = first(parsed, "alias F = fn[w: Int] (Int, x: Float32, mut S, *Ts) raises capturing [_] -> fn () -> Int\n")
    node = alias.value
    assert isinstance(node, ast.FunctionType)
    assert [(a.name, a.convention, a.kind) for a in node.args] == [
        ("", "", "any"), ("x", "", "any"), ("", "mut", "any"), ("", "", "star"),
    ]  # fmt: skip
    assert (node.raises, node.effects, node.params[0].name) == (True, ("capturing",), "w")
    assert isinstance(node.result, ast.FunctionType)


def test_struct(parsed: Parse) -> None:
    text = '@fieldwise_init\n@x.y("z")\nstruct S[n: Int](A, B & C) where n > 0:\n    """Doc."""\n'
    text += "    var a: Int\n    alias K = 3\n"
    node = first(parsed, text + "\n    fn m(self): return\n")
    assert (node.name, node.doc, names(node.traits), names(node.where)) == (
        "S",
        "Doc.",
        ["Name", "Binary"],
        ["Compare"],
    )
    assert names(node.body) == ["VarDecl", "Alias", "FunctionDecl"]
    assert names(d.value for d in node.decorators) == ["Name", "Call"]


def test_trait(parsed: Parse) -> None:
    text = 'trait T(A):\n    alias K: Int\n    fn a(self): ...\n    fn b(self):\n        "Doc."\n        ...\n'
    text += "    fn c(self): pass\n    fn d(self): return\n"
    node = first(parsed, text)
    assert node.body[0].value is None
    assert [f.body is None for f in node.body[1:]] == [True, True, True, False]
    assert node.body[2].doc == "Doc."
    assert names(first(parsed, "fn f(): ...\n").body) == ["Pass"]


def test_alias_with_parameters(parsed: Parse) -> None:
    node = first(parsed, "comptime A[T: X, n: Int = 2]: Y = B[T, n]\n")
    assert (node.name, [p.name for p in node.params], node.type.id) == ("A", ["T", "n"], "Y")


def test_variables(statement: Parse) -> None:
    node = statement("var a, b = 0, 1")
    assert (node.kind, names([node.target, node.value])) == ("var", ["TupleLit", "TupleLit"])
    assert statement("var x: T = v").type.id == "T"
    assert statement("var x: T").value is None
    assert statement("ref x = y[0]").kind == "ref"
    assert len(statement("a = b = c").targets) == 2
    assert statement("a: T = v").type.id == "T"
    assert statement("a[i] //= 2").op == "//"
    assert statement("a **= 2").op == "**"
    assert names(statement("a, b.c = b, a").targets[0].items) == ["Name", "Attribute"]


def test_if_chain(statement: Parse) -> None:
    node = statement("if a: b; c\nelif d: e\nelse:\n    f")
    assert len(node.body) == 2
    assert node.orelse[0].condition.id == "d"
    assert names(node.orelse[0].orelse) == ["ExprStmt"]


@pytest.mark.parametrize("prefix", ["@parameter\n", "comptime "])
def test_compile_time_if_and_for(statement: Parse, prefix: str) -> None:
    node = statement(prefix + "if a: b\nelif c: d\nelse:\n    if e: f")
    assert (node.comptime, node.orelse[0].comptime, node.orelse[0].orelse[0].comptime) == (True, True, False)
    node = statement(prefix + "for i in r: b")
    assert (type(node), node.comptime) == (ast.For, True)


def test_loops(statement: Parse) -> None:
    node = statement("for ref x in y: a\nelse: b")
    assert (node.convention, node.target.id, names(node.orelse)) == ("ref", "x", ["ExprStmt"])
    assert statement("for var x in y: a").convention == "var"
    assert names([statement("for a, (b, c) in y: d").target]) == ["TupleLit"]
    assert names(statement("while a: b\nelse: c").orelse) == ["ExprStmt"]
    assert statement("while x := f(): b").condition.name == "x"


def test_try(statement: Parse) -> None:
    node = statement("try: a\nexcept e: b\nelse: c\nfinally: d; e")
    assert (node.handler.name, len(node.body), len(node.orelse), len(node.final)) == ("e", 1, 1, 2)
    assert statement("try: a\nexcept: b").handler.name == ""
    assert statement("try: a\nfinally: b").handler is None


def test_with(statement: Parse) -> None:
    node = statement("with a() as x, b:\n    c")
    assert [(type(i.value).__name__, i.name) for i in node.items] == [("Call", "x"), ("Name", "")]


def test_imports(parsed: Parse) -> None:
    text = "import a.b as c, d\nfrom ..a.b import c as d, e\nfrom . import (x, y as z,)\n"
    text += "from ... import *\nfrom a import in_\n"
    imports = parsed(text).body
    assert imports[0].names == (("a.b", "c"), ("d", ""))
    assert [(i.level, i.module, i.names) for i in imports[1:]] == [
        (2, "a.b", (("c", "d"), ("e", ""))),
        (1, "", (("x", ""), ("y", "z"))),
        (3, "", (("*", ""),)),
        (0, "a", (("in_", ""),)),
    ]


def test_docstrings(parsed: Parse) -> None:
    module = parsed('"""M."""\nfn f():\n    """F."""\n    pass\n')
    assert (module.doc, module.body[0].doc, names(module.body[0].body)) == ("M.", "F.", ["Pass"])


def test_strings_after_declarations(parsed: Parse) -> None:
    module = parsed(
        'alias a = 1\n"""A."""\nstruct S:\n    var x: Int\n    """X."""\ntrait T:\n    alias K: Int\n    "K."\n'
    )
    assert (module.doc, names(module.body)) == ("", ["Alias", "StructDecl", "TraitDecl"])
    assert (names(module.body[1].body), names(module.body[2].body)) == (["VarDecl"], ["Alias"])


def test_declaration_without_value(statement: Parse) -> None:
    node = statement("x: Int")
    assert (type(node), node.target.id, node.value) == (ast.VarDecl, "x", None)


def test_layout_of_lines(parsed: Parse) -> None:
    module = parsed(
        "\n# c\n\nfn f(\n  a: Int, # x\n) ->\n  Int:\n\n    # c\n    a; b;\n  # c\n    if c: d\n\n\nfn g(): pass"
    )
    assert [f.name for f in module.body] == ["f", "g"]
    assert names(module.body[0].body) == ["ExprStmt", "ExprStmt", "If"]


@pytest.mark.parametrize(
    "text", ["", "\n", "# c", "   \n", "\ufefffn f(): pass\n", "fn f(): pass\r\n\r\nfn g(): pass\r\n"]
)
def test_odd_files(parsed: Parse, text: str) -> None:
    assert len(parsed(text).body) == text.count("fn")
