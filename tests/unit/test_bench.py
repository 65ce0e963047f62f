"""The benchmark's measuring, its tables, and its chart's and JSON's data."""

import json
import sys
from pathlib import Path

import pytest
from ktc.bench import cluster, compile_runs, report
from ktc.cli.commands import main
from rich.console import Console

FILE = Path("gemm.kpy")


def results(plan: compile_runs.Plan) -> list[compile_runs.Result]:
    """Give every variant two runs; the per-kernel flow takes twice the time, another compiler ten times."""
    found = []
    for variant in compile_runs.variants(plan):
        factor = {"all-kernel": 1.0, "per-kernel": 2.0, "": 10.0}[variant.flow]
        seconds = (factor, 2 * factor)
        runs = [compile_runs.Run(one, 0.5 * factor, 2.0 * factor, 100_000_000, 200_000_000) for one in seconds]
        found.append(compile_runs.Result(variant, runs))
    return found


def text_of(plan: compile_runs.Plan) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    for table in report.tables(plan, results(plan)):
        console.print(table)
    return console.export_text()


def test_the_tables_have_both_flows_and_their_ratios() -> None:
    said = text_of(compile_runs.Plan((FILE,), debugs=("none",)))
    assert "all-kernel" in said and "per-kernel" in said and "O2, none" in said
    assert "2.00" in said and "1.00" in said and "0:02.00" in said and "100%" in said


def test_another_compiler_is_compared() -> None:
    said = text_of(compile_runs.Plan((FILE,), levels=(3,), debugs=("none",), versus="/usr/bin/other build"))
    assert "other" in said and "10.00" in said


def test_the_json_has_every_run() -> None:
    plan = compile_runs.Plan((FILE,))
    data = json.loads(report.as_json(plan, results(plan)))
    assert len(data["results"]) == 8 and all(len(one["runs"]) == 2 for one in data["results"])
    assert data["machine"]["cores"] and data["results"][0]["runs"][0]["maxres_bytes"] == 100_000_000


def test_a_run_counts_the_processes_that_it_starts(tmp_path: Path) -> None:
    work = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(3000000)); x = bytearray(60 << 20)'])"
    )
    made = compile_runs.run([sys.executable, "-c", work], {})
    assert made.cpu > 0 and made.elapsed > 0 and made.maxres_bytes > 60 << 20


def test_a_failed_build_shows_its_output() -> None:
    with pytest.raises(compile_runs.BenchFailed, match="exit code 3:\nwoe"):
        compile_runs.run([sys.executable, "-c", "import sys; print('woe'); sys.exit(3)"], {})


def test_a_budget_fails_the_command(
    tmp_path: Path, library_cache: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "with_library.py"
    script.write_text(
        "import os, shutil\nfrom ktc.cli.commands import entry\n"
        f"shutil.copytree({str(library_cache)!r}, os.environ['KTC_CACHE_DIR'], dirs_exist_ok=True)\nentry()\n"
    )
    monkeypatch.setattr(compile_runs, "own_command", lambda: (sys.executable, str(script)))
    program = tmp_path / "hello.kpy"
    program.write_text('def main():\n    print("hello")\n')
    words = ["bench", "compile", str(program), "-O", "3", "--debug", "none", "--offload-mode", "all-kernel"]
    words += ["--repeat", "1", "--target-accelerator", "cpu", "--json", str(tmp_path / "all.json")]
    copy = f"{sys.executable} -c 'import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])' {{file}} {{output}}"
    assert main([*words, "--budget", "1", "--vs", copy]) == 1
    said = capfd.readouterr()
    assert "over the budget of 1 ms" in said.err and "hello.kpy" in said.out
    flows = [one["flow"] for one in json.loads((tmp_path / "all.json").read_text())["results"]]
    assert flows == ["all-kernel", ""]


def test_a_chart_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plan = compile_runs.Plan((FILE,))
    svg, png = report.draw(plan, results(plan), tmp_path / "chart")
    assert "<svg" in svg.read_text() and png.read_bytes().startswith(b"\x89PNG")


def test_a_worker_receives_the_imported_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "notes").mkdir()
    for name in ("p.kpy", "p.cu", "beside.mojo", "readme.txt", "inner/__init__.kpy", "inner/a.kpy", "notes/b.kpy"):
        (tmp_path / name).write_text(name)
    sent = {"beside.mojo", "inner/__init__.kpy", "inner/a.kpy", "p.kpy"}
    assert cluster.sources(tmp_path / "p.kpy", "") == {name: name for name in sent}
    assert cluster.sources(tmp_path / "p.kpy", ".cu").keys() == sent | {"p.cu"}


def test_a_worker_measures_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker runs: the program comes as text, and its failures go back as text. A script stands for ktc."""
    script = tmp_path / "ktc.py"
    script.write_text(
        "import os, pathlib, sys\n"
        "os.makedirs(os.environ['KTC_CACHE_DIR'], exist_ok=True)\n"
        "source = next(one for one in sys.argv if one.endswith('.kpy'))\n"
        "text = pathlib.Path(source).read_text()\n"
        "if 'nothing' in text: sys.exit('error[undefined-name]')\n"
        "assert 'warm' in text or pathlib.Path(source).with_name('q.kpy').read_text() == 'fn f()'\n"
        "pathlib.Path(sys.argv[sys.argv.index('-o') + 1]).write_text('made')\n"
    )
    monkeypatch.setattr(compile_runs, "own_command", lambda: (sys.executable, str(script)))
    plan = {"files": ["p.kpy"], "levels": [0], "debugs": ["none"], "flows": ["all-kernel"], "repeat": 2}
    job = {"plan": {**plan, "accelerator": "cpu"}, "files": {"p.kpy": "from q import f", "q.kpy": "fn f()"}}
    made = json.loads(cluster.evaluate(json.dumps(job)))
    assert len(made["runs"]) == 1 and len(made["runs"][0]) == 2 and "cores" in made["machine"]
    job["files"] = {"p.kpy": "nothing"}
    assert "error[undefined-name]" in json.loads(cluster.evaluate(json.dumps(job)))["failed"]
