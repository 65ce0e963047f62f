"""Whole builds of one small program: both flows, times and traces, and what the cache says and survives."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ktc.cli.commands import main

PROGRAM = """\
from gpu import global_idx
from gpu.host import DeviceContext
from memory import UnsafePointer

alias N = 20


fn scaled[factor: Int](p: UnsafePointer[Int32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        p[i] = p[i] * factor + i


fn shifted(p: UnsafePointer[Int32, MutAnyOrigin], n: Int):
    var i = Int(global_idx.x)
    if i < n:
        p[i] = p[i] + 5


def main():
    var ctx = DeviceContext()
    var buffer = ctx.enqueue_create_buffer[DType.int32](N)
    _ = buffer.enqueue_fill(1)
    ctx.enqueue_function[scaled[2]](buffer.unsafe_ptr(), N, grid_dim=3, block_dim=8)
    ctx.enqueue_function[scaled[3]](buffer.unsafe_ptr(), N, grid_dim=3, block_dim=8)
    ctx.enqueue_function[shifted](buffer.unsafe_ptr(), N, grid_dim=3, block_dim=8)
    with buffer.map_to_host() as host:
        print(host[0], host[7], host[19])
"""
TARGETS = ("--target-accelerator", "sm_90,cpu")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory, library_cache: Path) -> Path:
    """A cache in which the program has been built."""
    folder = tmp_path_factory.mktemp("warm")
    shutil.copytree(library_cache, folder / "cache")
    (folder / "prog.kpy").write_text(PROGRAM)
    ktc(folder, "build", *TARGETS, "prog.kpy")
    return folder


@pytest.fixture
def place(warm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that."""
    shutil.copytree(warm, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


def ktc(folder: Path, *words: str) -> None:
    """Run a command in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KTC_CACHE_DIR", str(folder / "cache"))
        subprocess.run([sys.executable, "-m", "ktc", *words], cwd=folder, check=True, timeout=300)


def why(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """Return what `ktc cache why` says, by unit."""
    capsys.readouterr()
    assert main(["cache", "why", *TARGETS, *words, "prog.kpy"]) == 0
    rows = [re.split(r"  +", line, maxsplit=2) for line in capsys.readouterr().out.splitlines()[1:]]
    return {row[0]: " ".join(row[1:]) for row in rows}


def test_both_flows_produce_the_same_executable(place: Path, library_cache: Path) -> None:
    whole = (place / "prog").read_bytes()
    shutil.rmtree(place / "cache")
    shutil.copytree(library_cache, place / "cache")
    words = ["build", *TARGETS, "--offload-mode", "per-kernel", "-j", "2", "-o", "alone", "prog.kpy"]
    assert main([*words, "--time-json", "times.json"]) == 0
    assert (place / "alone").read_bytes() == whole
    done = subprocess.run(["./alone"], capture_output=True, text=True, check=True)
    assert done.stdout == "11 39 87\n"
    phases = json.loads(Path("times.json").read_text())["phases"]
    alone = [one for one in phases if one["name"] == "elaborate" and one["unit"]]
    assert len(alone) == 6 and len({one["pid"] for one in alone}) == 6


def test_one_kernel_is_shown_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["emit", "--target-accelerator", "sm_90", "--kernel", "shifted", "--kind"]
    for kind in ("ir", "asm"):
        assert main([*words, kind, "prog.kpy"]) == 0
        whole = capsys.readouterr().out
        assert main([*words, kind, "--offload-mode", "per-kernel", "prog.kpy"]) == 0
        alone = capsys.readouterr().out
        assert alone == whole if kind == "asm" else alone in whole or "shifted" in alone


def test_both_flows_report_errors_in_kernels(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prog.kpy").write_text(PROGRAM.replace("p[i] + 5", "p[i] + nowhere"))
    outputs = []
    for mode in ("all-kernel", "per-kernel"):
        assert main(["build", *TARGETS, "--offload-mode", mode, "prog.kpy"]) == 1
        outputs.append(capsys.readouterr().err)
    assert outputs[0] == outputs[1] and "nowhere" in outputs[0]


def test_cache_why_names_what_changed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, program_cache: Path
) -> None:
    assert main(["build", *TARGETS, "prog.kpy"]) == 0
    assert {said.strip() for said in why(capsys).values()} == {"hit"}
    Path("prog.kpy").write_text("# a line more\n\n" + PROGRAM.replace("fn shifted", "# and here\nfn shifted"))
    moved = why(capsys)
    assert moved.pop("the whole build") == "miss prog.kpy changed"
    # The host's code names a line: an assertion in it says where it was made.
    assert {said.strip() for unit, said in moved.items() if unit.startswith("kernel ")} == {"hit"}, moved
    Path("prog.kpy").write_text(PROGRAM.replace("p[i] + 5", "p[i] + 6"))
    edited = why(capsys)
    assert edited["kernel shifted for sm_90 (image)"] == "miss its code changed"
    assert edited["kernel shifted for cpu (object)"] == "miss its code changed"
    assert sum("miss" in said for said in edited.values()) == 3
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))  # other tests make a library at this level
    assert main(["build", *TARGETS, "prog.kpy"]) == 0
    levels = why(capsys, "-O0")
    assert levels["kernel scaled[2] for sm_90 (image)"] == "miss the optimisation level changed"


@pytest.mark.thorough
def test_line_tables_are_part_of_the_key(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", *TARGETS, "-g2", "prog.kpy"]) == 0
    Path("prog.kpy").write_text("\n" + PROGRAM)
    assert why(capsys, "-g2")["kernel shifted for sm_90 (image)"] == "miss its code changed"


def test_times_as_table_json_and_trace(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prog.kpy").write_text(PROGRAM.replace("+ 5", "+ 7"))
    assert main(["build", *TARGETS, "--time", "--time-json", "t.json", "--trace", "trace.json", "prog.kpy"]) == 0
    *table, edition = capsys.readouterr().err.splitlines()
    assert edition.startswith("note: edition 2025")
    assert table[0].split()[:2] == ["phase", "of"] and table[-1].startswith("total")
    shown = {line.split()[0] for line in table}
    assert shown >= {"load", "parse", "resolve", "elaborate", "lower", "optimise", "emit", "embed", "link"}
    data = json.loads(Path("t.json").read_text())
    emitted = [one for one in data["phases"] if one["name"] == "optimise"]
    assert {one["unit"] for one in emitted} == {"shifted"}, "one kernel was edited"
    assert all(one["cpu"] > 0 and one["peak_bytes"] > 0 and one["instructions"] > 0 for one in emitted)
    assert data["total"]["hits"] + data["total"]["misses"] == len(data["units"]) + 1
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert len({event["pid"] for event in complete}) > 1
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in complete)


def test_damaged_and_truncated_entries_are_misses(place: Path, library_cache: Path) -> None:
    """What is kept of the library is not among them: test_archives.py damages that."""
    whole = (place / "prog").read_bytes()
    library = {entry.name for entry in (library_cache / "entries").rglob("*")}
    for number, entry in enumerate(sorted((place / "cache" / "entries").rglob("*"))):
        if entry.is_file() and entry.name not in library:
            data = entry.read_bytes()
            entry.write_bytes(data[: len(data) // 2] if number % 2 else data[:-1] + bytes([data[-1] ^ 1]))
    assert main(["build", *TARGETS, "-o", "again", "prog.kpy"]) == 0
    assert (place / "again").read_bytes() == whole
