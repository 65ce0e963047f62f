"""Kernels of benchmarks/gpu on this machine's GPU, each beside its twin in CUDA: time, ratio, registers, spills.

    python benchmarks/gpu_kernels.py [--rounds 3] [--target sm_90] [--json FILE] [--chart PATH] [--markdown FILE]

NAME.kpy is compiled by ktc (KTC names it), NAME.cu by nvcc -O3 (NVCC). The programs run in turns, and of each kernel
the least time counts. A kernel whose checksum differs from its twin's is an error. `host.kpy` measures launches,
graphs, memory and copies.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "gpu"
HOST = "host"
SHARED = ("timing", "errors", HOST)
TOLERANCE = 1e-6
GOAL = 1.05


@dataclass
class Row:
    """A kernel: microseconds, registers and bytes of spills, of ktc's and of nvcc's."""

    name: str
    ktc: float
    nvcc: float
    ktc_registers: int | None = None
    nvcc_registers: int | None = None
    ktc_spills: int | None = None
    nvcc_spills: int | None = None

    @property
    def ratio(self) -> float:
        return self.ktc / self.nvcc


def told(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; end with what it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


def times(command: list[str]) -> dict[str, tuple[float, float]]:
    """Return by kernel the microseconds and the checksum that a program prints."""
    lines = [line.split("\t") for line in told(command).stdout.splitlines()]
    return {name: (float(took), float(sum)) for name, took, sum in (line for line in lines if len(line) == 3)}


def registers_of_ktc(ktc: str, source: Path, target: str) -> dict[str, tuple[int, int]]:
    """Return registers and spills by kernel."""
    made = json.loads(told([ktc, "report", "--json", "--target-accelerator", target, str(source)]).stdout)
    return {one["symbol"].rpartition("_")[0]: (one["registers"], one["spills"]) for one in made["kernels"]}


def registers_of_nvcc(said: str) -> dict[str, tuple[int, int]]:
    """Return the same from what `nvcc -Xptxas -v` says."""
    found = {}
    for part in said.split("Compiling entry function")[1:]:
        name = re.search(r"'_Z(\d+)(\w+)'", part)
        spills, used = re.search(r"(\d+) bytes spill stores", part), re.search(r"Used (\d+) registers", part)
        if name and spills and used:
            found[name[2][: int(name[1])]] = (int(used[1]), int(spills[1]))
    return found


def measured(ktc: str, nvcc: str, target: str, rounds: int, folder: Path) -> list[Row]:
    """Build all programs and their twins, and run them in turns."""
    rows: list[Row] = []
    for source in sorted(FOLDER.glob("*.kpy")):
        if source.stem in SHARED:
            continue
        ours, theirs = folder / source.stem, folder / f"{source.stem}_cu"
        told([ktc, "build", "--target-accelerator", target, str(source), "-o", str(ours)])
        twin = source.with_suffix(".cu")
        said = told([nvcc, "-O3", "-std=c++17", f"-arch={target}", "-Xptxas", "-v", str(twin), "-o", str(theirs)])
        ours_need, theirs_need = registers_of_ktc(ktc, source, target), registers_of_nvcc(said.stdout + said.stderr)
        best: dict[str, Row] = {}
        for _ in range(rounds):
            mine, other = times([str(ours)]), times([str(theirs)])
            if mine.keys() != other.keys():
                sys.exit(f"{source.name} and its twin have other kernels: {mine.keys() ^ other.keys()}")
            for name, (took, total) in mine.items():
                if abs(total - other[name][1]) > TOLERANCE * max(1.0, abs(other[name][1])):
                    sys.exit(f"{name}: the checksum is {total}, that of the twin {other[name][1]}")
                row = best.setdefault(name, Row(name, took, other[name][0]))
                row.ktc, row.nvcc = min(row.ktc, took), min(row.nvcc, other[name][0])
        for name, row in best.items():
            kernel = NAMES.get(name, name)
            row.ktc_registers, row.ktc_spills = ours_need.get(kernel, (None, None))
            row.nvcc_registers, row.nvcc_spills = theirs_need.get(kernel, (None, None))
        rows += best.values()
    return rows


NAMES = {"sum": "sum_plain", "sum_few_threads": "sum_plain"}
"""Kernels whose function has another name."""


def markdown(rows: list[Row]) -> str:
    """Return the table."""
    lines = [
        "| kernel | ktc, µs | nvcc, µs | ratio | registers | spills, bytes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ratio = f"{row.ratio:.2f}" if row.ratio <= GOAL else f"**{row.ratio:.2f}**"
        lines.append(
            f"| {row.name} | {row.ktc:.1f} | {row.nvcc:.1f} | {ratio} | {row.ktc_registers} / {row.nvcc_registers} "
            f"| {row.ktc_spills} / {row.nvcc_spills} |"
        )
    return "\n".join(lines) + "\n"


def draw(rows: list[Row], path: Path, title: str) -> None:
    """Draw the ratios as bars, to an SVG and a PNG."""
    plotting: Any = import_module("matplotlib")
    plotting.use("Agg")
    plotting.rcParams["svg.hashsalt"] = "ktc"
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, axis = pyplot.subplots(figsize=(8, 0.26 * len(rows) + 1.2))
    ordered = sorted(rows, key=lambda row: -row.ratio)
    colours = ["#2a6f97" if row.ratio <= GOAL else "#c8553d" for row in ordered]
    axis.barh([row.name for row in ordered], [row.ratio for row in ordered], color=colours)
    axis.axvline(1, color="black", linewidth=0.8)
    axis.axvline(GOAL, color="black", linewidth=0.8, linestyle=":")
    axis.set_xlabel("time of ktc's kernel over that of nvcc's")
    axis.set_title(title, fontsize=10)
    axis.tick_params(axis="y", labelsize=8)
    figure.tight_layout()
    for suffix in (".svg", ".png"):
        figure.savefig(path.with_suffix(suffix), dpi=120, metadata={"Date": None} if suffix == ".svg" else None)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    parser.add_argument("--markdown", type=Path)
    words = parser.parse_args()
    ktc, nvcc = os.environ.get("KTC", "ktc"), os.environ.get("NVCC") or shutil.which("nvcc") or ""
    if not nvcc:
        sys.exit("nvcc was not found: set NVCC, or put it on PATH")
    if not shutil.which("nvidia-smi"):
        sys.exit("nvidia-smi was not found: the kernels need an NVIDIA GPU and its driver")
    asked = told(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]).stdout
    device, capability, driver = (word.strip() for word in asked.splitlines()[0].split(","))
    target = words.target or f"sm_{capability.replace('.', '')}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = measured(ktc, nvcc, target, words.rounds, folder)
        told([ktc, "build", "--target-accelerator", target, str(FOLDER / f"{HOST}.kpy"), "-o", str(folder / HOST)])
        host = told([str(folder / HOST)]).stdout
    table = markdown(rows)
    print(f"{device}, driver {driver}, {target}\n\n{table}\n{host}", end="")
    if words.markdown:
        words.markdown.write_text(f"{table}\n```\n{host}```\n", "utf-8")
    if words.json:
        words.json.write_text(
            json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=1) + "\n", "utf-8"
        )
    if words.chart:
        draw(rows, words.chart, f"{device}, driver {driver}: the same kernels by ktc and by nvcc -O3")
    return 0


if __name__ == "__main__":
    sys.exit(main())
