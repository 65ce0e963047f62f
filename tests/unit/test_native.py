"""ktc's own modules, compiled: what is written out for mypyc, and when it is used. `.ci/run` compiles for real."""

import ast
import builtins
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ktc
import ktc.grammar
import pytest
from ktc import native
from ktc.native import PACKAGES
from ktc.native.__main__ import INTERPRETED
from ktc.native.match_expansion import without_matches
from ktc.native.record_expansion import written_out

TEXT = '''"""A module."""

import operator
from dataclasses import field
from typing import Any, ClassVar

from ktc.base.records import entity, record


class Base:
    """Without fields."""

    __slots__ = ()


@record
class Point(Base):
    """Two numbers, and a note that does not count."""

    count: ClassVar[int] = 7
    x: int
    y: int = operator.add(
        1, 2
    )  # a default on three lines
    note: Any = field(default=None, compare=False)

    def moved(self) -> "Point":
        """A method of its own."""
        return Point(self.x + 1, self.y)


@record
class Loud:
    name: str

    def __repr__(self) -> str:
        return self.name.upper()


@entity
class Shelf:
    at: int
    books: "list[Loud]" = field(default_factory=list)


@entity
class Board(Shelf):
    width: float = 1.5
'''

EXPRESSIONS = """
Point(1) == Point(1, 3, "note")
Point(1) == Point(1, 4)
Point(1) == 1
hash(Point(1, note=2)) == hash(Point(x=1, y=3))
repr(Point(1)), repr(Loud("a"))
Point(1).moved().x, Point.count, Point.__match_args__
Shelf(1) == Shelf(1)
Shelf(1).books, repr(Shelf(1, [Loud("b")]).books)
Shelf(1).books is Shelf(1).books
Board(1, width=2.5).width, Board(1).books, Board.__match_args__
[point.x for case in (Point(5), 5) for point in [case] if isinstance(point, Point)]
""".strip().split("\n")


def module_of(text: str, name: str) -> dict[str, Any]:
    module = type(sys)(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), vars(module))
    return vars(module)


def test_records_written_out_do_what_they_did() -> None:
    before, after = module_of(TEXT, "before"), module_of(written_out(TEXT), "after")
    assert [eval(line, before) for line in EXPRESSIONS] == [eval(line, after) for line in EXPRESSIONS]
    point = pickle.loads(pickle.dumps(after["Point"](4, note="n")))
    assert point == after["Point"](4) and point.note == "n"


def test_a_record_has_the_fields_of_one_of_another_module() -> None:
    module_of(written_out(TEXT), "other")
    imports = "from other import Board\nfrom ktc.base.records import entity\n\n\n"
    text = f"{imports}@entity\nclass Case(Board):\n    name: str = ''\n"
    case = module_of(written_out(text, {"other": TEXT}.__getitem__), "case")["Case"]
    assert [getattr(case(1, [2], 3.0, "p"), field) for field in case.__match_args__] == [1, [2], 3.0, "p"]


MATCHES = """
class Leaf:
    __match_args__ = ("value", "mark")

    def __init__(self, value, mark=None):
        self.value, self.mark = value, mark


class Pair:
    __match_args__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right


class Twig(Leaf):
    pass


def shape(tree):
    match tree:
        case Twig():
            return "twig"
        case Leaf(int(value)) if value > 9:  # its guard speaks of what it names
            return f"great {value}"
        case Leaf(value, None):
            return f"leaf {value}"
        case Leaf("x" | "y", mark=mark):
            return f"marked {mark}"
        case Pair(Leaf() as left, right=Pair(_, right)):
            match right:
                case Leaf(value):
                    return f"{left.value} {value}"
            return "inner"
        case Leaf(mark=Pair(left)):
            return f"pair of a leaf {left}"
        case Pair(left):
            return f"pair {shape(left)}"
        case None | True:
            return "none"
        case -1 | "text":
            return "literal"
        case _ if isinstance(tree, list):
            return "list"
        case other:
            return f"other {other}"


def kind(tree):
    found = "nothing"
    for one in (tree, [tree]):
        match type(one).__name__:
            case "Leaf" | "Pair" as name:
                found = name
            case "list":
                found += "s"
            case _:
                continue
    return found


def first(tree):
    match tree:
        case Pair(left=Pair(left=tree)) | Pair(left=tree):
            return tree
        case Leaf(value=tree):
            return tree
    return "no"


def both(tree):
    match tree:
        case (one, two):
            return f"two {one} {two}"


def plain(tree):
    match tree:
        case Pair(tree, right) if right != 9:
            return plain(tree), right
        case Leaf() | Twig():
            return tree.value
        case str(tree) | int(tree):
            return tree
    return None
"""

TREES = """
Leaf(3), Leaf(12), Leaf(3, 4), Leaf("x", 5), Leaf("z", Pair(1, 2)), Twig(1), Pair(Leaf(1), 2), (1, 2), (1, 2, 3),
Pair(Leaf(1), Pair(2, Leaf(7))), Pair(Leaf(1), Pair(2, 3)), Pair(Pair(Leaf(8), 1), 2), None, True, -1, "text", [4], 5.5
"""


def test_matches_written_out_do_what_they_did() -> None:
    before = module_of(MATCHES, "trees")
    text = without_matches(MATCHES, {**vars(builtins), **before}.get)
    after = module_of(written_out(text), "trees")
    for name in ("shape", "kind", "first", "both", "plain"):
        for place in range(18):
            value = eval(f"({TREES})[{place}]", before), eval(f"({TREES})[{place}]", after)
            wanted, made = before[name](value[0]), after[name](value[1])
            assert repr(wanted).partition(" at 0x")[0] == repr(made).partition(" at 0x")[0], (name, place)
    # sequences, and a name that alternatives find in different places, are not written out
    left = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Match)]
    assert [ast.unparse(node.cases[0].pattern) for node in left] == [
        "Pair(left=Pair(left=tree)) | Pair(left=tree)",
        "[one, two]",
    ]


def test_a_guard_speaks_of_places_and_not_of_names() -> None:
    text = "match x:\n    case A(b=c) if c > d:\n        c()\n    case B(b=c):\n        pass\n"
    kinds: dict[str, Any] = {"A": type("A", (), {"__annotations__": {"b": "int"}}), "B": type("B", (), {})}
    assert without_matches(text, kinds.get) == (
        "if True:\n"
        "    if isinstance(x, A) and (x.b > d):\n        c = _unchecked(_Any, x.b)\n        c()\n"
        "    elif isinstance(x, B):\n        c = _unchecked(_Any, x.b)\n        pass\n"
    )
    assert without_matches(text, {"A": kinds["A"]}.get) == text  # an unknown class


def test_constants_are_final() -> None:
    text = (
        "import x\n\nMANY = 5\nBY: Mapping[str, int] = MappingProxyType({\n    'a': 1\n})\nT = TypeVar('T')\nlast = 1\n"
    )
    made = written_out(text)
    assert "MANY: _Final = 5\nBY: _Final[dict[str, int]] = ({\n    'a': 1\n})\nT = TypeVar('T')\nlast = 1\n" in made
    changed = written_out(text + "def f():\n    global MANY\n    MANY = 6\n")
    assert "\nMANY = 5\n" in changed


def test_lines_without_records_stay() -> None:
    made = written_out(TEXT).split("\n")
    gone = [line for line in TEXT.split("\n") if line and line not in made]
    assert gone[:3] == ["import operator", "    __slots__ = ()", "@record"]
    of_default = ("1, 2", ")  # a default on three lines")
    assert not [
        line for line in gone[3:] if "=" not in line and line.strip() not in (*of_default, "@record", "@entity")
    ]


def test_compiled_modules_are_used_only_for_their_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "STAMP", str(tmp_path / "stamp.txt"))
    monkeypatch.delenv("KTC_NATIVE", raising=False)
    assert native.folders() == []
    (tmp_path / "stamp.txt").write_text(native.stamp())
    assert native.folders() == [native.FOLDER]
    monkeypatch.setenv("KTC_NATIVE", "0")
    assert native.folders() == []
    monkeypatch.delenv("KTC_NATIVE")
    (tmp_path / "stamp.txt").write_text(native.stamp().replace("cache.py", "other.py"))
    assert native.folders() == []


def test_installed_sources_are_identified_by_their_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, info = tmp_path / "ktc", tmp_path / "ktc-1.0.dist-info"
    for folder in (".", *native.PACKAGES, "native", "syntax", "targets"):
        (home / folder).mkdir(parents=True, exist_ok=True)
        (home / folder / "one.py").write_text("one = 1\n")
    monkeypatch.setattr(native, "HOME", str(home))
    seen = native.stamp()
    assert "\none.py 8 " in f"\n{seen}"
    info.mkdir()
    lines = ["ktc/ir/one.py,sha256=abc,8", "ktc/cli.py,sha256=def,8"]
    others = [
        "ktc/grammar/x.lark,sha256=1,1",
        "ktc/native/made/a/ir/y.py,sha256=2,1",
        "other/z.py,sha256=3,1",
        "ktc/a.pyc,,",
    ]
    (info / "RECORD").write_text("\n".join(lines + others))
    assert native.stamp().split("\n") == sorted(lines)
    os.utime(home / "ir" / "one.py", (2**32, 2**32))
    assert native.stamp() != seen and "sha256" not in native.stamp()


def test_sources_in_folders_of_folders_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "ktc"
    for folder in ("elaborate/calls/deep", "elaborate/calls/__pycache__", "native/made/a/ir"):
        (home / folder).mkdir(parents=True)
    deep = home / "elaborate" / "calls" / "deep" / "one.py"
    deep.write_text("one = 1\n")
    monkeypatch.setattr(native, "HOME", str(home))
    seen = native.stamp()
    assert seen.startswith("elaborate/calls/deep/one.py 8 ")
    for other in ("elaborate/calls/__pycache__/two.py", "native/made/a/ir/two.py", "elaborate/calls/two.txt"):
        (home / other).write_text("two = 2\n")
    assert native.stamp() == seen
    (home / "elaborate" / "calls" / "two.py").write_text("two = 2\n")
    assert native.stamp() != seen
    (home / "elaborate" / "calls" / "two.py").unlink()
    os.utime(deep, (1, 1))
    assert native.stamp() != seen


def test_every_source_is_part_of_the_stamp() -> None:
    home = Path(ktc.__file__).parent
    sources = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if "made" not in path.parts}
    lines = native.stamp().split("\n")
    recorded = {line.partition(",")[0].removeprefix("ktc/") for line in lines if ",sha256=" in line}
    assert (recorded or {line.partition(" ")[0] for line in lines}) == sources


def test_what_stays_interpreted_exists() -> None:
    home = Path(ktc.__file__).parent
    assert [name for name in sorted(INTERPRETED) if not (home / name).is_file()] == []
    assert [name for name in PACKAGES if not (home / name).is_dir()] == []


@pytest.mark.wide  # mypy reads all of ktc without its cache
def test_a_failed_compilation_leaves_no_files(tmp_path: Path) -> None:
    package = tmp_path / "ktc"
    here = Path(ktc.__file__).parent
    shutil.copytree(here, package, ignore=shutil.ignore_patterns("made", "grammar", "stdlib", "__pycache__"))
    shutil.copytree(next(iter(ktc.grammar.__path__)), package / "grammar")
    with open(package / "ir" / "types.py", "a") as file:
        file.write("\nWRONG: int = 'a text'\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "ktc.native"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "nothing was compiled" in done.stderr
    assert not (package / "native" / "made").exists()


def test_an_internal_error_of_compiled_modules_is_followed_by_python(tmp_path: Path, program_cache: Path) -> None:
    (tmp_path / "one.kpy").write_text("def main():\n    print(41 + 1)\n")
    code = """
import sys
from ktc import config, native
from ktc.cli import commands
native.is_used = lambda: True
config.resolve = None
sys.argv = ["ktc", "run", "--target-accelerator", "cpu", "one.kpy"]
commands.entry()
"""
    environment = {**os.environ, "KTC_CACHE_DIR": str(program_cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "internal error: TypeError" in done.stderr and "once more, without ktc's compiled modules" in done.stderr
