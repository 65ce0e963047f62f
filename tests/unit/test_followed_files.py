"""Files that are followed: what counts as a change of one."""

import os
import time
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from ktc.driver.watching import followed_files
from ktc.driver.watching.followed_files import FollowedFiles


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def test_contents_count_and_times_do_not(tmp_path: Path) -> None:
    file, missing = tmp_path / "a.kpy", tmp_path / "b.kpy"
    file.write_text("one")
    files = FollowedFiles()
    files.follow({str(file): digest("one"), str(missing): None})
    assert len(files) == 1 and not files.changed()
    os.utime(file, (1, 1))
    assert not files.changed()
    file.write_text("two")
    assert files.changed() and files.changed()
    files.accept()
    assert not files.changed()
    missing.write_text("")
    assert files.changed()


def test_change_within_one_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    """Same size, same time: only the content tells."""
    file = tmp_path / "a.kpy"
    file.write_text("one")
    before = file.stat()
    files = FollowedFiles()
    files.follow({str(file): digest("one")})
    assert not files.changed()
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert files.changed()


def test_file_may_be_away_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Editors truncate a file, or remove it, before they write it."""
    file = tmp_path / "a.kpy"
    file.write_text("one")
    files = FollowedFiles()
    files.follow({str(file): digest("one")})
    file.write_text("")
    assert not files.changed()
    file.unlink()
    assert not files.changed()
    file.write_text("one")
    assert not files.changed()
    monkeypatch.setattr(followed_files, "_PATIENCE_SECONDS", 0)
    file.unlink()
    assert files.changed()


def test_each_absence_has_the_same_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was away and is back again may be away once more."""
    clock = [0.0]
    monkeypatch.setattr(followed_files, "time", SimpleNamespace(monotonic=lambda: clock[0], time_ns=time.time_ns))
    monkeypatch.setattr(followed_files, "_PATIENCE_SECONDS", 1)
    file = tmp_path / "a.kpy"
    files = FollowedFiles()
    files.follow({str(file): digest("one")})
    for at, text, is_changed in ((0, "", False), (0.5, "one", False), (1.2, "", False), (2.3, "", True)):
        clock[0] = at
        file.write_text(text)
        assert files.changed() is is_changed, at
