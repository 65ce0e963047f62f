"""`ktc explore`: the origins of lines, what the server answers, and whom it refuses."""

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ktc.tools.explore import Server
from ktc.tools.explorer.exploring import _facts
from ktc.tools.explorer.origins import of_assembly, of_llvm

PROGRAM = """from gpu import global_idx
from gpu.host import DeviceContext

fn fill(p: UnsafePointer[Float32, MutAnyOrigin]):
    var i = global_idx.x
    p[i] = 2.5

def main():
    var context = DeviceContext()
    var buffer = context.enqueue_create_buffer[DType.float32](4)
    context.enqueue_function_checked[fill, fill](buffer.unsafe_ptr(), grid_dim=1, block_dim=4)
"""
ASSEMBLY = (
    '\t.loc\t1 5 3\n\tmov x, y\n\t.loc 2 9 1\n\tadd z\nL:\n\t.loc 1 0\n\tret\n.file 1 "a" "p.kpy"\n.file 2 "lib/p2.kpy"'
)
LLVM = """define void @f() !dbg !1 {
  %a = add i32 1, 2, !dbg !DILocation(line: 7, column: 1, scope: !1)
  %b = add i32 1, 2, !dbg !5
  ret void
}
!1 = distinct !DISubprogram(name: "f", scope: !2, file: !2, line: 4)
!2 = !DIFile(filename: "p.kpy", directory: "d")
!3 = !DIFile(filename: "lib.kpy", directory: "d")
!4 = distinct !DISubprogram(name: "g", scope: !3, file: !3, line: 4)
!5 = !DILocation(line: 99, column: 1, scope: !4, inlinedAt: !6)
!6 = distinct !DILocation(line: 8, column: 1, scope: !1)"""


def test_origins() -> None:
    assert of_assembly(ASSEMBLY, "d/p.kpy")[:7] == [0, 5, 0, 0, 0, 0, 0]
    assert of_llvm(LLVM, "x/p.kpy")[:4] == [0, 7, 8, 0]


def test_facts() -> None:
    text = "    .vgpr_count:     8\n    .sgpr_spill_count: 0\n"
    assert _facts(text, "asm", "gfx942") == {"vgpr count": "8", "sgpr spill count": "0"}
    assert _facts(text, "ir", "gfx942") == {}


@pytest.fixture
def server(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    monkeypatch.chdir(tmp_path)
    Path("prog.kpy").write_text(PROGRAM)
    made = Server(Path("prog.kpy"), 0)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def asked(server: Server, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_address[1]}{path}", data, headers)
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith("{") else text


def test_the_server_answers_its_page_only(server: Server) -> None:
    known = {"X-Token": server.token}
    assert "<title>ktc explore" in asked(server, f"/?token={server.token}")
    assert asked(server, "/start", **known)["text"] == PROGRAM
    for path, headers in (
        ("/", {}), ("/?token=wrong", {}), ("/start", {}), ("/start", {"X-Token": "wrong"}),
        ("/start", {**known, "Host": "evil.example"}), ("/prog.kpy", known), ("/../etc/passwd", known),
    ):  # fmt: skip
        with pytest.raises(urllib.error.HTTPError, match="403"):
            asked(server, path, **headers)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        asked(server, "/compile", {"text": ""})


def test_what_no_browser_sends_is_refused(server: Server) -> None:
    host = f"127.0.0.1:{server.server_address[1]}"
    for lines, code in (
        ("Content-Length: many", 400), ("Content-Length: -5", 400), ("Content-Length: \xb2", 400),
        ("X: no length", 400), ("Content-Length: 999999999", 403), ("Content-Length: 2\r\nX-Token: \xe4", 403),
    ):  # fmt: skip
        with socket.create_connection(("127.0.0.1", server.server_address[1])) as peer:
            peer.sendall(f"POST /compile HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n{{}}".encode("latin-1"))
            assert peer.recv(64).split()[1] == str(code).encode(), lines


@pytest.mark.slow
def test_stages_and_mistakes(server: Server) -> None:
    def compiled(**more: Any) -> Any:
        request = {"text": PROGRAM, "kind": "asm", "target": "sm_90", "kernel": "", "level": 3, **more}
        return asked(server, "/compile", request, **{"X-Token": server.token})

    answer = compiled()
    assert ".visible .entry fill" in answer["text"] and answer["kernels"] == ["fill"] and answer["diagnostics"] == []
    stores = [
        origin
        for line, origin in zip(answer["text"].split("\n"), answer["origins"], strict=True)
        if "st.global" in line
    ]
    assert stores == [6] and answer["milliseconds"] > 0
    (found,) = compiled(text=PROGRAM.replace("2.5", "oops"))["diagnostics"]
    assert (found["code"], found["place"]["line"]) == ("undefined-name", 6)
    assert compiled(kind="nonsense")["problem"]


@pytest.mark.thorough
def test_kernels_with_parameters(server: Server) -> None:
    """The choice lists what the program launches, also through a parameter; one that is gone gives way to the first."""
    text = PROGRAM.replace("fn fill(", "fn fill[count: Int](").replace("= 2.5", "= count")
    launch = "context.enqueue_function_checked[kernel, kernel](buffer.unsafe_ptr(), grid_dim=1, block_dim=4)"
    text = (
        text[: text.index("    context.enqueue")]
        + f"""
    @parameter
    def start[kernel: fn (UnsafePointer[Float32, MutAnyOrigin]) -> None]():
        {launch}

    start[fill[7]]()
    start[fill[8]]()
"""
    )
    request = {"text": text, "kind": "asm", "target": "sm_90", "level": 3}
    for asked_for, shown in (("fill[8]", "fill[8]"), ("kernel", "fill[7]"), ("", "fill[7]")):
        answer = asked(server, "/compile", {**request, "kernel": asked_for}, **{"X-Token": server.token})
        assert (answer["kernels"], answer["kernel"]) == (["fill[7]", "fill[8]"], shown) and answer["text"]
