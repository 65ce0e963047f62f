"""The small commands: new projects, the read-eval-print loop, completion, manual pages, help, JSON."""

import io
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from ktc import config
from ktc.cli.commands import main
from ktc.cli.help import ENVIRONMENT
from ktc.tools.repl import Repl, is_complete

from programs import ROOT


@pytest.fixture
def place(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    return tmp_path


@pytest.mark.slow
def test_a_new_project_works(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["new", "my-sums"]) == 0
    monkeypatch.chdir("my-sums")
    capsys.readouterr()
    assert main(["test", "-O", "0"]) == 0
    assert "3 passed, 0 failed" in capsys.readouterr().out
    assert main(["test", "--list", "-k", "doctest"]) == 0
    assert capsys.readouterr().out == "my_sums.mojo::doctest:27\n"
    assert main(["build", "-O0"]) == 0
    assert Path("my-sums").exists()
    assert main(["format", "--check"]) == 0
    assert main(["check"]) == 0


@pytest.mark.parametrize("name", ["3x", "a b", "fn", "taken", "class"])
def test_bad_names_of_projects(place: Path, name: str) -> None:
    Path("taken").mkdir()
    assert main(["new", name]) == 2
    assert sorted(os.listdir()) == ["taken"]


@pytest.mark.parametrize("words", [["check", "-"], ["build", "-"], ["emit", "--kind", "ast", "-"]])
def test_standard_input(
    place: Path, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("beside.kpy").write_text("alias N = 3\n")
    for text, code in ((b"from beside import N\ndef main():\n    print(N)\n", 0), (b"def main():\n    f(\n", 1)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert main(words) == code, capsys.readouterr().err
    assert "error[" in capsys.readouterr().err
    assert Path("stdin").exists() == (words[0] == "build")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fmt", "a.kpy"], "Did you mean 'format'?"),
        (["chekc", "a.kpy"], "Did you mean 'check'?"),
        (["emit", "--kind", "ptx", "a.kpy"], "write '--kind asm --target-accelerator NAME'"),
        (["check", "--fix", "-"], "'--fix' changes files: name one"),
    ],
)
def test_words_of_other_compilers(place: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_sources(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["check", "empty"]) == 0
    assert capsys.readouterr().err == "no source files\n"


@pytest.mark.thorough
@pytest.mark.slow
def test_the_loop_keeps_what_was_good(place: Path) -> None:
    repl = Repl(0, False)
    assert repl.take("var x = 3") == ""
    assert repl.take("fn twice(a: Int) -> Int:\n    print('in')\n    return 2 * a\n") == ""
    assert repl.take("twice(x)") == "in\n6\n"
    assert repl.take("'text'") == "text\n"
    assert "error[undefined-name]: 'nope' is not defined" in repl.take("nope")
    assert repl.take("print(x + 1)") == "4\n"
    assert repl.take("var xs = [1]") == repl.take("xs.append(x)") == ""
    assert repl.take("len(xs)") == "2\n"
    assert repl.take("xs.pop()") == "3\n" and repl.take("len(xs)") == "1\n"
    assert repl.take("print(xs.pop())") == "1\n" and repl.take("len(xs)") == "0\n"
    assert repl.take("from sys import exit") == ""
    assert repl.take("exit(3)") == "the program ended with code 3\n"


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("x = 1", True), ("fn f():", False), ("fn f():\n    pass", False), ("fn f():\n    pass\n", True),
        ("f(", False), ("f(\n  1)", True), ("@value", False), ("x = )", True), ("x = \\", False),
    ],
)  # fmt: skip
def test_inputs_end(place: Path, text: str, complete: bool) -> None:
    assert is_complete(text) == complete


def test_the_loop_reads_lines(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("var a = 2\n:show\n:reset\n:show\n:help\n:quit\na\n"))
    assert main(["repl"]) == 0
    said = capsys.readouterr().out
    assert said.count("def main() raises:") == 2 and said.count("var a = 2") == 1 and ":reset  forget" in said


def test_the_prompt_has_the_edition_of_the_project(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text('[tool.ktc]\nedition = "2025"\n')
    monkeypatch.setattr(sys, "stdin", io.StringIO(":show\n"))
    assert main(["repl"]) == 0 and "def main():" in capsys.readouterr().out
    assert main(["repl", "--edition", "2026"]) == 1 and "change one of them" in capsys.readouterr().err


def test_a_file_alone_is_run(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("prog.kpy").write_text("from sys import argv\n\ndef main():\n    print(len(argv()), argv()[1])\n")
    assert main(["prog.kpy", "first"]) == 0
    assert capfd.readouterr().out == "2 first\n"


def completions(*words: str) -> list[str]:
    line = " ".join(words)
    environment = {
        **os.environ,
        "_KTC_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    command = [sys.executable, "-c", "import sys; sys.argv = ['ktc']; from ktc.cli.commands import main; main()"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
    return [one.partition(",")[2] for one in said.splitlines()]


def test_shells_complete_values(place: Path) -> None:
    Path("prog.kpy").write_text("    ctx.enqueue_function_checked[add_one, add_one](\n")
    Path("note.txt").touch()
    assert completions("ktc", "build", "--target-accelerator", "sm_80,gfx94") == ["sm_80,gfx942"]
    assert completions("ktc", "explain", "type-m") == ["type-mismatch"]
    assert completions("ktc", "run", "") == ["prog.kpy"]
    assert completions("ktc", "emit", "prog.kpy", "--kernel", "add") == ["add_one"]
    assert completions("ktc", "ch") == ["check"]


@pytest.mark.parametrize(("shell", "mark"), [("bash", "complete -o"), ("zsh", "#compdef ktc"), ("fish", "complete ")])
def test_scripts_for_shells(capsys: pytest.CaptureFixture[str], shell: str, mark: str) -> None:
    assert main(["completion", shell]) == 0
    assert mark in capsys.readouterr().out


def test_manual_pages(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man", "pages"]) == 0
    text = Path("pages/ktc-check.1").read_text()
    assert text.startswith('.TH "KTC-CHECK" "1"') and "ktc check \\-\\-fix src" in text
    assert {"ktc.1", "ktc-build.1", "ktc-test.1"} <= set(os.listdir("pages"))


def test_help_has_examples_codes_and_variables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["ktc", "--help"])
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name, _ in ENVIRONMENT) and "internal compiler error" in said
    assert max(map(len, said.splitlines())) <= 80
    monkeypatch.setattr(sys, "argv", ["ktc", "build", "--help"])
    assert main(["build", "--help"]) == 0
    assert "ktc build prog.kpy --time" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["targets"], ["doctor"], ["cache", "info"]])
def test_json(place: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_tables_fit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["targets"], ["explain"], ["doctor"]):
        assert main(words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert all(len(line) <= 80 or " " not in line.split("  ")[-1] for line in lines)


def test_colours_can_be_forced() -> None:
    assert config.color_enabled(False, {"FORCE_COLOR": "1"})
    assert not config.color_enabled(True, {"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert not config.color_enabled(False, {})


def test_every_environment_variable_is_documented() -> None:
    """What ktc and its programs read from the environment stands in docs/tools.md; `KTC_TUNE_REPORT` is internal."""
    root = Path(__file__).parents[3]
    sources = [*(root / "toolchain").rglob("*.py"), *(root / "stdlib").rglob("*.kpy")]
    read = re.compile(r"""(?:getenv\(|environ(?:\.get\(|\[)|\.get\()\s*"((?:KTC|MOJO)_[A-Z_]+)\"""")
    found = {name for path in sources for name in read.findall(path.read_text("utf-8"))}
    page = (root / "docs" / "tools.md").read_text("utf-8")
    assert len(found) > 8 and {name for name in found if f"`{name}`" not in page} <= {"KTC_TUNE_REPORT"}


@pytest.mark.parametrize(
    ("option", "meant"), [("--traget", "--target-accelerator"), ("--target-acelerator", "--target-accelerator"),
                          ("--targt-cpu", "--target-cpu"), ("--chekc", "--check"), ("--outputs", None)]
)  # fmt: skip
def test_misspelt_options(place: Path, option: str, meant: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", option, "a.kpy"]) == 2
    said = capsys.readouterr().err
    assert (f"Did you mean '{meant}'?" if meant else f"No such option '{option}'.") in said


def test_options_after_the_file_are_named(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They go to the program, which is told; after `--` that is what was meant."""
    Path("a.kpy").write_text("from sys import argv\n\n\ndef main():\n    print(len(argv()))\n")
    assert main(["run", "-O0", "a.kpy", "--check", "-O2", "--own", "x"]) == 0
    out, said = capfd.readouterr()
    assert out == "5\n"
    assert said.splitlines() == [
        f"ktc: '{word}' goes to the program; options of ktc come before the file: ktc run {word} a.kpy"
        for word in ("--check", "-O2")
    ]
    assert main(["run", "-O0", "a.kpy", "--", "--check"]) == 0
    assert capfd.readouterr() == ("3\n", "")


def test_assembly_has_the_functions_of_the_program(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.kpy").write_text(
        "from sys import argv\n\n\n@no_inline\nfn twice(x: Int) -> Int:\n    return 2 * x\n\n\n"
        "def main():\n    print(twice(len(argv())))\n"
    )
    assert main(["emit", "--kind", "asm", "a.kpy"]) == 0
    own = capsys.readouterr().out
    assert main(["emit", "--kind", "asm", "--all", "a.kpy"]) == 0
    whole = capsys.readouterr().out
    functions = re.findall(r"^\t\.type\t(\w+)\S*,@function", own, re.MULTILINE)
    assert functions == ["main", "twice"]
    for part in re.split(r"\n\n", own.partition("\n# ")[0]):
        assert part.strip("\n") in whole
    assert own.endswith("functions of the library and the data are left out; '--all' shows them\n")
    assert main(["emit", "--kind", "asm", "-o", "a.s", "a.kpy"]) == 0
    assert Path("a.s").read_text() == whole, "a file can be assembled"


def test_a_report_without_a_gpu(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktc.config.local_gpus", lambda *_: ())
    monkeypatch.setattr(import_module("ktc.emit.tools"), "find_ptxas", lambda: None)
    assert main(["report", "--json", str(ROOT / "examples/vector_addition.kpy")]) == 0
    out, said = capsys.readouterr()
    assert '"gfx942"' in out
    assert said.startswith("ktc: no GPU here: the report is for gfx942; --target-accelerator names others\n")
