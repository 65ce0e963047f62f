"""Debug information: what gdb and ptxas make of it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ktc.cli.commands import main
from ktc.emit.tools import find_ptxas

PROGRAM = """\
from gpu import global_idx
from gpu.host import DeviceContext


fn inner(count: Int, p: UnsafePointer[Int, MutAnyOrigin]) -> Int:
    var total = 0
    for i in range(count):
        var twice = p[i] * 2
        total += twice
    return total


fn outer(n: Int) -> Int:
    var values = alloc[Int](n)
    for i in range(n):
        values[i] = i + 40
    var made = inner(n, values)
    values.free()
    return made


fn kernel(p: UnsafePointer[Int32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        p[i] = p[i] * 3


def main():
    print(outer(3))
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.int32](4)
    ctx.enqueue_function_checked[kernel, kernel](buffer, 4, grid_dim=1, block_dim=4)
"""
SCRIPT = """\
break prog.kpy:9
run
bt
info locals
print count
print p
print *(long *)p
up
print n
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program_cache: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    Path("prog.kpy").write_text(PROGRAM)


def gdb(script: str) -> str:
    Path("script").write_text(script)
    words = ["gdb", "-q", "-nx", "-batch", "-x", "script", "./prog"]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_gdb_stops_at_a_line_and_shows_names_and_values() -> None:
    assert main(["build", "-g2", "-O0", "--target-accelerator", "cpu", "prog.kpy"]) == 0
    said = gdb(SCRIPT)
    for part in ("#0  inner (count=3", "#1 ", "outer (n=3) at prog.kpy:17", "total = 0", "twice = 80", "$1 = 3"):
        assert part in said, said
    assert "$2 = (Int *) 0x" in said and "$3 = 40" in said and "$4 = 3" in said, said


@pytest.mark.skipif(shutil.which("gdb") is None, reason="there is no gdb")
def test_line_tables_name_lines_and_functions() -> None:
    assert main(["build", "-g1", "-O0", "--target-accelerator", "cpu", "prog.kpy"]) == 0
    said = gdb("break prog.kpy:9\nrun\nbt\n")
    assert "inner" in said and "prog.kpy:17" in said, said


@pytest.mark.parametrize("level", ["-g1", "-g2"])
def test_kernels_have_line_tables_that_ptxas_reads(level: str) -> None:
    words = ["emit", level, "--kind", "asm", "--target-accelerator", "sm_90", "--kernel", "kernel", "prog.kpy"]
    assert main([*words, "-o", "kernel.ptx"]) == 0
    text = Path("kernel.ptx").read_text()
    files = [line.split() for line in text.splitlines() if line.lstrip().startswith(".file")]
    own = next(words[1] for words in files if "prog.kpy" in words[2])
    assert f".loc\t{own} 25 " in text
    ptxas = find_ptxas()
    if ptxas:
        subprocess.run([ptxas, "-lineinfo", "-arch=sm_90", "kernel.ptx", "-o", "kernel.cubin"], check=True, timeout=60)


def test_what_the_library_does_for_a_line_is_at_that_line() -> None:
    program = """\
from gpu import global_idx
from gpu.host import DeviceContext
from layout import Layout, LayoutTensor

alias Row = LayoutTensor[DType.float32, Layout.row_major(8), MutAnyOrigin]


fn add(a: Row, b: Row):
    var i = Int(global_idx.x)
    if i < 8:
        a[i] = a[i] + b[i]


def main():
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.float32](8)
    ctx.enqueue_function_checked[add, add](Row(buffer), Row(buffer), grid_dim=1, block_dim=8)
"""
    Path("add.kpy").write_text(program)
    assert main(["emit", "-g1", "--kind", "asm", "--target-accelerator", "sm_90", "add.kpy", "-o", "add.ptx"]) == 0
    text = Path("add.ptx").read_text()
    assert [line.split()[-1] for line in text.splitlines() if ".file" in line] == ['"add.kpy"']
    accesses = re.findall(r"\.loc\t1 (\d+) (\d+)\n\t(?:ld|st)\.global", text)
    assert accesses == [("11", "16"), ("11", "23")], text
    assert re.search(r"\.loc\t1 11 9\n\tadd.*\n\tst\.global", text), text


def test_full_information_survives_optimisation() -> None:
    assert main(["build", "-g2", "-O3", "--target-accelerator", "sm_90,cpu", "prog.kpy"]) == 0
