"""A store of bytes that several machines share: any HTTP server with GET and PUT, or a folder.

Input: the name of an entry. Output: the entry with its header, which `Cache` checks; or None. Only code
of programs is asked for (`KINDS`), never what the compiler itself runs or unpickles. Entries carry the HMAC-SHA256 of
their name and content by a key that those who share the store have and the store has not (RFC 2104): what it changes or
makes up is not taken. A store that is away, slow or wrong is not used for the rest of the process; a build never fails
or waits long for it.
"""

import hmac
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

from ktc.base.records import entity

KINDS = ("image", "host-object")
"""Kinds of keys that are shared: assembled kernels and objects of hosts."""
_CONNECT_SECONDS = 1.0
_ALL_SECONDS = 3.0
"""A process waits no longer than this for the store, all its misses together."""
_FAILURES = 2
_MAX_BYTES = 256 << 20
LEAST_KEY_BYTES = 16
_SIGNATURE_BYTES = 32
_PURPOSE = b"ktc cache entry 1\0"
"""Signed before the name: a signature made with the same key for another purpose does not match."""


@entity
class SharedCache:
    """The store at `url`: http://…, https://… or a folder (file://… or a path).

    Args:
        key: signs entries; at least `LEAST_KEY_BYTES` long.
        waited: seconds that were lost to it so far. failures: answers that were no good.
    """

    url: str
    key: bytes
    waited: float = 0.0
    failures: int = 0

    def get(self, name: str) -> bytes | None:
        """Return an entry as someone with the key has put it."""
        signed = self._get(name)
        if signed is None:
            return None
        signature, data = signed[:_SIGNATURE_BYTES], signed[_SIGNATURE_BYTES:]
        if hmac.compare_digest(signature, self._signature(name, data)):
            return data
        self.note_lie()
        return None

    def _signature(self, name: str, data: bytes) -> bytes:
        return hmac.digest(self.key, _PURPOSE + name.encode() + b"\0" + data, "sha256")

    def _get(self, name: str) -> bytes | None:
        if self._is_given_up():
            return None
        folder = self._folder()
        if folder is not None:
            try:
                with (folder / name).open("rb") as file:
                    return file.read(_MAX_BYTES)
            except OSError:
                return None
        return self._request("GET", name, None)

    def put(self, name: str, data: bytes) -> None:
        """Keep an entry for others."""
        if self._is_given_up():
            return
        data = self._signature(name, data) + data
        folder = self._folder()
        if folder is None:
            self._request("PUT", name, data)
            return
        beside = folder / f".{name}.{os.getpid()}.part"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(data)
            os.replace(beside, folder / name)

    def note_lie(self) -> None:
        """An entry was not what its digest says."""
        self.failures += 1

    def _is_given_up(self) -> bool:
        return self.failures >= _FAILURES or self.waited >= _ALL_SECONDS

    def _folder(self) -> Path | None:
        if self.url.startswith(("http://", "https://")):
            return None
        return Path(self.url.removeprefix("file://"))

    def _request(self, method: str, name: str, data: bytes | None) -> bytes | None:
        """Ask the server; what it has not said in time, byte by byte or not at all, does not count."""
        said: list[bytes | None] = []
        start = time.monotonic()
        left = _ALL_SECONDS - self.waited
        asking = threading.Thread(target=lambda: said.append(self._ask(method, name, data, left)), daemon=True)
        asking.start()
        asking.join(left)
        self.waited += time.monotonic() - start
        if not said:
            self.failures = _FAILURES
            return None
        return said[0]

    def _ask(self, method: str, name: str, data: bytes | None, left: float) -> bytes | None:
        from http.client import HTTPException  # late: only with a shared cache
        from urllib.error import HTTPError  # late: only with a shared cache
        from urllib.request import Request, urlopen  # late: only with a shared cache

        address = f"{self.url.rstrip('/')}/{name}"
        until = time.monotonic() + left
        try:
            request = Request(address, data, {"Content-Type": "application/octet-stream"}, method=method)
            with urlopen(request, timeout=min(_CONNECT_SECONDS, left)) as answer:
                parts: list[bytes] = []
                while part := answer.read1(1 << 16):
                    parts.append(part)
                    if time.monotonic() > until or sum(map(len, parts)) > _MAX_BYTES:
                        self.failures = _FAILURES
                        return None
                return b"".join(parts)
        except HTTPError as error:
            if error.code not in (404, 410):
                self.failures += 1
            return None
        except (OSError, HTTPException, ValueError):
            self.failures += 1
            return None
