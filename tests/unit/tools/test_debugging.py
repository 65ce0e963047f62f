"""`ktc debug`: the debugger that is started, and real sessions with gdb and lldb."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.tools.debug import _command, _main_line, _stop

PROGRAM = """def twice(n: Int) -> Int:
    var result = 2 * n
    return result

def main():
    var a = 4
    print(twice(a))
"""


def test_command_lines() -> None:
    words = _command("/usr/bin/gdb", Path("p"), ("a", "b"), ["run"], True)
    assert words[:3] == ["/usr/bin/gdb", "-q", "-batch"] and words[-6:] == ["-ex", "run", "--args", "p", "a", "b"]
    words = _command("lldb-18", Path("p"), ("a",), _stop("lldb-18", "x.kpy", 3), False)
    assert words[-7:] == ["-o", "breakpoint set --file x.kpy --line 3", "-o", "run", "--", "p", "a"]


@pytest.fixture
def place(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    Path("prog.kpy").write_text(PROGRAM)
    return tmp_path


def test_main_is_found(place: Path) -> None:
    assert _main_line(Path("prog.kpy")) == 6


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_is_driven(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["-x", "break prog.kpy:3", "-x", "continue", "-x", "print result", "-x", "bt 2"]
    assert main(["debug", "--batch", "--stop", *words, "prog.kpy"]) == 0
    said = capfd.readouterr().out
    assert "prog.kpy:6" in said and "$1 = 8" in said and "#1 " in said and ") at prog.kpy:7" in said


SHOWN = {
    "strings": [
        'short = "héllo"', 'long = "A TEXT THAT IS TOO LONG', 'constant = "shared with', 'slice = "shared with',
        'error = "nothing is wrong"', '{name = "iron", sizes = List[Int] of 2 items = {2, 6}, mass = 55.',
    ],
    "collections": [
        "numbers = List[Int] of 3 items = {10, 20, 30}", 'names = List[String] of 2 items = {"ada", "grace"}',
        'ages = Dict[String, Int] of 2 items = {["ada"] = 36, ["grace"] = 85}', "seen = Set[Int] of 2 items = {7, 8}",
        "queue = Deque[Int] of 3 items = {0, 1, 2}", "chain = LinkedList[Int] of 2 items = {4, 5}",
        'counts = Counter[String] of 1 item = {["b"] = 2}',
        "nested = List[List[Int]] of 2 items = {List[Int] of 1 item = {1}, List[Int] of 2 items = {2, 3}}",
    ],
    "others": [
        "some = Optional[Int] = {value = 7}", "nothing = None", 'either = Variant[Int, String] = {_1 = "text"}',
        "pair = {1, 2.5, true}", "array = {9, 9, 9}", "vector = {1, 2, 3, 4}",
        "shared = ArcPointer[List[Int]] = {value = List[Int] of 2 items = {1, 2}}",
        "owned = OwnedPointer[Int] = {value = 4}", "bytes = Span[UInt8, StaticConstantOrigin] of 2 items = {97 'a', 98",
    ],
    "tensors": [
        "tile = LayoutTensor of 2 x 2 float32 = {[0, 0] = 0, [0, 1] = 1, [1, 0] = 2, [1, 1] = 3}",
        "columns = LayoutTensor of 2 x 3 float32 = {[0, 0] = 0, [0, 1] = 2, [0, 2] = 4, [1, 0] = 1",
        "rows = LayoutTensor of 3 x 2 float32 = {[0, 0] = 0, [0, 1] = 1, [1, 0] = 2, [1, 1] = 3, [2, 0] = 4",
    ],
    "kernel": ["tile = LayoutTensor of 2 x 2 float32 = {[0, 0] = 3", "twice = 6"],
    "launched": ["buffer = DeviceBuffer[DType.float32] of 4 elements"],
}  # fmt: skip
"""What gdb shows near the end of each function of fixtures/debugged.kpy."""
FIXTURE = Path(__file__).parents[2] / "fixtures" / "debugged.kpy"


def _stop_line(function: str) -> int:
    """Return the line where a function begins to use its variables: values end with their last use."""
    lines = FIXTURE.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if re.match(rf"(fn|def) {function}\b", line))
    end = next(i for i in range(at + 1, len(lines)) if re.match(r"\S", lines[i]) and not lines[i].startswith("def __"))
    used = [i for i in range(at, end) if lines[i].startswith("    var total")]
    return (used or [max(i for i in range(at, end) if lines[i].strip())])[0] + 1


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_prints_values_of_the_library(place: Path) -> None:
    """The executable carries the printers: plain gdb loads them from a folder that it trusts."""
    assert main(["build", "-g", "-O0", "--target-accelerator", "cpu", str(FIXTURE), "-o", "debugged"]) == 0
    words = ["gdb", "-q", "-nx", "-batch", "-iex", f"add-auto-load-safe-path {place}", "-ex", "set width 0"]
    for function in SHOWN:
        words += ["-ex", f"tbreak debugged.kpy:{_stop_line(function)}"]
    words += ["-ex", "run", *["-ex", "info args", "-ex", "info locals"]]
    for _ in SHOWN:
        words += ["-ex", "continue", "-ex", "info args", "-ex", "info locals"]
    said = subprocess.run([*words, "./debugged"], capture_output=True, text=True, check=False, timeout=60)
    assert "Python Exception" not in said.stdout + said.stderr
    for function, parts in SHOWN.items():
        for part in parts:
            assert part in said.stdout, (function, part, said.stdout)


@pytest.mark.slow
def test_executables_without_variables_carry_no_printers(place: Path) -> None:
    assert main(["build", "-g1", "prog.kpy"]) == 0
    assert b"gdb.inlined.ktc" not in Path("prog").read_bytes()
    assert main(["build", "-g", "prog.kpy"]) == 0
    assert b"\4gdb.inlined.ktc\n" in Path("prog").read_bytes()


def _lldb_has_python() -> bool:
    found = shutil.which("lldb")
    if found is None:
        return False
    words = [found, "--no-lldbinit", "--batch", "-o", "script print(6 * 7)"]
    return "\n42" in subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout


@pytest.mark.skipif(not _lldb_has_python(), reason="there is no lldb with Python")
def test_lldb_prints_values_of_the_library(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [word for name in ("collections", "others") for word in ("-x", f"b debugged.kpy:{_stop_line(name)}")]
    words += ["-x", "run", "-x", "frame variable", "-x", "continue", "-x", "frame variable"]
    assert main(["debug", "--debugger", "lldb", "--batch", *words, str(FIXTURE)]) == 0
    said = " ".join(capfd.readouterr().out.split())
    for part in (
        "numbers = List[Int] of 3 items { [0] = 10", '[0] = "ada" [1] = "grace"', 'key = "grace" value = 85',
        "nothing = None", "some = Optional[Int] { value = 7 }", '_1 = "text"',
    ):  # fmt: skip
        assert part in said, (part, said)


def test_mistakes(place: Path) -> None:
    assert main(["debug", "--debugger", "nonsense", "prog.kpy"]) == 2
    Path("prog.kpy").write_text("def main():\n    x\n")
    assert main(["debug", "--debugger", "true", "prog.kpy"]) == 1
