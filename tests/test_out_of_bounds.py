"""Indices, keys and sizes that are wrong end a program with the place and the reason, and never reach its memory."""

import signal
import subprocess
from pathlib import Path

from programs import fail, run_ktc

INDICES = """
from collections import BitSet, Deque
from sys import argv
from utils import IndexList, StaticTuple


def main():
    var what = String(argv()[1])
    var n = len(what)  # beyond what follows
    var list = [1, 2, 3]
    if what == "list, read":
        print(list[-3], list[n])
    if what == "list, written":
        list[-n] = 4
    if what == "list, in place":
        list[n] += 1
    if what == "list, exchanged":
        list.swap_elements(0, n)
    if what == "list, popped":
        print(list.pop(n))
    if what == "list, length":
        list.resize(-n, 0)
    if what == "span, read":
        print(Span(list)[n])
    if what == "span, copied":
        Span(list).copy_from(Span([1, 2]))
    if what == "deque, read":
        print(Deque[Int](1, 2)[n])
    if what == "bit set":
        print(BitSet[5]().test(UInt(n)))
    if what == "tuple, read":
        print(StaticTuple[Int, 3](1, 2, 3)[n])
    if what == "numbers, written":
        var numbers = IndexList[3](1, 2, 3)
        numbers[n] = 4
    if what == "text, read":
        print(StringSlice("abc")[n])
    if what == "arguments":
        print(argv()[n])
    if what == "no letter":
        print(ord(""))
    if what == "lane":
        print(SIMD[DType.int32, 4](1)[n])
    if what == "lane, written":
        var lanes = SIMD[DType.int32, 4](1)
        lanes[n] = 2
    if what == "dictionary":
        print({"a": 1}["nine bytes and many more, of which the report shows the first: ä"])
    if what == "numbered":
        print({1: 2}[n])
"""


def test_indices_lie_within_the_sequence(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "indices.kpy").write_text(INDICES)
    done = run_ktc(["build", "-g0", "indices.kpy", "-o", "indices"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    outside = "is out of bounds, valid range is 0 to"
    for what, text in (
        ("list, read", "12:29: Assert Error: List index out of bounds: index (10) valid range: -3 <= index < 3"),
        ("list, written", "14:13: Assert Error: List index out of bounds: index (-13) valid range: -3 <= index < 3"),
        ("list, in place", "16:13: Assert Error: List index out of bounds: index (14) valid range: -3 <= index < 3"),
        ("list, exchanged", f"18:27: Assert Error: index 15 {outside} 2"),
        ("list, popped", "20:23: Assert Error: List index out of bounds: index (12) valid range: -3 <= index < 3"),
        ("span, read", "24:25: Assert Error: Span index out of bounds: index (10) valid range: -3 <= index < 3"),
        ("span, copied", "26:29: Assert Error: Span.copy_from: the lengths differ, 3 and 2"),
        ("deque, read", "28:31: Assert Error: Deque index out of bounds: index (11) valid range: -2 <= index < 2"),
        ("bit set", f"30:31: Assert Error: index 7 {outside} 4"),
        ("tuple, read", f"32:43: Assert Error: index 11 {outside} 2"),
        ("numbers, written", f"35:16: Assert Error: index 16 {outside} 2"),
        ("text, read", "37:33: Assert Error: StringSlice index out of bounds: index (10) valid range: -3 <= index < 3"),
        ("arguments", f"39:21: Assert Error: index 9 {outside} 1"),
        ("lane", f"43:38: Assert Error: index 4 {outside} 3"),
        ("lane, written", f"46:14: Assert Error: index 13 {outside} 3"),
    ):
        code, said, _ = fail(tmp_path / "indices", what)
        assert (code, said) == (-signal.SIGILL, f"At: indices.kpy:{text}\n"), what
    assert fail(tmp_path / "indices", "list, length")[1] == "ABORT: List: a length is not negative.\n"
    assert fail(tmp_path / "indices", "no letter")[1] == "ABORT: ord: the text is empty\n"


def test_reports_name_missing_keys(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "indices.kpy").write_text(INDICES)
    done = run_ktc(["build", "-g0", "indices.kpy", "-o", "indices"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    raised = "Unhandled exception caught during execution: KeyError\n  key: "
    key = "'nine bytes and many more, of which the report shows the first: "[:64]
    assert fail(tmp_path / "indices", "dictionary") == (1, "", f"{raised}{key}\n")
    assert fail(tmp_path / "indices", "numbered") == (1, "", f"{raised}8\n")


POSITIONS = """
from std.sys import argv


def main() raises:
    var what = String(argv()[1])
    var at = len(argv())
    var list: List[Int] = [1, 2]
    if what == "list":
        print(list[at])
    if what == "negative":
        print(list[-at])
    if what == "slice":
        print(list[0:at + 1])
    if what == "order":
        print(list[at:at - 1])
    if what == "array":
        print([1, 2][at])
    if what == "pop":
        print(list.pop(at))
    if what == "byte":
        print(String("é")[byte=at - 1])
    if what == "grapheme":
        print(String("é")[grapheme=at])
"""


def test_positions_of_edition_2026_lie_within_the_sequence(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "positions.mojo").write_text(POSITIONS)
    done = run_ktc(["build", "-g0", "positions.mojo", "-o", "positions"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    outside = "is out of bounds, valid range is 0 to"
    for what, text in (
        ("list", f"10:19: Assert Error: index 2 {outside} 1"),
        ("negative", f"12:19: Assert Error: index -2 {outside} 1"),
        ("slice", f"14:19: Assert Error: slice end index 3 {outside} 2"),
        ("order", "16:19: Assert Error: slice start index 2 is greater than slice end index 1"),
        ("array", f"18:21: Assert Error: index 2 {outside} 1"),
        ("pop", f"20:23: Assert Error: index 2 {outside} 1"),
        ("byte", "22:26: Assert Error: position 1 is not the start of a code point"),
        ("grapheme", f"24:26: Assert Error: index 2 {outside} 0"),
    ):
        code, said, _ = fail(tmp_path / "positions", what)
        assert (code, said) == (-signal.SIGILL, f"At: positions.mojo:{text}\n"), what


SIZES = """
from gpu.host import DeviceContext
from memory import alloc
from sys import argv

def main():
    var what = argv()[1]
    var many = (1 << 61) + 4  # as Ints they have 32 bytes more than there are numbers
    if what == "capacity":
        var list = List[Int](capacity=many)
        list.append(1)
    if what == "reserve":
        var list = List[Int]()
        list.reserve(many)
        list.append(1)
    if what == "repeated list":
        print(len([1, 2, 3, 4] * ((1 << 62) + 1)))
    if what == "repeated text":
        print(len(String("abcd") * ((1 << 62) + 1)))
    if what == "text":
        var text = String(capacity=Int.MAX)
        text += "more"
    if what == "pointer":
        alloc[Int](many)[0] = 1
    if what == "negative":
        alloc[Int](-3)[0] = 1
    if what == "step":
        print(len([1, 2, 3][:: len(what) - 4]))
    if what == "buffers":
        with DeviceContext() as ctx:
            var buffer = ctx.enqueue_create_buffer[DType.float32](8)
            for offset in [many, 2]:
                try:
                    print(len(buffer.create_sub_buffer[DType.float64](offset, 2)))
                except e:
                    print(e)
            try:
                _ = ctx.enqueue_create_buffer[DType.float64](many)
            except e:
                print(e)
            try:
                _ = ctx.enqueue_create_host_buffer[DType.float64](many)
            except e:
                print(e)
"""


def test_sizes_do_not_wrap(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "sizes.kpy").write_text(SIZES)
    done = run_ktc(["build", "-g0", "sizes.kpy", "--target-accelerator", "cpu"], program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    for what in ("capacity", "reserve", "repeated list", "repeated text", "text", "pointer", "negative"):
        code, said, errors = fail(tmp_path / "sizes", what)
        assert (code, said, errors) == (-signal.SIGILL, "", "error: the program was ended: out of memory\n"), what
    assert fail(tmp_path / "sizes", "step")[:2] == (-signal.SIGILL, "Assert Error: the step of a slice cannot be 0\n")
    found = subprocess.run([tmp_path / "sizes", "buffers"], capture_output=True, text=True, check=True).stdout
    beyond = "a sub-buffer of 2 elements of 8 bytes, from element 2305843009213693956 on, reaches beyond the buffer"
    wanted = [f"{beyond}, which has 32 bytes", "2"]
    assert found.splitlines() == [*wanted, *2 * ["allocating 2305843009213693956 elements of 8 bytes: out of memory"]]


SHIFTS = """
from sys import argv


fn shifted(more: Int) -> String:
    var n = 64 + more
    var bytes = SIMD[DType.int8, 4](1, -2, 3, -128)
    var by = SIMD[DType.int8, 4](7, 8, 9, -1) + Int8(more)
    return String(
        Int(3) << n, " ", Int(-8) >> n + 1, " ", UInt(1) << UInt(n - 1), " ", Int32(1) << Int32(n - 33), " ",
        UInt8(255) >> UInt8(n - 55), " ", Int(1) << -n - 1, " ", bytes << by, " ", bytes >> by,
    )


def main():
    alias known = shifted(0)
    print(known)
    print(shifted(len(argv()) - 1))
    print(1 << 64 >> 60, Int32(1) << 33)
"""


def test_shifts_count_modulo_the_width(program_cache: Path, tmp_path: Path) -> None:
    """At compile time and at run time, whatever LLVM does with the code."""
    (tmp_path / "shifts.kpy").write_text(SHIFTS)
    made = "3 -4 9223372036854775808 -2147483648 127 -9223372036854775808 [-128, -2, 6, 0] [0, -2, 1, -1]"
    for level in ("-O0", "-O3"):
        done = run_ktc(["run", level, "shifts.kpy"], program_cache, tmp_path)
        assert done.stdout.splitlines() == [made, made, "16 2"], done.stderr
