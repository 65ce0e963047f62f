"""`--watch`: what a save leads to. Nothing here sleeps: each step waits for the words that it must lead to."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = 30
GOOD = """from words import WORD


def main():
    print("said", WORD)
"""
ENDLESS = """from time import sleep


def main():
    print("endless", flush=True)
    while True:
        sleep(0.05)
"""


class Watching:
    """A command that follows files, and what it has written so far."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self.seen = folder, ""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
        command = [sys.executable, "-m", "ktc", *words]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        signal.signal(signal.SIGINT, before)
        assert self.process.stdout is not None
        self.output = self.process.stdout.fileno()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.output, selectors.EVENT_READ)

    def until(self, words: str) -> str:
        """Wait for words; return what was written up to their line's end."""
        deadline = time.monotonic() + SECONDS
        while words not in self.seen or "\n" not in self.seen.partition(words)[2]:
            ready = self.selector.select(deadline - time.monotonic())
            data = os.read(self.output, 1 << 16) if ready else b""
            assert data, f"it never said {words!r}, but:\n{self.seen}"
            self.seen += data.decode()
        before, _, rest = self.seen.partition(words)
        line, _, self.seen = rest.partition("\n")
        return before + words + line

    def save(self, name: str, text: str) -> None:
        """Write a file as editors do: beside it, then in its place."""
        new = self.folder / f"{name}~"
        new.write_text(text)
        new.replace(self.folder / name)

    def interrupt(self) -> int:
        """Press Ctrl-C; return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(SECONDS)
        assert self.process.stdout is not None
        self.seen += self.process.stdout.read().decode()
        return code


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "words.kpy").write_text('alias WORD = "one"\n')
    (tmp_path / "prog.kpy").write_text(GOOD)
    yield tmp_path


def test_program_runs_again_after_each_save(folder: Path) -> None:
    """A save, an error, its repair, a module, an endless program, one in place of it, Ctrl-C."""
    watching = Watching(folder, "run", "--watch", "prog.kpy")
    watching.until("said one")
    assert "prog.kpy and 1 other file" in watching.until("Ctrl-C ends")
    watching.save("prog.kpy", GOOD.replace("WORD)", "WORD, 2)"))
    watching.until("said one 2")
    watching.save("prog.kpy", GOOD.replace("WORD)", "WORDS)"))
    assert "prog.kpy:5:19" in watching.until("undefined-name")
    watching.until("not built; watching")
    watching.save("prog.kpy", GOOD)
    watching.until("said one")
    watching.save("words.kpy", 'alias WORD = "two"\n')
    assert "error" not in watching.until("said two")
    watching.save("prog.kpy", ENDLESS)
    watching.until("endless")
    watching.save("prog.kpy", GOOD)
    watching.until("said two")
    watching.until("Ctrl-C ends")
    assert watching.interrupt() == 130
    assert "Traceback" not in watching.seen


def test_program_that_runs_ends_with_the_command(folder: Path) -> None:
    (folder / "prog.kpy").write_text(ENDLESS)
    watching = Watching(folder, "run", "--watch", "prog.kpy")
    watching.until("endless")
    assert watching.interrupt() == 130  # the output ends only when nobody can write to it any more


def test_modules_that_were_missing_are_followed(folder: Path) -> None:
    (folder / "words.kpy").unlink()
    watching = Watching(folder, "run", "--watch", "prog.kpy")
    watching.until("not built; watching")
    watching.save("words.kpy", 'alias WORD = "late"\n')
    watching.until("said late")
    assert watching.interrupt() == 130


def test_standard_input_cannot_be_followed() -> None:
    command = [sys.executable, "-m", "ktc", "run", "--watch", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--watch follows a file" in done.stderr


def test_tests_run_again_after_each_save(folder: Path) -> None:
    """Only the files that changed, or that use what changed; new files, too."""
    head = "from words import WORD\nfrom testing import assert_equal\n"
    test = head + "\n\ndef test_word():\n    assert_equal(WORD, {})\n"
    (folder / "test_a.kpy").write_text(test.format('"one"'))
    (folder / "test_b.kpy").write_text("def test_nothing():\n    pass\n")
    watching = Watching(folder, "test", "--watch", "-j1")
    assert "test_b.kpy::test_nothing" in watching.until("2 passed, 0 failed")
    watching.until("Ctrl-C ends")
    watching.save("words.kpy", 'alias WORD = "two"\n')
    assert "test_b" not in watching.until("0 passed, 1 failed")
    assert "1 other file is unchanged" in watching.until("Ctrl-C ends")
    watching.save("test_a.kpy", test.format('"two"'))
    watching.until("1 passed, 0 failed")
    watching.until("Ctrl-C ends")
    watching.save("test_c.kpy", "def test_new():\n    pass\n")
    assert "test_c.kpy::test_new" in watching.until("1 passed, 0 failed")
    watching.until("Ctrl-C ends")
    watching.save("test_c.kpy", "def test_new():\n    past\n")
    assert "test_c.kpy:2:5" in watching.until("0 passed, 1 failed")
    assert watching.interrupt() == 130
