"""Bounds in kernels for GPUs (`--check=bounds`) and launches that run again on the CPU device (`--check=replay`).

The programs run on a stand-in for NVIDIA's driver (fixtures/cuda_driver.c), which writes what a faulty thread would.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ktc.emit.checks.gpu.header import MARK, Site, with_header
from ktc.emit.checks.source_locations import Place

from programs import TESTS, run_ktc

SOURCE = TESTS / "checked" / "gpu.kpy"
FAULT = 134


def emitted(kernel: str, target: str, cache: Path, folder: Path) -> str:
    """Return a kernel's assembly with its bounds tested, without the lines that name places."""
    words = ["emit", "--check=bounds", "--target-accelerator", target, "--kind", "asm", "--kernel", kernel, str(SOURCE)]
    done = run_ktc(words, cache, folder)
    assert done.returncode == 0, done.stderr
    return "\n".join([line for line in done.stdout.splitlines() if not line.strip().startswith((".loc", "//", ";"))])


def body_of(text: str) -> str:
    """Return the hot part of a kernel's PTX: up to its return."""
    start = text.index("{", text.index(".entry"))
    return text[start : text.index("ret;", start)]


def test_each_pointer_brings_its_memory(program_cache: Path, tmp_path: Path) -> None:
    """Behind the arguments: the record, the header, the added shared memory, and two words for each pointer."""
    text = emitted("shift", "sm_90a", program_cache, tmp_path)
    entry = text[text.index(".entry") : text.index("{", text.index(".entry"))]
    assert entry.count(".param") == 3 + 3 + 2 * 2
    hot = body_of(text)
    assert hot.count("ld.global") == 2 and hot.count("st.global") == 1
    assert hot.count("setp") <= 6  # the condition, two comparisons, the pointers' alignment
    assert "call" not in hot  # what a faulty thread does stands behind the return


def test_the_first_thread_writes_and_traps(program_cache: Path, tmp_path: Path) -> None:
    text = emitted("shift", "sm_90a", program_cache, tmp_path)
    fail = text[text.rindex("ktc_$_check_$_fail(") :]
    assert re.search(r"atom\.\S*cas\.b32", fail)
    assert fail.index("fence.sc.sys;", fail.index("%tid.z")) < fail.index("trap;") < fail.index("exit;")


def test_accesses_that_differ_by_constants_are_compared_once(program_cache: Path, tmp_path: Path) -> None:
    hot = body_of(emitted("tiles", "sm_90a", program_cache, tmp_path))
    assert hot.count("ld.shared") == 16
    assert hot.count("setp") <= 6


def test_swapped_pointers_bring_their_memory_along(program_cache: Path, tmp_path: Path) -> None:
    hot = body_of(emitted("steps", "sm_90a", program_cache, tmp_path))
    assert len(re.findall(r"setp\.(?:ge|le|gt|lt)\.u64", hot)) >= 2


def test_amd_ends_the_wave(program_cache: Path, tmp_path: Path) -> None:
    text = emitted("shift", "gfx942", program_cache, tmp_path)
    fail = text[text.index("ktc.check.fail:") :]
    assert fail.index("atomic_cmpswap") < fail.index("s_endpgm")
    assert "s_trap" not in text


def test_a_header_says_where_its_parts_are() -> None:
    place = Place("a.kpy", 3, 7, "main")
    sites = [Site(place, 4, 1, 0), Site(place, 0, 1, 128, "float32")]
    data = with_header(b"image", "blur", [1, 2 | 8 << 8], sites)

    def word(at: int) -> int:
        return int.from_bytes(data[at : at + 8], "little")

    def text(at: int) -> bytes:
        return data[at : data.index(b"\0", at)]

    assert data.startswith(MARK) and data[word(8) :] == b"image" and word(8) % 64 == 0
    assert (word(16), word(24), word(48), word(56)) == (2, 2, 1, 2 | 8 << 8)
    assert text(word(40)) == b"blur"
    first, second = word(32), word(32) + 48
    assert (text(word(first)), text(word(first + 8)), word(first + 16), word(first + 24)) == (b"a.kpy", b"main", 3, 7)
    assert (word(first + 32), text(word(second + 32)), word(second + 40) & 0xFFFF) == (4, b"float32", 128)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the stand-in."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("driver")
    source = str(TESTS / "fixtures" / "cuda_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", str(made / "libcuda.so.1"), source], check=True)
    return made


def built(check: str, folder: Path, cache: Path, *more: str) -> Path:
    made = folder / check.strip("-=").replace("=", "_")
    words = ["build", check, *more, "--target-accelerator", "sm_90", str(SOURCE), "-o", str(made)]
    done = run_ktc(words, cache, folder)
    assert done.returncode == 0, done.stderr
    return made


def ran(program: Path, what: str, **environment: str) -> tuple[int, str, str]:
    paths = {"LD_LIBRARY_PATH": str(program.parent), "DRIVER_LOG": str(program.parent / "log")}
    done = subprocess.run(
        [str(program), what], env={**os.environ, **paths, **environment}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def replay(driver: Path, program_cache: Path) -> Path:
    return built("--check=replay", driver, program_cache, "-O2")


# tests/test_checked.py builds at this level too, so the library is compiled once for both.
@pytest.fixture(scope="module")
def bounds(driver: Path, program_cache: Path) -> Path:
    return built("--check=bounds", driver, program_cache, "-O2")


def line_of(mark: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"#! {mark}"))


def fault(own: int, site: int, at: int, pointer: int = 0, argument: int = 0) -> str:
    """Return what DRIVER_FAULT takes."""
    return f"{own} {site} {at} {pointer} {argument}"


def test_a_failed_launch_runs_again_on_the_cpu(replay: Path) -> None:
    """The report is that of the CPU device, which knows the index."""
    code, _, said = ran(replay, "index", DRIVER_LOST="1")
    assert code == FAULT
    assert f"gpu.kpy:{line_of('index')}:" in said
    assert "the tensor is 8 x 8 float32, index (8, 0)" in said


def test_what_only_the_gpu_finds_is_reported_as_it_wrote_it(replay: Path) -> None:
    code, _, said = ran(replay, "right", DRIVER_FAULT=fault(3, 0, 256))
    assert code == FAULT
    assert "error[out-of-bounds]: kernel 'shift' reads element 64 of a buffer with 64 elements\n" in said
    assert f"gpu.kpy:{line_of('buffer')}:" in said
    assert re.search(r"block \(1, 0, 0\), thread \(63, 0, 0\); allocated at \S*gpu\.kpy:\d+\n", said)


def test_a_lost_device_that_is_not_the_kernels_fault(replay: Path) -> None:
    code, _, said = ran(replay, "right", DRIVER_LOST="1")
    assert code == 1
    assert "the device is busy or unavailable (error 46); on the CPU device the same launch has no fault" in said


def test_a_right_launch_is_only_copied_before(replay: Path) -> None:
    assert ran(replay, "right")[::2] == (0, "")
    assert ran(replay, "null", KTC_DEVICE="cpu")[0] == FAULT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "words", "kind", "text"),
    [
        ("buffer", fault(3, 0, -4), "out-of-bounds", "reads element -1 of a buffer with 64 elements"),
        ("null", fault(2, 0, 0, 1, 1), "null-pointer", "through a null pointer"),
        ("shared", fault(1, 4, 256), "out-of-bounds", "of shared memory with"),
    ],
)
def test_the_next_wait_reports(bounds: Path, what: str, words: str, kind: str, text: str) -> None:
    code, out, said = ran(bounds, what, DRIVER_FAULT=words)
    assert (code, out) == (FAULT, "")
    assert said.startswith(f"error[{kind}]: kernel '") and text in said, said


@pytest.mark.slow
def test_bounds_without_a_fault(bounds: Path) -> None:
    assert ran(bounds, "right")[::2] == (0, "")
