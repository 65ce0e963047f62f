"""Which tests `make quick` runs for a change."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from changed import ALWAYS, BESIDE, ROOT, affected, functions_at
from reach import Reach, added, read


def test_a_function_has_the_tests_that_reach_it() -> None:
    reach = Reach(["a", "b", "c"], [0.1, 0.2, 0.3], {
        ("toolchain/ir/ops.py", "fold"): [1, 0], ("toolchain/ir/ops.py", "lower"): [2],
        ("toolchain/ir/other.py", "f"): [0],
    })  # fmt: skip
    assert reach.of_function("toolchain/ir/ops.py", "fold") == [1, 0]
    assert reach.of_function("toolchain/ir/ops.py", "new") == [1, 2, 0], "those of the file, the first of each function"
    assert reach.of_function("toolchain/ir/gone.py", "") == [1, 2, 0], "those of the folder"
    assert reach.of_function("toolchain/none/at_all.py", "") == []


def test_a_room_is_added_to_the_list() -> None:
    old = Reach(["f.py::a", "f.py::gone", "g.py::b"], [1, 2, 3], {
        ("toolchain/x.py", "f"): [0, 1], ("toolchain/x.py", "g"): [1], ("toolchain/y.py", "h"): [2],
    })  # fmt: skip
    new = Reach(["f.py::c"], [4], {("toolchain/x.py", "f"): [0], ("toolchain/z.py", "new"): [0]})
    both = added(old, new, {"f.py::a", "f.py::c"}, ["f.py"])
    assert {key: [both.tests[one] for one in tests] for key, tests in both.functions.items()} == {
        ("toolchain/x.py", "f"): ["f.py::a", "f.py::c"], ("toolchain/y.py", "h"): ["g.py::b"],
        ("toolchain/z.py", "new"): ["f.py::c"],
    }  # fmt: skip
    assert dict(zip(both.tests, both.seconds, strict=True)) == {"f.py::a": 1, "f.py::c": 4, "g.py::b": 3}
    assert "f.py::gone" in added(old, new, {"f.py::a", "f.py::c"}, []).tests, "not all of the file was run"


def test_lines_belong_to_functions(tmp_path: Path) -> None:
    python, library = tmp_path / "a.py", tmp_path / "a.kpy"
    python.write_text(
        "X = 1\n\n\nclass A:\n    def f(self):\n        def g():\n            return 1\n        return g\n"
    )
    assert functions_at(python, {1}) == {""}
    assert functions_at(python, {7}) == {"A.f.g"}
    assert functions_at(python, {8}) == {"A.f"}
    library.write_text(
        "alias X = 1\n\nstruct A:\n    var x: Int\n\n    fn f(self):\n        pass\n\n\nfn g():\n    pass\n"
    )
    assert functions_at(library, {7, 11}) == {"A.f", "g"}
    assert functions_at(library, {4}) == {"A"}


def test_changed_tests_and_programs_are_run() -> None:
    files = ["tests/unit/passes/test_passes.py", "tests/run/strings.kpy", "tests/errors/aliases.kpy", "README.md"]
    assert affected(dict.fromkeys(files), Reach()) == [ALWAYS, files[0], "tests/run/strings", "aliases"]
    assert affected({"toolchain/native/__main__.py": {1}}, Reach()) == [ALWAYS, *BESIDE["native"]]
    assert affected({"stdlib/nn/normalization.kpy": {1}}, Reach()) == [ALWAYS, "tests/run/kernels_once"]
    assert "tests/run/edition2026/iterators" in affected({"stdlib/itertools/edition_2026.kpy": {29}}, Reach())


def test_the_list_names_tests_of_most_rooms() -> None:
    reach = read()
    rooms = {path.parent for path in (ROOT / "toolchain").rglob("*.py") if "made" not in path.parts}
    known = {(ROOT / path).parent for path, _ in reach.functions}
    assert len(rooms - known) < len(rooms) / 4, sorted(str(one.relative_to(ROOT)) for one in rooms - known)
    assert all((ROOT / path).exists() for path in {name.partition("::")[0] for name in reach.tests}), "make it again"
