"""What a first look finds doubtful: gathered for each block, and passed to the library at its end.

Input: the text of a kernel in loops, with calls of `DOUBT`. Output: the same with a place for each block's doubts.
"""

import itertools
import re

from ktc.emit.workgroups.strips.segments import STRIP_LANES
from ktc.targets.cpu import DOUBT

_SUSPECT = '@"var$ktc.check.suspect"'
_DOUBTED = "%ktc.doubted"
_DOUBTED_LANES = "%ktc.doubted.lanes"
_DOUBTS = re.compile(
    rf"^ *(?:tail )?call void @{re.escape(DOUBT)}\(i1 ([^,)]+)(?:, i64 ([^,)]+), (!llvm[^)]+))?\).*$", re.MULTILINE
)
_OF_LANES = f"<{STRIP_LANES} x i8>"
_TOLD = (
    f"  %ktc.doubted.one = load i8, ptr {_DOUBTED}",
    f"  %ktc.doubted.row = load {_OF_LANES}, ptr {_DOUBTED_LANES}, align {STRIP_LANES}",
    f"  %ktc.doubted.any = call i8 @llvm.vector.reduce.or.v{STRIP_LANES}i8({_OF_LANES} %ktc.doubted.row)",
    "  %ktc.doubted.now = or i8 %ktc.doubted.one, %ktc.doubted.any",
    "  %ktc.doubted.wide = zext i8 %ktc.doubted.now to i64",
    f"  %ktc.suspect.was = load i64, ptr {_SUSPECT}, align 8",
    "  %ktc.suspect.now = or i64 %ktc.suspect.was, %ktc.doubted.wide",
    f"  store i64 %ktc.suspect.now, ptr {_SUSPECT}, align 8",
)


def with_beginning(text: str, entry: str, shared: list[tuple[int, int, int]]) -> str:
    """Have each block of a form in loops gather its doubts, and begin with shared memory that was never written."""
    head = re.compile(rf'define [^\n]*@"?{re.escape(entry)}\.block"?\([^\n]*\n(?:[^\n ]*:[^\n]*\n)?')
    start = head.search(text)
    assert start is not None
    end = text.index("\n}", start.end())
    lines = [
        f"  {_DOUBTED} = alloca i8",
        f"  store i8 0, ptr {_DOUBTED}",
        f"  {_DOUBTED_LANES} = alloca {_OF_LANES}, align {STRIP_LANES}",
        f"  store {_OF_LANES} zeroinitializer, ptr {_DOUBTED_LANES}, align {STRIP_LANES}",
    ]
    if "@__ktc_check_shared_own()" in text:
        lines += [f"  call void @__ktc_check_begin_block(i64 {at}, i64 {size}, i64 {one})" for at, size, one in shared]
    numbers = itertools.count()
    body = _DOUBTS.sub(lambda match: _gathered(match, next(numbers)), text[start.end() : end])
    body = body.replace("\n  ret void", "\n" + "\n".join(_TOLD) + "\n  ret void")
    rest = re.sub(rf"^declare .*@{re.escape(DOUBT)}\(.*\n", "", text[end:], flags=re.MULTILINE)
    before = re.sub(rf"^declare .*@{re.escape(DOUBT)}\(.*\n", "", text[: start.end()], flags=re.MULTILINE)
    declared = [
        "declare void @__ktc_check_begin_block(i64, i64, i64)",
        f"{_SUSPECT} = external hidden global i64, align 8",
        f"declare i8 @llvm.vector.reduce.or.v{STRIP_LANES}i8({_OF_LANES})",
    ]
    return before + "\n".join([*lines, f"{body}{rest}", *declared, ""])


def _gathered(doubt: re.Match[str], number: int) -> str:
    """Return how a doubt is kept: LLVM makes one value of it for a whole loop; in strips, each lane has its own."""
    is_bad, lane, access = doubt.groups()
    at, place = f"%ktc.doubt.{number}", _DOUBTED
    lines = [f"  {at} = zext i1 {is_bad} to i8"]
    if lane:
        place, access = f"{at}.place", f", {access}"
        lines.append(f"  {place} = getelementptr inbounds i8, ptr {_DOUBTED_LANES}, i64 {lane}")
    return "\n".join(
        [
            *lines,
            f"  {at}.was = load i8, ptr {place}, align 1{access or ''}",
            f"  {at}.now = or i8 {at}.was, {at}",
            f"  store i8 {at}.now, ptr {place}, align 1{access or ''}",
        ]
    )
