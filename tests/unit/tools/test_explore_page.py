"""The page of `ktc explore` in headless Chromium; wants `pip install 'ktc[browser]'` and an installed Chromium."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ktc.tools.explore import Server

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
PROGRAM = """\"\"\"Two lines,
and for of a text.\"\"\"
from gpu import global_idx
from gpu.host import DeviceContext

fn fill(p: UnsafePointer[Float32, MutAnyOrigin]):
    p[Int(global_idx.x)] = 2.5

def main():
    var context = DeviceContext()
    var buffer = context.enqueue_create_buffer[DType.float32](4)
    context.enqueue_function_checked[fill, fill](buffer, grid_dim=1, block_dim=4)
"""


@pytest.fixture
def page(tmp_path: Path, program_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("KTC_CACHE_DIR", str(program_cache))
    monkeypatch.chdir(tmp_path)
    Path("prog.kpy").write_text(PROGRAM)
    server = Server(Path("prog.kpy"), 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with playwright.sync_playwright() as made:
        browser = made.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(120_000)
        page.requested = []
        page.on("request", lambda request: page.requested.append(request.url))
        page.goto(server.url)
        yield page
        browser.close()
    server.shutdown()
    server.server_close()


def test_a_visit(page: Any) -> None:
    """Lines of one origin light up together; what is typed is compiled again; two targets stand side by side."""
    other = "section:nth-child(2) .row[data-from='7']"
    page.wait_for_selector(other)
    assert "st.global" in " ".join(page.locator(other).all_inner_texts())
    assert page.locator("#shown .row").nth(1).locator(".s").inner_text() == 'and for of a text."""'
    assert page.locator("#shown .row").nth(5).locator(".k").all_inner_texts() == ["fn"]
    page.locator(other).first.hover()
    assert page.locator("#shown .row.on").all_inner_texts() == ["    p[Int(global_idx.x)] = 2.5"]
    page.fill("#text", PROGRAM.replace("2.5", "nothing"))
    page.wait_for_selector("#messages .bad-text")
    assert page.inner_text("#messages") == "7:28 'nothing' is not defined"
    assert page.locator("#shown .row.bad").count() == 1
    page.fill("#text", PROGRAM.replace("2.5", "7.5"))
    page.wait_for_function("() => !document.querySelector('#messages').textContent")
    page.click("#two")
    page.wait_for_function("() => document.querySelectorAll('section').length === 3")
    page.wait_for_selector("section:nth-child(3) .row[data-from='7']")
    assert "gfx942" in page.inner_text("section:nth-child(3) pre")
    assert all(url.startswith("http://127.0.0.1:") for url in page.requested)
