"""`ktc format --migrate 2026`: what programs become, that they print the same, and which places are listed.

Programs of tests/migration: NAME.kpy is of edition 2025, NAME.after what it becomes, NAME.out what both print. A
comment `# look: text` stands where a look is needed. Programs of examples/ that pages show stand there in both
editions. `python tests/test_migration.py` writes the NAME.after anew, and the examples of edition 2026.
"""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from programs import ROOT, TESTS, Program, check, environment, programs, run_ktc, shortened

FOLDER = TESTS / "migration"
PAIRS = sorted(path.stem for path in FOLDER.glob("*.kpy"))
PRINTING = [name for name in PAIRS if (FOLDER / f"{name}.out").exists()]
SAMPLE = frozenset((
    "tests/run/structs", "tests/run/raising", "tests/run/captures",
    "tests/run/next_by_reference", "tests/run/implicit_variables_in_loops", "tests/run/kernel_saxpy", "tests/run/simd",
))  # fmt: skip
"""Some of the programs of `make migrate-proof`, which takes all."""
EXAMPLES = sorted((ROOT / "examples").rglob("*.mojo"))
SHOWN_ONLY = frozenset(("collectives", "heat", "saxpy", "softmax"))
"""Examples of which pages show the text and no output."""
_LOOK = re.compile(r".*:(\d+):\d+: (.*) \[[\w-]+\]$", re.MULTILINE)


def migrated(name: str, folder: Path, cache: Path) -> tuple[Path, str]:
    """Migrate a copy of a program; return it, and what the command says."""
    copy = folder / f"{name}.kpy"
    copy.write_text((FOLDER / f"{name}.kpy").read_text("utf-8"), "utf-8")
    done = run_ktc(["format", "--migrate", "2026", str(copy)], cache, folder)
    assert done.returncode == 0, done.stderr
    return copy, done.stderr


@pytest.mark.parametrize("name", PAIRS)
def test_text(name: str, program_cache: Path, tmp_path: Path) -> None:
    """Each form becomes what it should, with its comments and lines; a second time nothing changes."""
    copy, said = migrated(name, tmp_path, program_cache)
    text = copy.read_text("utf-8")
    assert text == (FOLDER / f"{name}.after").read_text("utf-8")
    run_ktc(["format", "--migrate", "2026", str(copy)], program_cache, tmp_path)
    assert copy.read_text("utf-8") == text
    wanted = {
        number: line.partition("# look: ")[2] for number, line in enumerate(text.splitlines(), 1) if "# look: " in line
    }
    looks = {int(number): what for number, what in _LOOK.findall(said)}
    assert looks.keys() == wanted.keys(), said
    for number, what in wanted.items():
        assert what in looks[number]


@pytest.mark.parametrize("name", PRINTING)
def test_output(name: str, program_cache: Path, tmp_path: Path) -> None:
    """A program prints the same in both editions."""
    copy = tmp_path / f"{name}.mojo"
    copy.write_text((FOLDER / f"{name}.after").read_text("utf-8"), "utf-8")
    for path in (FOLDER / f"{name}.kpy", copy):
        done = run_ktc(["run", "-O0", "--target-accelerator", "cpu", str(path)], program_cache, tmp_path)
        check(Program(path, FOLDER / name), done)


@pytest.mark.parametrize("program", [one for one in programs() if one.name in SAMPLE], ids=lambda program: program.name)
def test_program(program: Program, program_cache: Path, tmp_path: Path) -> None:
    """A program that was written without a thought of edition 2026 prints the same there."""
    copy = tmp_path / program.source.name
    copy.write_text(program.source.read_text("utf-8"), "utf-8")
    done = run_ktc(["format", "--migrate", "2026", str(copy)], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "pyproject.toml").write_text('[tool.ktc]\nedition = "2026"\n')
    check(program, run_ktc(["run", "-O0", "--target-accelerator", "cpu", str(copy)], program_cache, tmp_path))


@pytest.mark.parametrize("path", shortened(EXAMPLES, 4), ids=lambda path: path.stem)
def test_example_is_the_migrated_one(path: Path, program_cache: Path, tmp_path: Path) -> None:
    """A program of examples/ in edition 2026 is what becomes of the same in edition 2025, in the style."""
    now = example(path, tmp_path, program_cache)
    assert path.read_text("utf-8") == now, "run: python tests/test_migration.py"


@pytest.mark.parametrize("path", [one for one in EXAMPLES if one.stem in SHOWN_ONLY], ids=lambda path: path.stem)
def test_example_prints_the_same(path: Path, program_cache: Path, tmp_path: Path) -> None:
    """It prints what it does in edition 2025; tests/test_documents.py runs those whose output a page shows."""
    program = Program(path, TESTS / "run" / "examples" / path.stem)
    words = ["run", "-O0", "--target-accelerator", "cpu", *program.words("flags"), str(path), *program.words("args")]
    check(program, run_ktc(words, program_cache, tmp_path))


def example(path: Path, folder: Path, cache: Path) -> str:
    """Return the text of an example in edition 2026, made in another folder of the one in edition 2025."""
    for module in path.parent.glob("*.kpy"):  # those that it imports
        shutil.copy(module, folder)
    copy = folder / f"{path.stem}.kpy"
    done = run_ktc(["format", "--migrate", "2026", str(copy)], cache, folder)
    assert done.returncode == 0, done.stderr
    run_ktc(["format", "--edition", "2026", str(copy)], cache, folder)
    return copy.read_text("utf-8")


def test_every_kind_of_change_is_made() -> None:
    """The programs of this folder show each row of the table, as a change or as a place that needs a look."""
    from ktc.base.editions import Edition
    from ktc.config import Options, open_cache, stdlib_folder
    from ktc.migration.files import migrate, titles
    from ktc.syntax.parsing.tables import load_tables

    options = Options(Path(), edition=Edition.Y2025)
    paths = [FOLDER / f"{name}.kpy" for name in PAIRS]
    made = set[str]()
    for one in migrate(paths, options, load_tables(open_cache()), stdlib_folder()):
        made |= {look.name for look in one.looks}
        made |= {change.rewrite.name for change in one.changes.changes} if one.changes is not None else set()
    assert {one.name for one in titles()} - made == set()


def test_check_repairs_with_the_same_changes(program_cache: Path, tmp_path: Path) -> None:
    """`ktc check --edition 2026 --fix` makes of a file of edition 2025 what the migration makes of it."""
    copy = tmp_path / "types.kpy"
    copy.write_text((FOLDER / "types.kpy").read_text("utf-8"), "utf-8")
    run_ktc(["check", "--edition", "2026", "--fix", str(copy)], program_cache, tmp_path)
    assert copy.read_text("utf-8") == (FOLDER / "types.after").read_text("utf-8")


def test_a_stray_form_has_a_fix(program_cache: Path, tmp_path: Path) -> None:
    """A form of edition 2025 in a text of edition 2026 is repaired alone, in editors too."""
    path = tmp_path / "mixed.mojo"
    path.write_text(
        "from std.math import sqrt\nalias N = 2\n\n\nfn f(owned x: Int) -> Int:\n    return x\n\n\n"
        "def main() raises:\n    @parameter\n    for i in range(N):\n        print(f(i), sqrt(4.0))\n"
    )
    words = ["check", "--edition", "2026", "--format", "json", str(path)]
    found = [json.loads(line) for line in run_ktc(words, program_cache, tmp_path).stdout.splitlines()]
    assert [one["fixes"][0]["title"] for one in found] == [
        "write 'comptime'", "write 'def'", "write 'var'", "write 'comptime'",
    ]  # fmt: skip
    run_ktc(["check", "--edition", "2026", "--fix", str(path)], program_cache, tmp_path)
    assert "comptime N = 2\n\n\ndef f(var x: Int) -> Int:" in path.read_text("utf-8")
    assert "    comptime for i in range(N):" in path.read_text("utf-8")


STRAY = {
    "raises": ("def f():\n    raise Error()\n", "def f() raises:\n    raise Error()\n"),
    "captures": (
        "def f():\n    var x = 1\n    def g():\n        print(x)\n    g()\n",
        "def f():\n    var x = 1\n    def g() {imm x}:\n        print(x)\n    g()\n",
    ),
    "closure": (
        "from std.algorithm import vectorize\n\ndef f():\n    var x = 0\n    def g[w: Int](i: Int) {mut x}:\n"
        "        x += w\n    vectorize[g, 4](10)\n",
        "from std.algorithm import vectorize\n\ndef f():\n    var x = 0\n    def g[w: Int](i: Int) {mut x}:\n"
        "        x += w\n    vectorize[4](10, g)\n",
    ),
    "list": (
        "def f():\n    var l = [1]\n    l.append(2)\n    var m = List[Int](1, 2)\n    print(m.capacity)\n",
        "def f():\n    var l: List[Int] = [1]\n    l.append(2)\n    var m: List[Int] = [1, 2]\n"
        "    print(m.capacity())\n",
    ),
    "text": (
        "def f(s: String, x: Int):\n    print(len(s), s[0], s[0:2], f'{x:>4}')\n",
        "from std.collections.string.format import format_value\n\n\ndef f(s: String, x: Int):\n"
        "    print(s.byte_length(), s[byte=0], s[byte=0:2], t'{format_value[\">4\"](x)}')\n",
    ),
    "elementwise": (
        "from max.algorithm.functional import elementwise\nfrom std.utils import IndexList\n\ndef f() raises:\n"
        "    @__parameter\n    def g[w: Int, rank: Int, alignment: Int = 1](i: IndexList[rank]) capturing:\n"
        "        print(i[0])\n    elementwise[g, 4](IndexList[2](3, 4))\n",
        "from max.gpu.host import DeviceContext\nfrom std.utils.coord import Coord, coord_to_index_list\n"
        "from max.algorithm.functional import elementwise\nfrom std.utils import IndexList\n\ndef f() raises:\n"
        "    @__parameter\n    def g[w: Int, alignment: Int = 1](coord: Coord) capturing:\n"
        "        var i = coord_to_index_list(coord)\n        print(i[0])\n"
        '    elementwise[g, 4](Coord(3, 4), DeviceContext(api="cpu"))\n',
    ),
}
"""Forms of edition 2025 in texts of edition 2026, and what `ktc check --fix --unsafe-fixes` makes of them."""


def test_stray_forms_are_repaired_by_their_types(program_cache: Path, tmp_path: Path) -> None:
    """What only types tell is repaired too, and what stands elsewhere than the error."""
    for name, (text, _) in STRAY.items():
        (tmp_path / f"{name}.mojo").write_text(text)
    files = [str(tmp_path / f"{name}.mojo") for name in STRAY]
    done = run_ktc(
        ["check", "--edition", "2026", "-W", "none", "--fix", "--unsafe-fixes", "-j", "1", *files],
        program_cache, tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    for name, (_, wanted) in STRAY.items():
        assert (tmp_path / f"{name}.mojo").read_text() == wanted, name


def test_check_and_diff_write_nothing(program_cache: Path, tmp_path: Path) -> None:
    """`--check` says which files would change and fails, `--diff` shows the changes."""
    path = tmp_path / "old.kpy"
    path.write_text("alias N = 1\n\n\nfn main():\n    print(N)\n")
    done = run_ktc(["format", "--migrate", "2026", "--check", str(path)], program_cache, tmp_path)
    assert (done.returncode, done.stdout) == (1, f"would migrate {path}\n")
    done = run_ktc(["format", "--migrate", "2026", "--diff", str(path)], program_cache, tmp_path)
    assert "-alias N = 1\n+comptime N = 1\n" in done.stdout
    assert path.read_text("utf-8").startswith("alias")


def test_a_wrong_program_is_left_alone(program_cache: Path, tmp_path: Path) -> None:
    """A program with errors is not migrated: what it means is not known."""
    path = tmp_path / "wrong.kpy"
    path.write_text("fn main():\n    print(x)\n")
    done = run_ktc(["format", "--migrate", "2026", str(path)], program_cache, tmp_path)
    assert done.returncode == 1
    assert "undefined-name" in done.stderr and "1 file not migrated" in done.stderr
    assert path.read_text("utf-8").startswith("fn main")


def test_modules_are_migrated_together(program_cache: Path, tmp_path: Path) -> None:
    """A program and its modules become edition 2026 at once; a function that raises says so in all of them."""
    (tmp_path / "parts.kpy").write_text(
        "def checked(x: Int) -> Int:\n    if x < 0:\n        raise Error('no')\n    return x\n"
    )
    (tmp_path / "main.kpy").write_text(
        "from parts import checked\n\n\ndef twice(x: Int) -> Int:\n    return checked(x)\n\n\n"
        "def main():\n    print(twice(2))\n"
    )
    done = run_ktc(["format", "--migrate", "2026", str(tmp_path)], program_cache, tmp_path)
    assert "2 files migrated" in done.stderr, done.stderr
    assert "def checked(x: Int) raises -> Int:" in (tmp_path / "parts.kpy").read_text("utf-8")
    assert "def twice(x: Int) raises -> Int:" in (tmp_path / "main.kpy").read_text("utf-8")
    assert run_ktc(["run", str(tmp_path / "main.kpy")], program_cache, tmp_path).stdout == "2\n"


def main() -> None:
    """Write what each program becomes now."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        cache = Path(environment(Path(folder)).get("KTC_CACHE_DIR", folder))
        for name in PAIRS:
            text = migrated(name, Path(folder), cache)[0].read_text("utf-8")
            (FOLDER / f"{name}.after").write_text(text, "utf-8")
            print((FOLDER / f"{name}.after").relative_to(ROOT))
        for path in EXAMPLES:
            path.write_text(example(path, Path(folder), cache), "utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
