"""Groups of accesses with gaps: only kernels that read what they write are compiled without them."""

import pytest
from ktc.emit.loops.interleaving import is_doubtful

KERNEL = """
define void @k(ptr %args) {{
entry:
  %own = alloca [64 x float]
  %a = load ptr, ptr %args
  %at = getelementptr i8, ptr %args, i64 8
  %b = load ptr, ptr %at
  %p = getelementptr float, ptr {read}, i64 4
  %wide.vec = load <64 x float>, ptr %p
  %strided.vec = shufflevector <64 x float> %wide.vec, <64 x float> poison, <2 x i32> <i32 0, i32 4>
  %q = getelementptr inbounds float, ptr {written}, i64 8
  store <2 x float> %strided.vec, ptr %q
  ret void
}}
"""


@pytest.mark.parametrize(
    ("read", "written", "doubtful"),
    [("%a", "%b", False), ("%a", "%a", True), ("%p", "%p", True), ("%own", "%own", False)],
)
def test_what_is_read_and_written(read: str, written: str, doubtful: bool) -> None:
    text = KERNEL.format(read=read if read != "%p" else "%a", written=written)
    assert is_doubtful(text) is doubtful


def test_kernels_without_groups() -> None:
    text = KERNEL.format(read="%a", written="%a").replace("strided.vec", "other")
    assert not is_doubtful(text)
