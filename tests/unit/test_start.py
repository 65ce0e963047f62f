"""Where the command starts: Ctrl-C while modules still load, and how much is loaded for how little."""

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ktc.__main__ import entry

from programs import ROOT, run_ktc

MODULES = {"--version": 9, "unchanged": 56, "changed": 368}
"""At most so many modules of ktc are loaded: for the version, for builds of hello. Raise a number only for a reason."""
BYTES = {("hello", "cpu"): 9_992, ("vector_addition", "cpu"): 51_032, ("vector_addition", "sm_90"): 59_224}
"""At most so long are executables without debug information. Raise a number only for a reason."""


def test_interrupt_while_modules_load(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def interrupted(name: str, *rest: Any) -> Any:
        if name == "ktc.cli.commands":
            raise KeyboardInterrupt
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "ktc.cli.commands", raising=False)
    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as stop:
        entry()
    assert stop.value.code == 130


def test_a_build_loads_llvm_in_its_workers_only() -> None:
    """LLVM loads beside the stages before it, in another process."""
    ask = "import sys, ktc.driver.pipeline; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True)
    loaded = done.stdout.split()
    assert "ktc.driver.units.kernel_images" in loaded
    assert not {"llvmlite", "ktc.emit.llvm", "ktc.emit.kernel"} & set(loaded)


def loaded(*words: str, folder: Path) -> int:
    """Return how many modules of ktc a command loads."""
    ask = f"""
import atexit, sys
sys.argv = ["ktc", *{words!r}]
from ktc.__main__ import entry
import os
os._exit = sys.exit
atexit.register(lambda: print(sum(name.startswith("ktc.") for name in sys.modules), file=sys.stderr))
entry()
"""
    done = subprocess.run([sys.executable, "-c", ask], check=False, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.splitlines()[-1])


def test_commands_load_few_modules(tmp_path: Path, library_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each module costs a quarter of a millisecond at every start."""
    monkeypatch.setenv("KTC_CACHE_DIR", str(library_cache))
    monkeypatch.setenv("KTC_NATIVE", "0")
    text = (ROOT / "benchmarks/hello.kpy").read_text("utf-8")
    (tmp_path / "hello.kpy").write_text(text.replace("world", str(tmp_path)))
    found = {"--version": loaded("--version", folder=tmp_path)}
    found["changed"] = loaded("build", "hello.kpy", folder=tmp_path)
    found["unchanged"] = loaded("build", "hello.kpy", folder=tmp_path)
    assert {name: count for name, count in found.items() if count > MODULES[name]} == {}, found


@pytest.mark.parametrize(("name", "target"), sorted(BYTES))
def test_executables_are_short(name: str, target: str, tmp_path: Path, program_cache: Path) -> None:
    """A function of the library that everything begins to need shows here."""
    words = ["build", "--target-accelerator", target, str(ROOT / f"benchmarks/{name}.kpy"), "-o", name]
    done = run_ktc(words, program_cache, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).stat().st_size <= BYTES[name, target]
