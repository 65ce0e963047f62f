"""Suspects: findings of the fast path, gathered in each block and passed to the library at its end.

Input: the text of a kernel in loops, with calls of `SUSPECT`. Output: the same with a place for each block's doubts.
"""

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.workgroups.lane_groups.segments import GROUP_LANES
from ktc.targets.cpu import SUSPECT

_SUSPECT = '@"var$ktc.check.suspect"'
_DOUBTED = "%ktc.doubted"
_DOUBTED_LANES = "%ktc.doubted.lanes"
_OF_LANES = f"<{GROUP_LANES} x i8>"
_TOLD = (
    f"  %ktc.doubted.one = load i8, ptr {_DOUBTED}",
    f"  %ktc.doubted.row = load {_OF_LANES}, ptr {_DOUBTED_LANES}, align {GROUP_LANES}",
    f"  %ktc.doubted.any = call i8 @llvm.vector.reduce.or.v{GROUP_LANES}i8({_OF_LANES} %ktc.doubted.row)",
    "  %ktc.doubted.now = or i8 %ktc.doubted.one, %ktc.doubted.any",
    "  %ktc.doubted.wide = zext i8 %ktc.doubted.now to i64",
    f"  %ktc.suspect.was = load i64, ptr {_SUSPECT}, align 8",
    "  %ktc.suspect.now = or i64 %ktc.suspect.was, %ktc.doubted.wide",
    f"  store i64 %ktc.suspect.now, ptr {_SUSPECT}, align 8",
)


def with_beginning(text: str, entry: str, shared: list[tuple[int, int, int]]) -> str:
    """Have each block of a form in loops gather its doubts, and begin with shared memory that was never written."""
    module = Module(text)
    at = module.place_of(f"{entry}.block")
    made: list[str] = []
    number = 0
    for line in module.entities[at].split("\n"):
        if f"@{SUSPECT}(" in line:
            made += _gathered(Instruction(line), number)
            number += 1
        else:
            made += [*_TOLD, line] if line.startswith("  ret ") else [line]
    module.entities[at] = "\n".join(made)
    lines = [
        f"  {_DOUBTED} = alloca i8",
        f"  store i8 0, ptr {_DOUBTED}",
        f"  {_DOUBTED_LANES} = alloca {_OF_LANES}, align {GROUP_LANES}",
        f"  store {_OF_LANES} zeroinitializer, ptr {_DOUBTED_LANES}, align {GROUP_LANES}",
    ]
    if "@__ktc_check_shared_own()" in text:
        lines += [f"  call void @__ktc_check_begin_block(i64 {at}, i64 {size}, i64 {one})" for at, size, one in shared]
    module.begin(f"{entry}.block", lines)
    module.drop_declarations(lambda symbol: symbol == SUSPECT)
    module.add([
        "declare void @__ktc_check_begin_block(i64, i64, i64)",
        f"{_SUSPECT} = external hidden global i64, align 8",
        f"declare i8 @llvm.vector.reduce.or.v{GROUP_LANES}i8({_OF_LANES})",
    ])  # fmt: skip
    return module.text()


def _gathered(doubt: Instruction, number: int) -> list[str]:
    """Return the lines that keep a suspect: LLVM makes one value for a loop; in lane groups each lane has one."""
    is_bad, *lanes = doubt.values
    at, place, access = f"%ktc.doubt.{number}", _DOUBTED, doubt.attachments if lanes else ""
    lines = [f"  {at} = zext i1 {is_bad} to i8"]
    if lanes:
        place = f"{at}.place"
        lines.append(f"  {place} = getelementptr inbounds i8, ptr {_DOUBTED_LANES}, i64 {lanes[0]}")
    return [
        *lines,
        f"  {at}.was = load i8, ptr {place}, align 1{access}",
        f"  {at}.now = or i8 {at}.was, {at}",
        f"  store i8 {at}.now, ptr {place}, align 1{access}",
    ]
