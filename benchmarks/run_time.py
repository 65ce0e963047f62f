"""How fast generated host code runs: the programs in benchmarks/programs, built by ktc and by the reference.

    python benchmarks/run_time.py [--repeat N] [NAME...]

Prints the least user time of N runs each, in turn, and the ratio. If the outputs of a program differ, the exit
code is 1 then. MOJO= names the reference (default: `mojo` on PATH; without one only ktc is measured), KTC= another ktc.
"""

import argparse
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROGRAMS = Path(__file__).parent / "programs"


def build(command: str, source: Path, folder: Path, suffix: str) -> Path:
    """Build a program; returns the executable."""
    text = folder / f"{source.stem}{suffix}"
    shutil.copy(source, text)
    made = folder / f"{source.stem}.{Path(shlex.split(command)[0]).name}"
    subprocess.run([*shlex.split(command), "build", text, "-o", made], check=True, cwd=folder, capture_output=True)
    return made


def run(program: Path) -> tuple[float, str]:
    """Run once; returns user seconds and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    ktc = os.environ.get("KTC", "ktc")
    mojo = os.environ.get("MOJO") or shutil.which("mojo") or ""
    table = Table("program", "ktc (s)", "reference (s)", "ktc / reference", "output")
    differ = False
    with tempfile.TemporaryDirectory(prefix="ktc-bench-") as name:
        folder = Path(name)
        for source in sorted(PROGRAMS.glob("*.kpy")):
            if options.names and source.stem not in options.names:
                continue
            programs = [build(ktc, source, folder, ".kpy"), *([build(mojo, source, folder, ".mojo")] if mojo else [])]
            runs = [[run(program) for program in programs] for _ in range(options.repeat)]
            best = [min(turn[index][0] for turn in runs) for index in range(len(programs))]
            said = {text for turn in runs for _, text in turn}
            differ = differ or len(said) > 1
            ratio = f"{best[0] / best[1]:.2f}" if mojo else ""
            row = [f"{best[0]:.2f}", f"{best[1]:.2f}" if mojo else "", ratio, "same" if len(said) == 1 else "DIFFERENT"]
            table.add_row(source.stem, *row)
    Console().print(table)
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
