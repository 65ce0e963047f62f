"""Fixes for habits from other languages: what the edits make of a program."""

from dataclasses import dataclass

import pytest
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic
from ktc.diag.fixes import applied, fixes
from ktc.diag.source import Source, Span


@dataclass(frozen=True)
class Habit:
    code: Code
    text: str
    wrong: str
    help: str
    repaired: str
    is_safe: bool


HABITS = (
    Habit(Code.SYNTAX_ERROR, 'del d["a"]\n', "del", "write '_ = d.pop(\"a\")'", '_ = d.pop("a")\n', True),
    Habit(Code.UNKNOWN_ARGUMENT, "f(x, grid=4)\n", "grid=4", "the name is 'grid_dim'", "f(x, grid_dim=4)\n", True),
    Habit(Code.UNDEFINED_NAME, "var x: int = 3\n", "int", "the type is called 'Int'", "var x: Int = 3\n", True),
    Habit(Code.INVALID_LITERAL, "var x = 2.0f\n", "2.0f", "write 'Float32(2.0)'", "var x = Float32(2.0)\n", True),
    Habit(
        Code.UNDEFINED_NAME, "# a\nfn f():\n    threadIdx.x\n", "threadIdx",
        "write 'thread_idx', from the module 'gpu'",
        "# a\nfrom gpu import thread_idx\nfn f():\n    thread_idx.x\n", False,
    ),
    Habit(
        Code.UNDEFINED_NAME, "from gpu import barrier\n__syncthreads()\n", "__syncthreads",
        "write 'barrier()', from the module 'gpu'", "from gpu import barrier\nbarrier()\n", False,
    ),
    Habit(
        Code.TYPE_MISMATCH, "n = 7 / 2\n", "7 / 2", "write '//' for integer division", "n = 7 // 2\n", False,
    ),
)  # fmt: skip


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.wrong)
def test_habits(habit: Habit) -> None:
    source = Source("a.kpy", habit.text)
    start = habit.text.index(habit.wrong)
    found = fixes(Diagnostic(habit.code, Span(source, start, start + len(habit.wrong)), "wrong", habit.help))
    assert applied(source, list(found[0].edits)) == habit.repaired
    assert found[0].is_safe == habit.is_safe


def test_two_quotients_are_left_alone() -> None:
    source = Source("a.kpy", "n = 7 / 2 / 3\n")
    help = "write '//' for integer division"
    assert fixes(Diagnostic(Code.TYPE_MISMATCH, Span(source, 4, 13), "wrong", help)) == []
