"""Blocks that end alike."""

from ktc.codegen.tail_merging import share_exits


def lines(text: str) -> list[str]:
    return [line if line.endswith(":") else f"  {line}" for line in text.strip().splitlines()]


def test_ends_are_shared_part_by_part() -> None:
    made = share_exits(
        lines("""
br i1 %x, label %a, label %b
a:
call void @d(ptr %1)
call void @d(ptr %2)
ret i1 true
b:
call void @d(ptr %1)
call void @d(ptr %2)
ret i1 true
c:
%r = call i1 @f()
call void @d(ptr %2)
ret i1 true
d:
call void @d(ptr %3)
ret i1 true
""")
    )
    assert made == lines("""
br i1 %x, label %a, label %b
a:
br label %out2
b:
br label %out2
c:
%r = call i1 @f()
br label %out1
d:
call void @d(ptr %3)
ret i1 true
out1:
call void @d(ptr %2)
ret i1 true
out2:
call void @d(ptr %1)
br label %out1
""")


def test_what_two_shared_ends_have_in_common_is_a_block_too() -> None:
    ends = ["call void @d(ptr %1)", "call void @e(ptr %1)"]
    text = "\n".join(f"{end}\nstore i64 1, ptr %p\nbr label %handler" for end in ends * 2)
    made = share_exits(lines(text))
    assert made[:4] == ["  br label %out2", "  br label %out3"] * 2
    assert made[4:] == lines("""
out1:
store i64 1, ptr %p
br label %handler
out2:
call void @d(ptr %1)
br label %out1
out3:
call void @e(ptr %1)
br label %out1
""")


def test_exits_without_a_common_tail_stay() -> None:
    text = lines("ret i1 true\na:\nret i1 true\nb:\n%r = call i1 @f()\nret i1 %r\nc:\nunreachable")
    assert share_exits(text) == text
