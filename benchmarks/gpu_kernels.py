"""Kernels of benchmarks/gpu on this machine's GPU, each beside its twin in CUDA: time, ratio, registers, spills.

    python benchmarks/gpu_kernels.py [--rounds 3] [--target sm_90] [--json FILE] [--chart PATH] [--markdown FILE]
    python benchmarks/gpu_kernels.py --build FOLDER --target sm_90      # on a machine without a GPU
    python benchmarks/gpu_kernels.py --run FOLDER                       # on one without compilers
    python benchmarks/gpu_kernels.py --tensors                          # TileTensor beside LayoutTensor; no nvcc needed

NAME.kpy is compiled by ktc (KTC names it), NAME.cu by nvcc -O3 (NVCC). The programs run in turns, and of each kernel
the least time counts. A kernel whose checksum differs from its twin's is an error. `host.kpy` measures launches,
graphs, memory and copies. Where NVIDIA's cub or PyTorch (TORCH_PYTHON names its Python) do the same work, the fastest
of them stands beside: `libraries.cu`, `gpu_libraries.py`.

`--tensors`, also with `--build` and `--run`, takes the kernels of gpu/tensors instead, which have one text for both
kinds of tensors.
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
LIBRARIES = "libraries"
SHARED = ("timing", "errors", HOST)
NEEDS = "registers.json"
TENSORS = {"tile_tensor": [], "layout_tensor": ["-D", "LAYOUT_TENSOR"]}
"""The programs of gpu/tensors, with the options that make them."""
TOLERANCE = 1e-6
GOAL = 1.05
TENSOR_GOAL = 1.01


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
    library: str = ""
    library_time: float | None = None

    @property
    def ratio(self) -> float:
        return self.ktc / self.nvcc


def completed(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; end with what it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


def times(command: list[str]) -> dict[str, tuple[float, float]]:
    """Return by kernel the microseconds and the checksum that a program prints."""
    lines = [line.split("\t") for line in completed(command).stdout.splitlines()]
    return {name: (float(took), float(sum)) for name, took, sum in (line for line in lines if len(line) == 3)}


def registers_of_ktc(ktc: str, source: Path, target: str) -> dict[str, tuple[int, int]]:
    """Return registers and spills by kernel."""
    made = json.loads(completed([ktc, "report", "--json", "--target-accelerator", target, str(source)]).stdout)
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


def build(ktc: str, nvcc: str, target: str, folder: Path) -> None:
    """Build all programs and their twins, and note what their kernels need."""
    folder.mkdir(parents=True, exist_ok=True)
    needs: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    compile_cuda = [nvcc, "-O3", "-std=c++17", f"-arch={target}", "-Xptxas", "-v"]
    for source in sorted(FOLDER.glob("*.kpy")):
        if source.stem == HOST or source.stem not in SHARED:
            completed([ktc, "build", "--target-accelerator", target, str(source), "-o", str(folder / source.stem)])
            twin = folder / f"{source.stem}_cu"
            said = completed([*compile_cuda, str(source.with_suffix(".cu")), "-o", str(twin)])
            if source.stem != HOST:
                theirs = registers_of_nvcc(said.stdout + said.stderr)
                needs[source.stem] = {"ktc": registers_of_ktc(ktc, source, target), "nvcc": theirs}
    (folder / NEEDS).write_text(json.dumps(needs, indent=1) + "\n", "utf-8")
    libraries = [*compile_cuda, str(FOLDER / f"{LIBRARIES}.cu"), "-o", str(folder / f"{LIBRARIES}_cu")]
    if subprocess.run(libraries, capture_output=True, check=False).returncode:
        print("cub was not found: its times are left out", file=sys.stderr)


def run(folder: Path, rounds: int) -> list[Row]:
    """Run all programs and their twins in turns."""
    rows: list[Row] = []
    for name, needs in json.loads((folder / NEEDS).read_text("utf-8")).items():
        best: dict[str, Row] = {}
        for _ in range(rounds):
            mine, other = times([str(folder / name)]), times([str(folder / f"{name}_cu")])
            if mine.keys() != other.keys():
                sys.exit(f"{name} and its twin have other kernels: {mine.keys() ^ other.keys()}")
            for kernel, (took, total) in mine.items():
                if abs(total - other[kernel][1]) > TOLERANCE * max(1.0, abs(other[kernel][1])):
                    sys.exit(f"{kernel}: the checksum is {total}, that of the twin {other[kernel][1]}")
                row = best.setdefault(kernel, Row(kernel, took, other[kernel][0]))
                row.ktc, row.nvcc = min(row.ktc, took), min(row.nvcc, other[kernel][0])
        for kernel, row in best.items():
            function = NAMES.get(kernel, kernel)
            row.ktc_registers, row.ktc_spills = needs["ktc"].get(function, (None, None))
            row.nvcc_registers, row.nvcc_spills = needs["nvcc"].get(function, (None, None))
        rows += best.values()
    add_libraries(folder, {row.name: row for row in rows})
    return rows


def add_libraries(folder: Path, rows: dict[str, Row]) -> None:
    """Give kernels the time of the fastest library that does the same work."""
    python = os.environ.get("TORCH_PYTHON", sys.executable)
    for command in ([str(folder / f"{LIBRARIES}_cu")], [python, str(FOLDER.parent / "gpu_libraries.py")]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            continue
        for kernel, library, took in [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 2]:
            row = rows.get(kernel)
            if row is None or not took.replace(".", "").isdigit():
                continue
            if row.library_time is None or float(took) < row.library_time:
                row.library, row.library_time = library, float(took)


NAMES = {"sum": "sum_plain", "sum_few_threads": "sum_plain"}
"""Kernels whose function has another name."""


def build_tensors(ktc: str, target: str, folder: Path) -> None:
    """Build the kernels on tensors, with either kind of tensor."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, options in TENSORS.items():
        source = FOLDER / "tensors" / "tensors.mojo"
        completed([ktc, "build", *options, "--target-accelerator", target, str(source), "-o", str(folder / name)])


def compare_tensors(folder: Path, rounds: int) -> str:
    """Run the kernels on tensors in turns, and return the table."""
    best: dict[str, tuple[float, float]] = {}
    for _ in range(rounds):
        tiles, others = (times([str(folder / name)]) for name in TENSORS)
        for kernel, (took, total) in tiles.items():
            other, wanted = others[kernel]
            if abs(total - wanted) > TOLERANCE * max(1.0, abs(wanted)):
                sys.exit(f"{kernel}: the checksum is {total} with a TileTensor, {wanted} with a LayoutTensor")
            least, least_other = best.get(kernel, (took, other))
            best[kernel] = min(took, least), min(other, least_other)
    lines = ["| kernel | TileTensor, µs | LayoutTensor, µs | ratio |", "| --- | --- | --- | --- |"]
    for kernel, (took, other) in best.items():
        ratio = f"{took / other:.3f}" if took <= TENSOR_GOAL * other else f"**{took / other:.3f}**"
        lines.append(f"| {kernel} | {took:.1f} | {other:.1f} | {ratio} |")
    return "\n".join(lines) + "\n"


def markdown(rows: list[Row]) -> str:
    """Return the table."""
    lines = [
        "| kernel | ktc, µs | nvcc, µs | ratio | registers | spills, bytes | a library, µs |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        ratio = f"{row.ratio:.2f}" if row.ratio <= GOAL else f"**{row.ratio:.2f}**"
        library = f"{row.library} {row.library_time:.1f}" if row.library_time is not None else ""
        lines.append(
            f"| {row.name} | {row.ktc:.1f} | {row.nvcc:.1f} | {ratio} | {row.ktc_registers} / {row.nvcc_registers} "
            f"| {row.ktc_spills} / {row.nvcc_spills} | {library} |"
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
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    parser.add_argument("--run", type=Path, metavar="FOLDER")
    parser.add_argument("--tensors", action="store_true")
    words = parser.parse_args()
    ktc, nvcc = os.environ.get("KTC", "ktc"), os.environ.get("NVCC") or shutil.which("nvcc") or ""
    if words.tensors and words.build:
        build_tensors(ktc, words.target or "sm_90", words.build)
        return 0
    if not nvcc and not words.run and not words.tensors:
        sys.exit("nvcc was not found: set NVCC, or put it on PATH")
    if words.build:
        build(ktc, nvcc, words.target or "sm_90", words.build)
        return 0
    if not shutil.which("nvidia-smi"):
        sys.exit("nvidia-smi was not found: the kernels need an NVIDIA GPU and its driver")
    found = completed(["nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"]).stdout
    device, capability, driver = (word.strip() for word in found.splitlines()[0].split(","))
    target = words.target or f"sm_{capability.replace('.', '')}"
    with tempfile.TemporaryDirectory() as name:
        folder = words.run or Path(name)
        if words.tensors:
            if not words.run:
                build_tensors(ktc, target, folder)
            print(f"{device}, driver {driver}, {target}\n\n{compare_tensors(folder, words.rounds)}", end="")
            return 0
        if not words.run:
            build(ktc, nvcc, target, folder)
        rows = run(folder, words.rounds)
        host = "".join(
            [
                f"{what}\n{completed([str(folder / file)]).stdout}\n"
                for what, file in (("ktc:", HOST), ("nvcc:", f"{HOST}_cu"))
            ]
        )
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
