"""A cache that machines share: a real HTTP server and a folder, and what happens when it is away, slow or wrong."""

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ktc import config as configs
from ktc.base.cache import Cache, Key
from ktc.base.shared_cache import SharedCache

IMAGE = Key.of("image", code="a")
SECRET = Key.of("archive", code="a")
KEY = b"a key that the store has not"


class Store(http.server.ThreadingHTTPServer):
    """Keeps what is PUT; `delay` seconds before each answer; `lie` changes what it gives."""

    entries: dict[str, bytes]
    delay = 0.0
    lies = False
    hits = 0

    def handle_error(self, *_: object) -> None:
        """Clients may hang up."""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Store

    def do_GET(self) -> None:
        time.sleep(self.server.delay)
        data = self.server.entries.get(self.path)
        self.server.hits += data is not None
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data[:-1] + b"!" if data and self.server.lies else data or b"")

    def do_PUT(self) -> None:
        time.sleep(self.server.delay)
        self.server.entries[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def store() -> Iterator[Store]:
    server = Store(("127.0.0.1", 0), Handler)
    server.entries = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def url(store: Store) -> str:
    return f"http://127.0.0.1:{store.server_address[1]}/cache"


def test_what_one_machine_keeps_another_one_finds(tmp_path: Path, store: Store) -> None:
    Cache(tmp_path / "a", shared=SharedCache(url(store), KEY)).put(IMAGE, b"code")
    other = Cache(tmp_path / "b", shared=SharedCache(url(store), KEY))
    assert other.get(IMAGE) == b"code"
    store.entries.clear()
    assert other.get(IMAGE) == b"code", "it is kept beside"


def test_a_folder_serves_too(tmp_path: Path) -> None:
    Cache(tmp_path / "a", shared=SharedCache(f"file://{tmp_path}/all", KEY)).put(IMAGE, b"code")
    assert Cache(tmp_path / "b", shared=SharedCache(str(tmp_path / "all"), KEY)).get(IMAGE) == b"code"


def test_what_the_compiler_runs_is_not_shared(tmp_path: Path, store: Store) -> None:
    cache = Cache(tmp_path / "a", shared=SharedCache(url(store), KEY))
    cache.put(SECRET, b"pickle")
    cache.put("0" * 64, b"a build")
    assert not store.entries
    assert Cache(tmp_path / "b", shared=SharedCache(url(store), KEY)).get(SECRET) is None


def test_a_wrong_entry_is_a_miss(tmp_path: Path, store: Store) -> None:
    Cache(tmp_path / "a", shared=SharedCache(url(store), KEY)).put(IMAGE, b"code")
    store.lies = True
    shared = SharedCache(url(store), KEY)
    other = Cache(tmp_path / "b", shared=shared)
    assert other.get(IMAGE) is None
    assert other.get(IMAGE) is None
    store.lies = False
    assert other.get(IMAGE) is None, "a store that lied twice is not used again"
    assert shared.failures == 2


def test_an_entry_under_another_name_is_a_miss(tmp_path: Path, store: Store) -> None:
    Cache(tmp_path / "a", shared=SharedCache(url(store), KEY)).put(IMAGE, b"code")
    other = Key.of("image", code="b")
    store.entries[f"/cache/{other.name}"] = store.entries[f"/cache/{IMAGE.name}"]
    assert Cache(tmp_path / "b", shared=SharedCache(url(store), KEY)).get(other) is None


def test_entries_of_another_key_are_refused(tmp_path: Path, store: Store) -> None:
    """Whoever holds the store can make up an entry with the right digest, but cannot sign it."""
    Cache(tmp_path / "a", shared=SharedCache(url(store), b"a key of somebody else")).put(IMAGE, b"evil")
    shared = SharedCache(url(store), KEY)
    assert Cache(tmp_path / "b", shared=shared).get(IMAGE) is None
    assert shared.failures == 1
    place = f"/cache/{IMAGE.name}"
    store.entries[place] = store.entries[place][32:]  # as it was before entries were signed
    assert Cache(tmp_path / "b", shared=SharedCache(url(store), KEY)).get(IMAGE) is None


def test_a_store_needs_a_key(tmp_path: Path) -> None:
    url = {"KTC_CACHE_DIR": str(tmp_path), "KTC_CACHE_URL": str(tmp_path / "all")}
    (tmp_path / "key").write_text("0123456789abcdef\n")
    for given, why in (
        ({}, "KTC_CACHE_KEY_FILE must name a file with a key of at least 16 bytes"),
        ({"KTC_CACHE_KEY": "short"}, "KTC_CACHE_KEY_FILE must name a file with a key of at least 16 bytes"),
        ({"KTC_CACHE_KEY_FILE": "/none"}, "'/none' cannot be read: No such file or directory"),
    ):
        cache = configs.open_cache({**url, **given})
        assert (cache.shared, cache.shared_refused) == (None, why)
    cache = configs.open_cache({**url, "KTC_CACHE_KEY_FILE": str(tmp_path / "key")})
    assert cache.shared is not None and cache.shared.key == b"0123456789abcdef"


def test_a_store_that_trickles_is_abandoned(tmp_path: Path) -> None:
    """A byte of a header now and then is never late, but the whole answer is."""
    server = socket.create_server(("127.0.0.1", 0))

    def trickle() -> None:
        try:
            with server.accept()[0] as peer:
                peer.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while True:
                    peer.sendall(b"x")
                    time.sleep(0.2)
        except OSError:
            pass

    threading.Thread(target=trickle, daemon=True).start()
    shared = SharedCache(f"http://127.0.0.1:{server.getsockname()[1]}/", KEY)
    start = time.monotonic()
    assert Cache(tmp_path, shared=shared).get(IMAGE) is None
    assert time.monotonic() - start < 6
    assert Cache(tmp_path, shared=shared).get(IMAGE) is None
    server.close()


def test_a_slow_store_is_abandoned(tmp_path: Path, store: Store) -> None:
    store.delay = 30
    cache = Cache(tmp_path / "a", shared=SharedCache(url(store), KEY))
    start = time.monotonic()
    for index in range(20):
        assert cache.get(Key.of("image", code=str(index))) is None
    assert time.monotonic() - start < 6
    cache.put(IMAGE, b"code")
    assert cache.get(IMAGE) == b"code"


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/none", "http://:x", "/proc/nothing/here"])
def test_an_unreachable_store_changes_nothing(tmp_path: Path, address: str) -> None:
    cache = Cache(tmp_path / "a", shared=SharedCache(address, KEY))
    assert cache.get(IMAGE) is None
    cache.put(IMAGE, b"code")
    assert cache.get(IMAGE) == b"code"


def test_builds_share_kernels(tmp_path: Path, store: Store) -> None:
    """A second machine, with a cache of its own, finds the kernel that the first one compiled."""
    program = tmp_path / "fill.kpy"
    program.write_text(
        "from gpu import thread_idx\nfrom gpu.host import DeviceContext\n\n"
        "fn fill(p: UnsafePointer[Float32, MutAnyOrigin]):\n    p[thread_idx.x] = NEW\n\n\n"
        f"alias NEW = {time.time_ns() % 100003}\n\n\n"  # no cache has it
        "def main():\n    with DeviceContext() as ctx:\n"
        "        var b = ctx.enqueue_create_buffer[DType.float32](4)\n"
        "        ctx.enqueue_function_checked[fill, fill](b, grid_dim=1, block_dim=4)\n"
        "        print(NEW)\n"
    )
    folder = tmp_path / "cache"
    cache = configs.open_cache().folder
    assert cache is not None
    environment = {**os.environ, "KTC_CACHE_URL": url(store), "KTC_CACHE_KEY": KEY.decode()}
    command = [sys.executable, "-m", "ktc", "build", str(program), "-o", str(tmp_path / "fill"), "--target-accelerator"]
    subprocess.run([*command, "sm_80", "-D", f"once={folder}"], env=environment, check=True)
    assert len(store.entries) >= 2, "the kernel and the host"
    for path in store.entries:  # as on a machine that has never seen them
        name = path.rpartition("/")[2]
        (cache / "entries" / name[:2] / name[2:]).unlink()
    subprocess.run([*command, "sm_80", "-D", f"twice={folder}"], env=environment, check=True)
    assert store.hits == len(store.entries)
