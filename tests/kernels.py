"""Compile every kernel of programs for many GPUs and assemble the result: NVIDIA's with ptxas, where it is found.

    python tests/kernels.py FOLDER-OR-FILE… [--targets sm_90,gfx942]

Every *.kpy file of a folder that starts kernels is taken. One line a program; exit code 1 if anything is refused. A
program's first line may name the only targets that it is for: `# targets: sm_90, sm_120`.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ktc import config
from ktc.base.cache import Cache
from ktc.codegen.module import LlvmModule, lower_device
from ktc.diag.diagnostic import Bug, Severity, Sink
from ktc.driver.front_end import kept_library
from ktc.elaborate.program import elaborate
from ktc.emit.device import UndefinedFunctions, images
from ktc.emit.tools import find_ptxas
from ktc.emit.workers import Workers
from ktc.ir.verify import verify
from ktc.passes import run as run_passes
from ktc.syntax.loader import Files, load

EVERYWHERE = ("sm_75", "sm_80", "sm_90", "sm_120", "gfx942", "gfx1100")


class Refused(Exception):
    """A program has errors."""


def wanted(source: Path, targets: Sequence[str] = EVERYWHERE) -> list[str]:
    """Return those of `targets` that a program is for; what its first line names, where nothing of it is asked for.

    "cpu" in that line is for those who run programs.
    """
    first = source.read_text("utf-8").splitlines()[0]
    if not first.startswith("# targets:"):
        return list(targets)
    named = [name for name in first.removeprefix("# targets:").replace(" ", "").split(",") if name != "cpu"]
    return [name for name in targets if name in named] or named


def on_the_processor(source: Path) -> bool:
    """Return whether the CPU device runs a program too."""
    first = source.read_text("utf-8").splitlines()[0]
    return not first.startswith("# targets:") or "cpu" in first


def multiplying(types: str, folder: Path) -> Path:
    """Write a program with a kernel that calls `mma` on vectors of these types: sums, then factors."""
    sums, factors = re.split(r"(?<=\]), ", types)
    source = folder / "program.kpy"
    source.write_text(
        "from gpu.host import DeviceContext\nfrom gpu.mma import mma\n\n\n"
        f"fn kernel(p: UnsafePointer[Int, MutAnyOrigin]):\n    var d = {sums}(0)\n    var a = {factors}(0)\n"
        "    mma(d, a, a, d)\n    p[0] = Int(d[0])\n\n\n"
        "def main():\n    _ = DeviceContext().compile_function_checked[kernel, kernel]()\n"
    )
    return source


def device_modules(source: Path, targets: Iterable[str], cache: Cache) -> dict[str, tuple[LlvmModule, ...]]:
    """Return by target the kernels of a program.

    Raises:
        Refused: the program has errors.
    """
    sink = Sink()
    made = config.resolve(config.Options(source, accelerators=",".join(targets)), sink, cache)
    package = made and load(Files(made.root, made.search, made.stdlib), cache, sink)
    program = package and elaborate(
        package,
        made,
        sink,
        kept_library.kept(made, cache),
        keep=lambda new: kept_library.keep_bodies(made, cache, new, {}),
    )
    units = [run_passes(unit, made, sink) for unit in program.devices] if program and not sink.error_count else []
    if sink.error_count:
        found = next(one for one in sink.diagnostics if one.severity is Severity.ERROR)
        place = f"line {found.span.source.position(found.span.start)[0]}: " if found.span else ""
        raise Refused(f"{place}{found.message} ({sink.error_count} in all)")
    for unit in units:
        verify(unit)
    return {unit.target.name: lower_device(unit) for unit in units}  # type: ignore[attr-defined]


def assemble(modules: Sequence[LlvmModule], workers: Workers) -> None:
    """Make an object of each kernel; NVIDIA's stay text if there is no ptxas.

    Raises:
        Bug: LLVM or ptxas refuses one.
    """
    ptxas = find_ptxas()
    made = images(modules, {one.kernel: {"object"} for one in modules}, 3, workers=workers, ptxas=ptxas)
    for one in modules:
        is_elf = ptxas or one.target.vendor != "nvidia"
        assert made[one.kernel].data["object"].lstrip().startswith(b"\x7fELF" if is_elf else b"//"), one.kernel


def sources(paths: Iterable[str]) -> list[Path]:
    """Return the programs in files and folders."""
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.rglob("*.kpy")) if path.is_dir() else [path]
        found += [one for one in inside if "DeviceContext" in one.read_text("utf-8")]
    return found


def tried(source: Path, targets: Sequence[str], cache: Cache, workers: Workers) -> dict[str, int | str]:
    """Return by target how many kernels a program has, or what is wrong with them."""
    try:
        modules = device_modules(source, targets, cache)
    except (Refused, Bug) as error:
        if len(targets) == 1:
            return {targets[0]: str(error)}
        # A host may choose what it starts by the vendor; then each target alone, to see which of them refuses.
        vendors = [[one for one in targets if one.startswith("sm_") == nvidia] for nvidia in (True, False)]
        groups = vendors if all(vendors) else [[target] for target in targets]
        return {one: found for group in groups for one, found in tried(source, group, cache, workers).items()}
    counts: dict[str, int | str] = {}
    for target in targets:
        counts[target] = len(modules.get(target, ()))
        try:
            assemble(modules.get(target, ()), workers)
        except (Bug, UndefinedFunctions) as error:
            counts[target] = " ".join(str(error).split())[:600]
    return counts


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--targets", default=",".join(EVERYWHERE))
    words = parser.parse_args()
    bad = 0
    if not find_ptxas():
        print("ptxas is not installed: what is for NVIDIA is compiled, not assembled", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder, Workers(2) as workers:
        cache = Cache(Path(folder))
        for source in sources(words.paths):
            counts = tried(source, wanted(source, words.targets.split(",")), cache, workers)
            print(f"{source.stem}: " + ", ".join(f"{name} {count}" for name, count in counts.items()), flush=True)
            bad += any(isinstance(count, str) for count in counts.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
