"""Where the command starts: Ctrl-C while modules still load."""

import builtins
import subprocess
import sys
from typing import Any

import pytest
from ktc.__main__ import entry


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
    assert "ktc.driver.units" in loaded and not {"llvmlite", "ktc.emit.llvm", "ktc.emit.kernel"} & set(loaded)
