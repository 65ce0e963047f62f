"""Programs of others that `emit` can use and does not need: NVIDIA's assembler."""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ktc.diag.diagnostic import Bug


def find_ptxas(search: str = "") -> str:
    """Return the path of NVIDIA's `ptxas`, or "" if there is none.

    Looks in `search` (a PATH), in the `nvidia-cuda-nvcc` package, then on this process's PATH.
    """
    if search and (found := shutil.which("ptxas", path=search)):
        return found
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for binary in sorted(Path(folder).glob("cu*/bin/ptxas"), reverse=True):
            if os.access(binary, os.X_OK):
                return str(binary)
    return shutil.which("ptxas", path=sysconfig.get_path("scripts")) or shutil.which("ptxas") or ""


def stamp_of_ptxas(ptxas: str) -> str:
    """Return the part of cache keys for the assembler at a path: its version; "" for none."""
    if not ptxas:
        return ""
    try:
        return subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ptxas


def measured_by_ptxas(ptxas: str, text: bytes, processor: str) -> str:
    """Return the report of ptxas on a PTX text's registers and memory.

    Raises:
        Bug: it refuses the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_bytes(text)
        command = [ptxas, f"-arch={processor}", "-v", "-o", str(Path(folder, "kernel.cubin")), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Bug(f"ptxas refuses the kernel: {' '.join(done.stderr.split())}", "emit")
        return done.stdout + done.stderr


def assemble_ptx(ptxas: str, text: bytes, processor: str, extra: tuple[str, ...] = ()) -> bytes:
    """Return the cubin of a PTX text."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_bytes(text)
        command = [ptxas, f"-arch={processor}", *extra, "-o", str(result), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).replace(str(source), "kernel.ptx").split())
            raise Bug(f"ptxas refuses the kernel: {said or f'exit status {done.returncode}'}", "emit")
        return result.read_bytes()
