"""What a diagnostic looks like."""

import json

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Label, Severity
from ktc.diag.explain import explain, nearest
from ktc.diag.render import render_json, render_text
from ktc.diag.source import Source, Span


def at(text: str, what: str, path: str = "a.kpy") -> Span:
    start = text.index(what)
    return Span(Source(path, text), start, start + len(what))


def text_of(text: str, what: str) -> list[str]:
    return render_text([Diagnostic(Code.UNDEFINED_NAME, at(text, what), "m")]).splitlines()


def test_a_whole_message() -> None:
    text = "fn f():\n    x = foo(1)\n"
    note = Label(at(text, "fn f"), "instantiated from here")
    one = Diagnostic(Code.UNDEFINED_NAME, at(text, "foo"), "there is no 'foo'", "did you mean 'bar'?", (note,))
    assert render_text([one]).splitlines() == [
        "a.kpy:2:9: error[undefined-name]: there is no 'foo'",
        "        x = foo(1)",
        "            ^~~",
        "help: did you mean 'bar'?",
        "a.kpy:1:1: note: instantiated from here",
        "    fn f():",
        "    ^~~~",
        "1 error",
    ]


def test_no_place() -> None:
    assert render_text([Diagnostic(Code.LINK_FAILED, None, "m")]) == "ktc: error[link-failed]: m\n1 error\n"


def test_no_diagnostics_render_as_an_empty_text() -> None:
    assert render_text([]) == ""


def test_the_count_of_errors_and_warnings() -> None:
    warning = Diagnostic(Code.DEPRECATED, None, "w", severity=Severity.WARNING)
    error = Diagnostic(Code.LINK_FAILED, None, "m")
    assert render_text([error, warning, error]).splitlines()[-1] == "2 errors, 1 warning"


def test_tabs_stay_tabs_under_the_line() -> None:
    assert text_of("\tx\ty\n", "y")[1:3] == ["    \tx\ty", "    \t \t^"]


def test_wide_and_combining_characters_align() -> None:
    assert text_of('"日本" + y', "y")[2] == "    " + " " * 9 + "^"
    assert text_of('"e\u0301" + y', "y")[2] == "    " + " " * 6 + "^"
    assert text_of('"日本" + y', "日本")[2] == "     ^~~~"


def test_several_lines_are_underlined_to_the_end_of_the_first() -> None:
    assert text_of("foo(1,\n  2)\n", "foo(1,\n  2)")[1:3] == ["    foo(1,", "    ^~~~~~"]


def test_the_end_of_a_line_has_a_caret() -> None:
    source = Source("a.kpy", "x = (\n")
    lines = render_text([Diagnostic(Code.SYNTAX_ERROR, Span(source, 5, 5), "m")]).splitlines()
    assert lines[2] == "         ^"


def test_a_very_long_line_is_cut_around_the_place() -> None:
    lines = text_of("a" * 5000 + "Y" + "b" * 5000, "Y")
    assert len(lines[1]) < 200 and lines[1][lines[2].index("^")] == "Y"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in render_text([Diagnostic(Code.SYNTAX_ERROR, at("\x1b[31m y", "y"), "bad \x1b\n")])


def test_colours_only_on_request() -> None:
    one = [Diagnostic(Code.LINK_FAILED, None, "m")]
    assert "\x1b[" in render_text(one, color=True) and "\x1b[" not in render_text(one)


def test_a_long_chain_shows_its_ends() -> None:
    text = "x\n"
    notes = tuple(Label(at(text, "x"), f"number {index}") for index in range(50))
    shown = render_text([Diagnostic(Code.LINK_FAILED, None, "m", notes=notes)])
    assert "number 0" in shown and "number 49" in shown and "(40 more notes)" in shown and "number 25" not in shown


def test_json_is_one_object_a_line() -> None:
    text = "a\nb c\n"
    one = Diagnostic(Code.LINK_FAILED, at(text, "c"), "m", "h", (Label(at(text, "a"), "n"),))
    first, second = (
        json.loads(line) for line in render_json([one, Diagnostic(Code.MISSING_MAIN, None, "k")]).splitlines()
    )
    assert first["place"] == {"path": "a.kpy", "line": 2, "column": 3, "end_line": 2, "end_column": 4}
    assert (first["severity"], first["code"], first["message"], first["help"]) == ("error", "link-failed", "m", "h")
    assert first["notes"][0]["message"] == "n" and second["place"] is None


def test_explain_has_a_page_for_every_code() -> None:
    for code in Code:
        assert code.title in (explain(code.id) or "")
    assert explain("nonsense") is None and nearest("typ-mismatch")[0] == "type-mismatch"
