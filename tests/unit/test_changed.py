"""Which tests `make quick` runs for a change."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from changed import ALWAYS, BESIDE, ROOT, affected


def test_a_room_has_its_tests() -> None:
    assert affected([]) == [ALWAYS]
    assert affected(["toolchain/ir/ops.py", "toolchain/ir/nodes/units.py"]) == ["tests/unit/ir", ALWAYS]
    assert "tests/unit/test_guard.py" in affected(["toolchain/driver/guard.py"])
    assert affected(["tests/unit/passes/test_passes.py", "stdlib/prelude.kpy"]) == [
        "tests/unit/passes/test_passes.py", ALWAYS,
    ]  # fmt: skip


def test_all_that_is_named_exists() -> None:
    assert [path for paths in BESIDE.values() for path in paths if not (ROOT / path).exists()] == []
