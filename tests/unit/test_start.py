"""Where the command starts: Ctrl-C while modules still load."""

import builtins
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
