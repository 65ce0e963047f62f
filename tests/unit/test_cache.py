"""The store: hits, damage, bounds, and folders that cannot be written."""

import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ktc.base import fingerprints, unpickling
from ktc.base.cache import Cache, Key, digest
from ktc.base.editions import Edition
from ktc.config import open_cache


def entries(folder: Path) -> list[Path]:
    return [path for path in (folder / "entries").rglob("*") if path.is_file()]


def test_a_stored_entry_is_found(tmp_path: Path) -> None:
    Cache(tmp_path).put(digest("a"), b"data")
    assert Cache(tmp_path).get(digest("a")) == b"data"
    assert Cache(tmp_path).get(digest("b")) is None


def test_the_border_between_parts_matters() -> None:
    assert digest("ab", "c") != digest("a", "bc")


def test_a_key_tells_which_part_differs() -> None:
    one, other = Key.of("image", text="x", level="3"), Key.of("image", text="x", level="2")
    assert one.differences(other) == ("level",)
    assert one.name != other.name


@pytest.mark.parametrize("damage", [b"", b"kt", b"other bytes that are long enough for a whole header and more"])
def test_a_damaged_entry_is_a_miss(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path)
    cache.put(digest("a"), b"data")
    (path,) = entries(tmp_path)
    path.write_bytes(damage)
    assert cache.get(digest("a")) is None


def test_a_truncated_entry_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(digest("a"), b"data" * 100)
    (path,) = entries(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get(digest("a")) is None


def test_without_a_folder_nothing_is_stored() -> None:
    cache = Cache(None)
    cache.put(digest("a"), b"data")
    assert cache.get(digest("a")) is None
    assert cache.info().entries == 0


def test_a_file_in_place_of_the_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    cache.put(digest("a"), b"data")
    assert cache.get(digest("a")) is None
    assert not cache.info().is_writable


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    before, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        Cache(tmp_path).put(digest("a"), b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert entries(tmp_path) == []
    assert Cache(tmp_path).get(digest("a")) is None


def test_the_oldest_entries_are_removed_at_the_bound(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=10_000)
    for index in range(30):
        cache.put(digest(str(index)), bytes(1000))
        for path in entries(tmp_path):  # as if an hour lay between the puts
            status = path.stat()
            os.utime(path, (status.st_atime, status.st_mtime - 3600))
    assert cache.info().size_bytes <= 11_000
    assert cache.get(digest("29")) is not None
    assert cache.get(digest("0")) is None


def test_the_bound_holds_where_each_process_keeps_little(tmp_path: Path) -> None:
    for index in range(60):
        Cache(tmp_path, max_bytes=1 << 20).put(digest(str(index)), bytes(30_000))
    assert Cache(tmp_path, max_bytes=1 << 20).info().size_bytes <= 1 << 20


def test_what_is_used_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=10_000)
    cache.put(digest("kept"), bytes(1000))
    for index in range(30):
        for path in entries(tmp_path):
            status = path.stat()
            os.utime(path, (status.st_atime, status.st_mtime - 3600))
        assert cache.get(digest("kept")) is not None
        cache.put(digest(str(index)), bytes(1000))


def test_leftovers_of_dead_processes_are_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(digest("a"), b"data")
    stale = tmp_path / "entries" / "aa" / ".1-0-0.part"
    stale.parent.mkdir(exist_ok=True)
    stale.write_bytes(b"")
    os.utime(stale, (0, time.time() - 7200))
    assert cache.info().entries == 1
    assert not stale.exists()


def test_clear_says_how_much_it_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(digest("a"), bytes(1000))
    assert cache.clear() >= 1000
    assert cache.info().entries == 0


def test_several_processes_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ktc.base.cache import Cache, digest\n"
        "cache = Cache(Path(sys.argv[1]), max_bytes=50_000)\n"
        "for turn in range(200):\n"
        "    key = digest(str(turn % 20)); cache.put(key, str(turn % 20).encode() * 1000)\n"
        "    data = cache.get(key); assert data is None or data == str(turn % 20).encode() * 1000\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]


def test_one_process_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    held = cache.lock("name")
    script = "import sys\nfrom pathlib import Path\nfrom ktc.base.cache import Cache\n" + (
        "lock = Cache(Path(sys.argv[1])).lock('name')\nprint('mine', flush=True)\nlock.release()\n"
    )
    other = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(timeout=0.5)
    held.release()
    assert other.communicate(timeout=60)[0] == "mine\n"
    Cache(None).lock("name").release()


def test_a_spare_store_is_only_read(tmp_path: Path) -> None:
    Cache(tmp_path / "spare").put("a" * 64, b"from the spare")
    before = sorted(tmp_path.rglob("*"))
    for folder in (None, tmp_path / "own"):
        cache = Cache(folder, spare=tmp_path / "spare")
        assert cache.get("a" * 64) == b"from the spare" and cache.get("b" * 64) is None
    assert sorted(tmp_path.rglob("*")) == before
    cache.put("a" * 64, b"own")
    assert cache.get("a" * 64) == b"own" and Cache(tmp_path / "spare").get("a" * 64) == b"from the spare"


def test_only_the_owner_can_read_the_cache(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        Cache(tmp_path / "a" / "b").put(digest("a"), b"data")
        Cache(tmp_path / "a" / "b").lock("one").release()
    finally:
        os.umask(before)
    made = [path for path in (tmp_path / "a").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}


def test_what_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "kept")
    assert cache.distrust() == ""
    cache.put(digest("a"), b"data")
    (path,) = entries(tmp_path / "kept")
    path.chmod(0o620)
    assert cache.get(digest("a")) is None
    assert not path.exists()
    cache.folder.chmod(0o770)  # type: ignore[union-attr]
    assert "can be written by other users (mode 770)" in cache.distrust()
    opened = open_cache({"KTC_CACHE_DIR": str(cache.folder)})
    assert (opened.folder, opened.refused) == (None, cache.distrust())
    cache.folder.chmod(0o700)  # type: ignore[union-attr]
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if os.getuid():
        assert "belongs to another user" in cache.distrust()


def test_an_entry_under_another_key_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(digest("a"), b"data")
    (path,) = entries(tmp_path)
    other = tmp_path / "entries" / digest("b")[:2] / digest("b")[2:]
    other.parent.mkdir(mode=0o700, exist_ok=True)
    path.rename(other)
    assert cache.get(digest("b")) is None


def test_unpickling_creates_records_only(tmp_path: Path) -> None:
    def system() -> object:
        return os.system, ("touch made",)

    class Evil:
        def __reduce__(self) -> object:
            return system()

    for data in (
        pickle.dumps(Evil()),
        b"cktc.emit.linking.link\nsubprocess.run\n(S'true'\ntR.",
        b"cktc.diag.render\nPath\n.",
    ):
        with pytest.raises(pickle.UnpicklingError):
            unpickling.loads(data)
    assert unpickling.loads(pickle.dumps((1, "a", {2: [frozenset({3})]}))) == (1, "a", {2: [frozenset({3})]})


def test_unpickling_sets_no_attributes() -> None:
    """Neither of classes, with and without slots, nor of members of an enumeration, which there are once."""
    for name, made in (
        (b"ktc.ir.types\nIntType\n", b""),
        (b"ktc.ir.types\nIntType\n", b"(K\x20tR"),
        (b"ktc.base.editions\nEdition\n", b""),
        (b"ktc.base.editions\nEdition\n", b"(X\x04\x00\x00\x002025tR"),
        (b"ktc.syntax.ast.expressions\nNode\n", b""),
        (b"builtins\nset\n", b""),
    ):
        for state in (b"}X\x05\x00\x00\x00valueK\x01s", b"N}X\x05\x00\x00\x00valueK\x01s\x86"):
            with pytest.raises((pickle.UnpicklingError, TypeError)):
                unpickling.loads(b"c" + name + made + state + b"b.")
    assert Edition("2025") is Edition.Y2025


def test_a_clock_that_is_set_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(digest("a"), b"data")
    (path,) = entries(tmp_path)
    os.utime(path, (time.time() + 1e9,) * 2)
    assert Cache(tmp_path).get(digest("a")) == b"data"
    assert abs(path.stat().st_mtime - time.time()) < 100


@pytest.mark.parametrize("grammar", ["ktc/grammar", "grammar"])  # installed, and a working copy
def test_the_stamp_of_a_build_follows_its_files(grammar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ktc/base/fingerprints.py", "ktc/stdlib/list.kpy", f"{grammar}/kpy.lark")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    monkeypatch.setattr(fingerprints, "__file__", str(tmp_path / names[0]))
    stamps = [fingerprints.toolchain_fingerprint(tmp_path / "ktc" / "stdlib")]
    for name in names:
        (tmp_path / name).write_text("22")
        stamps.append(fingerprints.toolchain_fingerprint(tmp_path / "ktc" / "stdlib"))
    assert len(set(stamps)) == len(stamps)
