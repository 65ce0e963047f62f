"""Random kernels that may have races: the fast path of a launch must suspect all that the exact checks report.

    python tests/random_races.py [--count N] [--seed S] [--keep FOLDER]

Each program has sixteen kernels, of which about half are wrong. It is built with `--check=keep-going` twice, once
without the fast path (`toolchain/emit/checks/fast_path`); both must report the same kernels. Exit code 1 if they do
not.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS, SECONDS = 16, 300
EXACT = """
import sys
from ktc.emit.checks import kernel_variants
def without(*_):
    raise kernel_variants.NoFastPath("a test")
kernel_variants._screen = without
from ktc.cli.commands import main
sys.exit(main())
"""
HEAD = """\
from gpu import barrier, block_dim, block_idx, global_idx, thread_idx, warp
from gpu.host import DeviceContext
from gpu.memory import AddressSpace
from memory import stack_allocation
from os.atomic import Atomic

alias Ints = UnsafePointer[Int32, MutAnyOrigin]

"""
BEGIN = """\
fn {name}(a: Ints, d: Ints, n: Int):
    var s = stack_allocation[256, Int32, address_space = AddressSpace.SHARED]()
    var r = stack_allocation[256, {narrow}, address_space = AddressSpace.SHARED]()
    var t = Int(thread_idx.x) + Int(thread_idx.y) * Int(block_dim.x)
    var x = Int(thread_idx.x)
    var g = Int(block_idx.x) * 64 + t
    var v = a[g]
    for i in range(t, 256, 64):
        s[i] = Int32(i)
        r[i] = 1
    barrier()"""
RUN = """
def run[kernel: fn (Ints, Ints, Int) -> None](ctx: DeviceContext):
    var a = ctx.enqueue_create_buffer[DType.int32](256)
    var d = ctx.enqueue_create_buffer[DType.int32](256)
    a.enqueue_fill(3)
    d.enqueue_fill(1)
    ctx.enqueue_function_checked[kernel, kernel](a, d, 4, grid_dim=2, block_dim=SHAPE)
    ctx.synchronize()


def main():
    with DeviceContext(api="cpu") as ctx:
"""
SHAPES = ("(64, 1, 1)", "(16, 4, 1)", "(32, 2, 1)")
ALIKE = ("0", "n", "n * 2 + 1", "63", "i", "step", "step + 1", "Int(block_idx.x)")
OWN = ("t", "t", "t", "g & 63", "t ^ 1", "63 - t", "t // 2", "t * 2", "x", "t + 64", "(t * 5) & 63", "t & 31")
GUARDS = ("t < step", "t == 0", "t < 32", "t & 1 == 0", "x < n * 8", "t >= step", "v > 2", "t == step")


class Kernel:
    """One kernel."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lines: list[str] = []

    def text(self, name: str) -> str:
        """Return a kernel that has a name."""
        narrow = self.chance.choice(("Int32", "UInt8", "Int16", "Int64"))
        self.lines = [BEGIN.format(name=name, narrow=narrow), "    var step = 32", "    var i = 0"]
        self.narrow = narrow
        for _ in range(self.chance.randint(1, 4)):
            self.statement(4, True)
        self.lines.append("    d[g] = v")
        return "\n".join(self.lines) + "\n\n"

    def index(self) -> str:
        """Return an index below 256."""
        own, alike = self.chance.choice(OWN), self.chance.choice(ALIKE)
        return self.chance.choice((own, own, own, f"({own} + {alike})", f"{alike}"))

    def statement(self, depth: int, is_alike: bool) -> None:
        """Add a statement; `is_alike`: all threads come here."""
        kind, pad = self.chance.random(), " " * depth
        if kind < 0.14 and depth < 16:
            self.lines.append(f"{pad}if {self.chance.choice(GUARDS)}:")
            self.body(depth, False)
        elif kind < 0.34 and depth < 12:
            head = self.chance.choice(("step", "step", "i", "own"))
            if head == "step":
                self.lines += [f"{pad}step = {self.chance.choice((32, 16))}", f"{pad}while step > 0:"]
                self.body(depth, is_alike)
                self.lines.append(f"{pad}    step //= 2")
                if is_alike and self.chance.random() < 0.7:
                    self.lines.append(f"{pad}    barrier()")
            elif head == "i":
                self.lines.append(f"{pad}for i in range(n):")
                self.body(depth, is_alike)
                if is_alike and self.chance.random() < 0.6:
                    self.lines.append(f"{pad}    barrier()")
            else:
                self.lines.append(f"{pad}for _ in range(t & 3):")
                self.body(depth, False)
        elif kind < 0.5 and is_alike:
            self.lines.append(f"{pad}barrier()")
        else:
            self.lines.append(pad + self.access())

    def body(self, depth: int, is_alike: bool) -> None:
        """Add what stands in a branch or loop."""
        for _ in range(self.chance.randint(1, 3)):
            self.statement(depth + 4, is_alike)

    def access(self) -> str:
        """Return an access."""
        at, kind = self.index(), self.chance.random()
        other = self.index()
        if kind < 0.3:
            return f"v += s[{at}]"
        if kind < 0.5:
            return f"s[{at}] = v + Int32(t)"
        if kind < 0.6:
            return f"s[{at}] += s[{other}]"
        if kind < 0.68:
            return f"v ^= Int32(r[{at}])"
        if kind < 0.76:
            return f"r[{at}] = {self.narrow}(t & 7)"
        if kind < 0.82:
            return f"_ = Atomic.fetch_add(s + {at}, 1)"
        if kind < 0.86:
            return f"v += d[Int(block_idx.x) * 128 + {at} // 2]"
        if kind < 0.9:
            return f"d[Int(block_idx.x) * 64 + {at} % 64] = v"
        return f"v += a[{at}]"


def program(seed: int) -> str:
    """Return the program of a number."""
    chance = random.Random(seed)
    kernels = "".join(Kernel(chance).text(f"k{number}") for number in range(KERNELS))
    runs = "".join(f"        run[k{number}](ctx)\n" for number in range(KERNELS))
    return HEAD + kernels + RUN.replace("SHAPE", chance.choice(SHAPES)) + runs


def reported(source: Path, command: list[str], cache: Path) -> set[str]:
    """Return which of a program's kernels are reported; of one that is wrong more than once, not all need be found."""
    words = [
        *command,
        "run",
        "--check=keep-going,races,memory",
        "-W",
        "none",
        "--diagnostic-format",
        "json",
        source.name,
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=source.parent,
        env={**os.environ, "KTC_CACHE_DIR": str(cache)},
    )  # fmt: skip
    if "Traceback" in done.stderr or not all(line.startswith("{") for line in done.stderr.splitlines()):
        raise SystemExit(done.stderr[-3000:])
    return {match for line in done.stderr.splitlines() for match in re.findall(r"kernel '(\w+)'", line)}


def main() -> int:
    """Compare programs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    words = parser.parse_args()
    bad = wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(words.seed, words.seed + words.count):
            source = folder / f"races{seed}.kpy"
            source.write_text(program(seed), "utf-8")
            looked = reported(source, [sys.executable, "-m", "ktc"], folder / "cache")
            exact = reported(source, [sys.executable, "-c", EXACT], folder / "exact")
            wrong += len(exact)
            if looked != exact:
                bad += 1
                print(f"seed {seed}: {len(exact)} kernels are reported, with the fast path {len(looked)}")
                print("  only exact:", *sorted(exact - looked), "only with it:", *sorted(looked - exact))
                if words.keep:
                    words.keep.mkdir(exist_ok=True)
                    (words.keep / source.name).write_text(source.read_text("utf-8"), "utf-8")
    print(f"{words.count} programs, {wrong} kernels reported, {bad} programs differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
