"""How fast the CPU device runs kernels, against loops by hand in C and Intel's OpenCL runtime for processors.

    python benchmarks/cpu_device.py [--rounds N] [--only NAME,NAME] [--svg FILE] [--keep FOLDER]

All three run the same work in turns; the numbers are processor time, the least of all rounds. C is compiled with
`-O3 -march=native -fopenmp`. Intel's runtime takes part where `pyopencl` can be imported by the Python that
KTC_OPENCL_PYTHON names (`pip install intel-opencl-rt intel-cmplr-lib-rt pyopencl` in an environment of its own).
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "cpu_kernels"
M, K = 1 << 22, 1 << 20
LINE, SQUARE = (256, 1, 1), (16, 16, 1)

KERNELS: dict[str, tuple[str, int, int, tuple[int, int, int], tuple[int, int, int], int]] = {
    # name: what it is, n, elements, blocks, threads, launches a round
    "add": ("sum of 4 M elements", M, M, (M // 256, 1, 1), LINE, 4),
    "stride": ("grid-stride loop", M, M, (64, 1, 1), LINE, 4),
    "expo": ("exp", K, K, (K // 256, 1, 1), LINE, 4),
    "gray": ("grayscale of bytes", 1024, K, (64, 64, 1), SQUARE, 4),
    "blur": ("blur 3 x 3", 1024, K, (64, 64, 1), SQUARE, 4),
    "product": ("naive product 256", 256, 65536, (16, 16, 1), SQUARE, 2),
    "matrix": ("matrix instructions, 256", 256, 65536, (32, 16, 1), (32, 1, 1), 2),
    "tiles16": ("product 512, tiles of 16", 512, 262144, (32, 32, 1), SQUARE, 1),
    "tiles32": ("product 512, tiles of 32", 512, 262144, (16, 16, 1), (32, 32, 1), 1),
    "tree": ("tree reduction", K, K, (K // 256, 1, 1), LINE, 4),
    "warpsum": ("sums of warps", K, K, (K // 256, 1, 1), LINE, 4),
    "blocksum": ("sums of blocks", K, K, (K // 256, 1, 1), LINE, 4),
    "scan": ("scan in shared memory", K, K, (K // 256, 1, 1), LINE, 2),
    "warpscan": ("scans of warps", K, K, (K // 256, 1, 1), LINE, 4),
    "histogram": ("histogram, shared atomics", K, K, (K // 4096, 1, 1), LINE, 4),
    "transpose": ("transpose", 1024, K, (64, 64, 1), SQUARE, 4),
    "turned": ("transpose by tiles", 1024, K, (64, 64, 1), SQUARE, 4),
    "stencil": ("stencil, 1,024 threads, 65 barriers", K, K, (K // 1024, 1, 1), (1024, 1, 1), 1),
    "uniform": ("uniform while with barriers", K, K, (K // 256, 1, 1), LINE, 1),
    "dynamic": ("dynamic shared memory", K, K, (K // 256, 1, 1), LINE, 4),
    "cube": ("3-D stencil", 96, 96**3, (6, 24, 24), (16, 4, 4), 4),
    "softmax": ("softmax of rows", 2048, K, (512, 1, 1), LINE, 2),
    "bitonic": ("bitonic sort", K, K, (K // 256, 1, 1), LINE, 1),
    "nbody": ("n-body, tiles", 4096, 4096, (16, 1, 1), LINE, 1),
    "convolution": ("convolution with halo", K, K, (K // 256, 1, 1), LINE, 4),
    "mandelbrot": ("mandelbrot", 512, 262144, (32, 32, 1), SQUARE, 1),
    "tiny": ("10^6 blocks of one thread", K, K, (K, 1, 1), (1, 1, 1), 2),
    "dot": ("dot product", M, M, (256, 1, 1), LINE, 4),
    "options": ("Black-Scholes", K, K, (K // 256, 1, 1), LINE, 2),
    "norm": ("layer norm of rows", 2048, K, (512, 1, 1), LINE, 2),
    "sobel": ("Sobel with halo", 1024, K, (64, 64, 1), SQUARE, 2),
    "early": ("return before a barrier", K, K, (K // 256, 1, 1), LINE, 4),
    "gather": ("gather", K, K, (K // 256, 1, 1), LINE, 4),
}

C_HEAD = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
typedef unsigned char uchar;
#define GLOBAL
#define SHARED(type, name, count) type name[count]
#define OWN(type, name) type name##_of[1024]
#define MY(name) name##_of[(TZ * BY + TY) * BX + TX]
#define SYNC
#define EXP expf
#define LOG logf
#define SQRT sqrtf
#define FABS fabsf
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define LOCAL_ADD(place, value) (*(place) += (value))
#define GLOBAL_ADD(place, value) __atomic_fetch_add(place, value, __ATOMIC_RELAXED)
#define THREADS for (int TZ = 0; TZ < BZ; TZ++) for (int TY = 0; TY < BY; TY++) \\
  _Pragma("GCC ivdep") for (int TX = 0; TX < BX; TX++)
#define GX (BLOCK_X * BX + TX)
#define GY (BLOCK_Y * BY + TY)
#define GZ (BLOCK_Z * BZ + TZ)
#define KERNEL(name) static inline __attribute__((always_inline)) void block_##name(float *restrict c, \\
  const float *restrict a, const float *restrict b, int n, int BLOCK_X, int BLOCK_Y, int BLOCK_Z, int GRID_X, \\
  int BX, int BY, int BZ)
"""

C_MAIN = """
static double now(void) { return clock() * (1e9 / CLOCKS_PER_SEC); }
#define RUN(name, n, count, gx, gy, gz, bx, by, bz, launches) \\
static void run_##name(int rounds) { \\
  float *a = malloc(4L * count), *b = malloc(4L * count), *c = calloc(count, 4); \\
  for (int i = 0; i < count; i++) { a[i] = (long)i * 37 % 101 / 16.0f; b[i] = (long)i * 53 % 97 / 32.0f; } \\
  for (int round = 0; round <= rounds; round++) { \\
    double start = now(); \\
    for (int l = 0; l < launches; l++) { \\
      _Pragma("omp parallel for schedule(dynamic, 16)") \\
      for (int block = 0; block < gx * gy * gz; block++) \\
        block_##name(c, a, b, n, block % gx, block / gx % gy, block / gx / gy, gx, bx, by, bz); } \\
    if (round) printf("%.0f ", (now() - start) / launches); } \\
  double total = 0; \\
  for (int i = 0; i < count; i++) if (c[i] == c[i]) total += (double)c[i] * (i % 7 + 1); \\
  printf("%.10g\\n", total); }
"""

OPENCL = '''
import sys, time
import numpy, pyopencl
name, n, count, grid, threads, launches, rounds, path = eval(sys.argv[1])
head = """
#define GLOBAL global
#define SHARED(type, name, count) local type name[count]
#define OWN(type, name) type name
#define MY(name) name
#define SYNC barrier(CLK_LOCAL_MEM_FENCE);
#define EXP exp
#define LOG log
#define SQRT sqrt
#define FABS fabs
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define LOCAL_ADD(place, value) atomic_add(place, value)
#define GLOBAL_ADD(place, value) atomic_add(place, value)
#define THREADS
#define TX ((int)get_local_id(0))
#define TY ((int)get_local_id(1))
#define BX ((int)get_local_size(0))
#define GRID_X ((int)get_num_groups(0))
#define BLOCK_X ((int)get_group_id(0))
#define BLOCK_Y ((int)get_group_id(1))
#define GX ((int)get_global_id(0))
#define GY ((int)get_global_id(1))
#define GZ ((int)get_global_id(2))
#define KERNEL(name) kernel void name(global float *restrict c, const global float *restrict a, \\
  const global float *restrict b, int n)
"""
device = [d for p in pyopencl.get_platforms() for d in p.get_devices() if d.type & pyopencl.device_type.CPU][0]
context = pyopencl.Context([device])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, head + open(path).read()).build("-cl-mad-enable")
i = numpy.arange(count, dtype=numpy.int64)
flags = pyopencl.mem_flags
a, b = (pyopencl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=x.astype(numpy.float32))
        for x in (i * 37 % 101 / 16, i * 53 % 97 / 32))
c = pyopencl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=numpy.zeros(count, numpy.float32))
kernel = getattr(program, name)
kernel.set_args(c, a, b, numpy.int32(n))
whole = tuple(x * y for x, y in zip(grid, threads))
for round in range(rounds + 1):
    start = time.process_time_ns()
    for _ in range(launches):
        pyopencl.enqueue_nd_range_kernel(queue, kernel, whole, threads)
    queue.finish()
    if round:
        print((time.process_time_ns() - start) // launches, end=" ")
out = numpy.empty(count, numpy.float32)
pyopencl.enqueue_copy(queue, out, c)
out[numpy.isnan(out)] = 0
print(float((out.astype(numpy.float64) * (i % 7 + 1)).sum()))
'''


def build_ktc(folder: Path, flags: list[str]) -> Path:
    """Build the kernels with ktc; one program, whose argument says which to run."""
    runs = []
    for name, (_, n, count, grid, threads, launches) in KERNELS.items():
        kernel = {"tiles16": "tiles[16]", "tiles32": "tiles[32]"}.get(name, name)
        runs.append(f'    if name == "{name}":')
        runs.append(f"        run[{kernel}](rounds, {n}, {count}, {grid}, {threads}, {launches})")
    text = (HERE / "kernels.kpy").read_text("utf-8").replace("@RUNS@", "\n".join(runs))
    source, program = folder / "kernels.kpy", folder / "ktc"
    source.write_text(text, "utf-8")
    command = [
        os.environ.get("KTC", "ktc"),
        "build",
        "--target-accelerator",
        "cpu",
        *flags,
        "-W",
        "none",
        "-W",
        "coroutine-kernel",
    ]
    subprocess.run([*command, "-o", str(program), str(source)], check=True)
    return program


def build_c(folder: Path) -> Path:
    """Build the kernels as loops by hand."""
    runs = []
    for name, (_, n, count, grid, threads, launches) in KERNELS.items():
        numbers = ", ".join(map(str, (n, count, *grid, *threads, launches)))
        runs.append(f"RUN({name}, {numbers})")
    tests = "\n".join([f'  if (!strcmp(argv[1], "{name}")) run_{name}(atoi(argv[2]));' for name in KERNELS])
    main = f"int main(int argc, char **argv) {{\n{tests}\n}}"
    source, program = folder / "kernels.c", folder / "c"
    source.write_text("\n".join([C_HEAD, f'#include "{HERE}/kernels.h"', C_MAIN, *runs, main, ""]))
    subprocess.run(["cc", "-O3", "-march=native", "-fopenmp", str(source), "-o", str(program), "-lm"], check=True)
    return program


def opencl(folder: Path, name: str, rounds: int) -> list[str]:
    """Return the command that runs a kernel with OpenCL."""
    script = folder / "opencl_run.py"
    script.write_text(OPENCL)
    _, n, count, grid, threads, launches = KERNELS[name]
    described = repr((name, n, count, grid, threads, launches, rounds, str(HERE / "kernels.h")))
    return [os.environ["KTC_OPENCL_PYTHON"], str(script), described]


def measured(command: list[str]) -> tuple[float, float]:
    """Return the least of the times that a run prints, and its sum."""
    # A thread of OpenMP that waits for work is not to count.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    words = done.stdout.split()
    if done.returncode or len(words) < 2:
        print(f"{command[0]}: {done.stderr[-300:]}", file=sys.stderr)
        return math.nan, math.nan
    return min(map(float, words[:-1])), float(words[-1])


def mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    known = [ratio for ratio in ratios if not math.isnan(ratio)]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else math.nan


def draw(rows: list[tuple[str, float, float]], path: Path) -> None:
    """Draw the ratios as bars, on a logarithmic scale."""
    width, left, step = 860, 250, 26
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{step * len(rows) + 60}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="18">Processor time of ktc relative to loops in C (blue) and to Intel\'s OpenCL (orange); '
        "shorter is better</text>",
    ]
    scale = (width - left - 60) / 4

    def at(ratio: float) -> float:
        return left + (math.log2(min(max(ratio, 0.125), 8)) + 3) / 6 * 4 * scale

    for ratio in (0.125, 0.25, 0.5, 1, 2, 4, 8):
        x = at(ratio)
        lines.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="30" y2="{40 + step * len(rows)}" stroke="#ccc"/>')
        lines.append(f'<text x="{x:.0f}" y="{52 + step * len(rows)}" text-anchor="middle">{ratio:g}</text>')
    for number, (title, c, intel) in enumerate(rows):
        y = 34 + step * number
        lines.append(f'<text x="10" y="{y + 14}">{title}</text>')
        for ratio, color, top in ((c, "#4472c4", 0), (intel, "#ed7d31", 10)):
            if not math.isnan(ratio):
                lines.append(
                    f'<rect x="{left}" y="{y + top}" width="{max(at(ratio) - left, 1):.0f}" height="9" fill="{color}"/>'
                )
    path.write_text("\n".join([*lines, "</svg>", ""]), "utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--flags", default="")
    words = parser.parse_args()
    names = words.only.split(",") if words.only else list(KERNELS)
    rows = []
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        ktc, c = build_ktc(folder, words.flags.split()), build_c(folder)
        has_opencl = bool(os.environ.get("KTC_OPENCL_PYTHON"))
        print(f"{'kernel':38}{'ktc µs':>10}{'C µs':>10}{'Intel µs':>10}{'ktc/C':>8}{'ktc/Intel':>10}")
        for name in names:
            commands = [[str(ktc), name, str(words.rounds)], [str(c), name, str(words.rounds)]]
            if has_opencl:
                commands.append(opencl(folder, name, words.rounds))
            found = [[measured(command) for command in commands] for _ in range(words.turns)]
            times = [min(turn[at][0] for turn in found) for at in range(len(commands))]
            sums = [one[1] for one in found[0]]
            wrong = "" if all(math.isclose(one, sums[0], rel_tol=2e-3) for one in sums) else f"  results differ: {sums}"
            times += [math.nan] * (3 - len(times))
            ratios = (times[0] / times[1], times[0] / times[2])
            rows.append((KERNELS[name][0], *ratios))
            print(f"{KERNELS[name][0]:38}" + "".join([f"{one / 1000:10.0f}" for one in times]) +
                  f"{ratios[0]:8.2f}{ratios[1]:10.2f}{wrong}", flush=True)  # fmt: skip
    ends = [mean([row[at] for row in rows]) for at in (1, 2)]
    print(f"{'geometric mean':68}{ends[0]:8.2f}{ends[1]:10.2f}")
    if words.svg:
        draw(rows, words.svg)


if __name__ == "__main__":
    main()
