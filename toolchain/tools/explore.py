"""`ktc explore`: a page on this machine with a program beside what the compiler makes of it.

Input: a file. Output: a server on 127.0.0.1 with a token; it needs no network and answers no other page.
"""

import json
import secrets
import sys
import webbrowser
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
from ktc.base.editions import Edition
from ktc.driver.worker import Worker
from ktc.tools.options import edition_option

_HOST = "127.0.0.1"
_PAGE = Path(__file__).with_name("explore.html")
_MAX_BYTES = 4 << 20


class Server(ThreadingHTTPServer):
    """The server of one file."""

    daemon_threads = True

    def __init__(self, path: Path, port: int, edition: Edition | None = None) -> None:
        super().__init__((_HOST, port), _Handler)
        self.edition = edition
        self.path, self.token, self.worker = path, secrets.token_urlsafe(24), Worker("explore")

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{_HOST}:{self.server_address[1]}/?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    """Answers the three requests of the page."""

    server: Server

    def do_GET(self) -> None:
        """Send the page, or its first state."""
        path, _, query = self.path.partition("?")
        if path == "/" and f"token={self.server.token}" in query.split("&") and self._is_local():
            self._send(_PAGE.read_bytes(), "text/html; charset=utf-8")
        elif path == "/start" and self._is_known():
            self._json(_start(self.server.path))
        else:
            self.send_error(HTTPStatus.FORBIDDEN)

    def do_POST(self) -> None:
        """Compile."""
        given = self.headers.get("Content-Length") or ""
        size = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else -1  # RFC 9110, 8.6
        if size < 0:
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        if self.path != "/compile" or not self._is_known() or size > _MAX_BYTES:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        from ktc.tools.explorer.exploring import explore  # late: only for some commands

        try:
            request = json.loads(self.rfile.read(size))
            answer = self.server.worker.submit(
                partial(explore, self.server.path, request, self.server.edition)
            ).result()
        except Exception as error:  # the page shows it; the server goes on
            answer = {"diagnostics": [{"severity": "error", "place": None, "message": str(error), "help": ""}]}
        self._json(answer)

    def _is_local(self) -> bool:
        """Return whether the request came to this address, not to a name that points here."""
        return self.headers.get("Host") == f"{_HOST}:{self.server.server_address[1]}"

    def _is_known(self) -> bool:
        given = (self.headers.get("X-Token") or "").encode("utf-8", "surrogateescape")
        return self._is_local() and secrets.compare_digest(given, self.server.token.encode())

    def _json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", kind), ("Content-Length", str(len(data))), ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"),
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


def _start(path: Path) -> dict[str, Any]:
    from ktc.targets import all_targets, host  # late: only for some commands

    targets = [(one.name, f"{one.name}: {one.title}") for one in all_targets(host.host_target())]
    text = path.read_text("utf-8").replace("\r\n", "\n")
    return {"name": path.name, "text": text, "targets": targets, "target": "sm_90" if "enqueue_" in text else ""}


@click.command("explore")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port (default: a free one).")
@edition_option
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def explore_command(file: str | None, port: int, no_browser: bool, edition: Edition | None) -> int:
    """Open a page that shows FILE beside its IR, LLVM IR and assembly for the host and GPUs.

    Lines have the colour of their source line. The page recompiles while you type, and does not change the file.
    Ctrl-C stops the server.
    """
    if file is None:
        from ktc.cli.projects import program  # late: only in a project

        file = program(None)
    server = Server(Path(file), port, edition)
    click.echo(f"{server.url}\nCtrl-C ends it", err=False)
    sys.stdout.flush()
    if not no_browser:
        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0
