"""llvm_text finds what LLVM's own reader finds: functions, blocks, instructions, types, operands."""

from pathlib import Path

import pytest
from against_llvm import differences

FIXTURES = sorted(Path(__file__).with_name("fixtures").glob("*.ll"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_texts_of_several_versions(path: Path) -> None:
    assert differences(path.read_text("utf-8")) == []


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from ktc.emit.llvm_text.instructions import Instruction

    monkeypatch.setattr(Instruction, "targets", [])
    found = differences(FIXTURES[0].read_text("utf-8"))
    assert found and all("targets" in one for one in found)
