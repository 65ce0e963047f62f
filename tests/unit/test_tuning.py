"""`ktc tune`: what is searched, compared, kept and chosen."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from ktc.config import tuned
from ktc.config.tuned import BadTuningFile, Tuned
from ktc.tuning import judging
from ktc.tuning.candidates import Measured, Outcome
from ktc.tuning.journal import Journal
from ktc.tuning.search import Exhaustive, Proposed

PROGRAM = """
from gpu import global_idx
from gpu.host import DeviceContext
from tuning import measure, tunable

alias N = 1024
alias BLOCK = tunable["BLOCK", 64, 128, 32]()


fn scale(p: UnsafePointer[Float32, MutAnyOrigin]):
    p[global_idx.x] = Float32(2 * Int(global_idx.x)) + WRONG


alias WRONG = 100 if BLOCK == 32 else 0


def main():
    with DeviceContext() as ctx:
        var out = ctx.enqueue_create_buffer[DType.float32](N)

        @parameter
        fn launch(ctx: DeviceContext) raises:
            ctx.enqueue_function_checked[scale, scale](out, grid_dim=N // BLOCK, block_dim=BLOCK)

        measure[launch](ctx, out)
        print(BLOCK)
"""


def ktc(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ktc", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def measured(time: float, total: float = 10.0, shape: str = "", dtype: str = "float32") -> Measured:
    return Measured("CPU", dtype, shape, [time], [(total, 10.0)])


def outcome(n: int, *parts: Measured) -> Outcome:
    return Outcome({"N": n}, "measured" if parts else "failed", "" if parts else "no", parts)


def test_every_candidate_once_and_the_defaults_first() -> None:
    search = Exhaustive.of({"A": (2, 1), "B": (5, 6, 7)})
    assert search.ask(1) == [{"A": 2, "B": 5}]
    assert len(search.ask(100)) == 5
    assert search.ask(1) == []


def test_the_best_for_each_class_and_for_all() -> None:
    verdicts = judging.judge([
        outcome(1, measured(10, shape="s"), measured(10, shape="l")),
        outcome(2, measured(5, shape="s"), measured(30, shape="l")),
        outcome(3, measured(8, shape="s"), measured(8, shape="l")),
    ])  # fmt: skip
    rows = {(row.dtype, row.shape): row.values["N"] for row in judging.rows(verdicts, "cpu")}
    assert rows == {("", ""): 3, ("", "s"): 2, ("", "l"): 3}


def test_a_wrong_result_does_not_count_however_fast() -> None:
    verdicts = judging.judge([outcome(1, measured(10)), outcome(2, measured(1, 11.0)), outcome(3)])
    assert [bool(one.times) for one in verdicts] == [True, False, False]
    assert "differs" in verdicts[1].reason
    [row] = judging.rows(verdicts, "cpu")
    assert row.values == {"N": 1} and row.tried == 1


@pytest.mark.parametrize(
    ("dtype", "total", "wrong"),
    [("float32", 10.00001, False), ("float32", 10.1, True), ("int32", 11.0, True), ("bfloat16", 10.1, False),
     ("float32", float("nan"), True)],
)  # fmt: skip
def test_results_may_differ_by_rounding(dtype: str, total: float, wrong: bool) -> None:
    assert judging.differs(measured(1, dtype=dtype), measured(1, total, dtype=dtype)) is wrong


def test_a_tuning_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    row = Tuned('a "fast" GPU', "sm_90", "float32", "64x64", {"A": 1, "B": -2}, 5.0, 7.5, 3)
    path = tmp_path / "p.tuned.toml"
    path.write_text(tuned.text_of("p.kpy", [row]))
    assert tuned.read(path) == ("p.kpy", (row,))
    found = tuned.defines(path, Path("x/p.kpy"), ["cpu", "sm_90"])
    assert found == {"ktc.tuned.A/float32/64x64": "1", "ktc.tuned.B/float32/64x64": "-2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [("version = 1", "not a tuning file"), ("= 3", "not a tuning file"),
     ('version = 1\nprogram = "q.kpy"\ntuned = []', "of 'q.kpy', not of 'p.kpy'"),
     ('version = 1\nprogram = "p.kpy"\ntuned = []', "has nothing for cpu"),
     ('version = 1\nprogram = "p.kpy"\ntuned = [{device = "x"}]', "lacks one of"),
     ('version = 9\nprogram = "p.kpy"\ntuned = []', "of version 1")],
)  # fmt: skip
def test_bad_tuning_files(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "p.tuned.toml"
    path.write_text(text)
    with pytest.raises(BadTuningFile, match=said):
        tuned.defines(path, Path("p.kpy"), ["cpu"])


def test_a_truncated_journal_is_continued(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "subject")
    journal.begin([])
    journal.add(outcome(1, measured(1)))
    with journal.path.open("a") as file:
        file.write('{"values": {"N": 2}, "sta')
    assert journal.read() == [outcome(1, measured(1))]
    assert Journal(journal.path, "another").read() == []


@pytest.mark.thorough
def test_a_search_from_end_to_end(tmp_path: Path) -> None:
    """The wrong candidate is out, the file is written, a build takes it; bad files are refused."""
    (tmp_path / "p.kpy").write_text(PROGRAM)
    done = ktc("tune", "p.kpy", "--target-accelerator", "cpu", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    states = {one["values"]["BLOCK"]: one["why"] for one in found["candidates"]}
    assert "differs" in states[32] and not states[64] and not states[128]
    [row] = found["tuned"]
    assert row["values"]["BLOCK"] in (64, 128) and row["tried"] == 2
    assert not list(tmp_path.glob(".*journal"))
    path = tmp_path / "p.tuned.toml"
    path.write_text(path.read_text().replace(f'"BLOCK" = {row["values"]["BLOCK"]}', '"BLOCK" = 128'))
    words = ("run", "--target-accelerator", "cpu", "--tuned", path, "p.kpy")
    assert ktc(*words, folder=tmp_path).stdout == "128\n"
    assert ktc("run", "-D", "BLOCK=64", *words[1:], folder=tmp_path).stdout == "64\n"
    path.write_text(path.read_text().replace("= 128", "= 129"))
    assert "the tuning file says 129 for 'BLOCK', whose values are 64, 128, 32" in ktc(*words, folder=tmp_path).stderr
    path.write_text(path.read_text().replace('"BLOCK" = 129', '"BLICK" = 64'))
    said = ktc(*words, folder=tmp_path).stderr
    assert "the tuning file chooses 'BLICK', and the program has no such choice" in said and "'BLOCK'" in said


def test_what_cannot_be_tuned(tmp_path: Path) -> None:
    (tmp_path / "p.kpy").write_text(PROGRAM)
    (tmp_path / "q.kpy").write_text("def main():\n    print(1)\n")
    assert "declares no choices" in ktc("tune", "q.kpy", "--target-accelerator", "cpu", folder=tmp_path).stderr
    said = ktc("tune", "p.kpy", "--target-accelerator", "gfx942", folder=tmp_path).stderr
    assert "there is no GPU for 'gfx942' here" in said
    assert "no choice 'X'" in ktc("tune", "p.kpy", "--set", "X=1", folder=tmp_path).stderr
    assert "no value 7" in ktc("tune", "p.kpy", "--set", "BLOCK=7", folder=tmp_path).stderr


@pytest.mark.thorough
def test_a_stopped_search_is_continued(tmp_path: Path) -> None:
    (tmp_path / "p.kpy").write_text(PROGRAM)
    command = [sys.executable, "-m", "ktc", "tune", "p.kpy", "--target-accelerator", "cpu", "--json", "-j", "1"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    journal = tmp_path / ".p.tuned.toml.journal"
    until = time.monotonic() + 60
    while time.monotonic() < until and (not journal.exists() or len(journal.read_text().splitlines()) < 2):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "goes on from here" in said
    kept = journal.read_text().splitlines()
    assert 2 <= len(kept) < 4
    head, first = kept[0], json.loads(kept[1])
    first["measured"][0]["times"] = [1.0]  # so that one sees where it comes from
    journal.write_text(head + "\n" + json.dumps(first) + "\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    [row] = json.loads(done.stdout)["tuned"]
    assert row["nanoseconds"] == 1.0 and row["tried"] == 2


@pytest.mark.skipif(find_spec("optuna") is None, reason="Optuna is an extra: ktc[tune]")
def test_optuna_finds_the_best() -> None:
    search = Proposed.of({"A": tuple(range(8)), "B": tuple(range(8))}, 40)
    tried = []
    while proposed := search.ask(4):
        tried += proposed
        search.tell((one, 1.0 + (one["A"] - 5) ** 2 + (one["B"] - 2) ** 2) for one in proposed)
    assert tried[0] == {"A": 0, "B": 0}
    assert len(tried) == 40 == len({tuple(one.items()) for one in tried})
    assert min((one["A"] - 5) ** 2 + (one["B"] - 2) ** 2 for one in tried) <= 1


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A Dask scheduler and two workers, processes of their own."""
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = ["--scheduler-file", str(file), "--no-dashboard"]
    processes = [subprocess.Popen([*command, "scheduler", "--port", "0", *words], **quiet)]  # type: ignore[call-overload]
    until = time.monotonic() + 60
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    for _ in range(2):
        worker = [*command, "worker", "--nthreads", "1", "--no-nanny", *words]
        processes.append(subprocess.Popen(worker, cwd=tmp_path, **quiet))  # type: ignore[call-overload]
    yield json.loads(file.read_text())["address"], processes
    for one in processes:
        one.kill()
        one.wait()


@pytest.mark.thorough
@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask's distributed is an extra: ktc[dask]")
def test_a_worker_that_dies_in_the_middle(
    tmp_path: Path, scheduler: tuple[str, list["subprocess.Popen[bytes]"]]
) -> None:
    from distributed import Client

    address, processes = scheduler
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    (tmp_path / "p.kpy").write_text(PROGRAM.replace("64, 128, 32", "64, 128, 32, 16, 256, 512"))
    words = ["tune", "p.kpy", "--target-accelerator", "cpu", "--json", "--scheduler", address]
    command = [sys.executable, "-m", "ktc", *words]
    search = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    journal = tmp_path / ".p.tuned.toml.journal"
    until = time.monotonic() + 60
    while time.monotonic() < until and (not journal.exists() or len(journal.read_text().splitlines()) < 3):
        time.sleep(0.02)
    processes[1].kill()
    out, _ = search.communicate(timeout=120)
    assert search.returncode == 0
    states = {one["values"]["BLOCK"]: one["state"] for one in json.loads(out)["candidates"]}
    assert states == dict.fromkeys((64, 128, 32, 16, 256, 512), "measured")
