"""One look at a program for `ktc explore`: the text of a stage with origins, diagnostics, registers, times.

Input: a request as a dictionary. Output: the answer as one. Nothing is written, and of the disk only the program's own
modules and the library are read.
"""

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktc import config as configs
from ktc.base.editions import Edition
from ktc.config import Options
from ktc.diag.diagnostic import CompileError, Sink, in_order
from ktc.diag.render import render_json
from ktc.diag.source import Source
from ktc.driver.pipeline import Session, emit
from ktc.emit.tools import find_ptxas
from ktc.ir.nodes import Kernel
from ktc.tools.explorer.origins import of_assembly, of_llvm

KINDS = ("ast", "ir", "llvm", "llvm-opt", "asm")
_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_AMD = re.compile(r"^\s*\.(vgpr_count|sgpr_count|agpr_count|vgpr_spill_count|sgpr_spill_count):\s*(\d+)", re.MULTILINE)


def explore(path: Path, request: dict[str, Any], edition: Edition | None = None) -> dict[str, Any]:
    """Compile a text as far as a stage.

    Args:
        request: text, kind, target ("" for the host), kernel ("" or one that is not there: the first), level.
    """
    start = time.perf_counter()
    text, kind = str(request.get("text", "")), str(request.get("kind", "asm"))
    target, kernel = str(request.get("target", "")), str(request.get("kernel", ""))
    level = request.get("level", 3)
    if kind not in KINDS or level not in (0, 1, 2, 3):
        return {"problem": "unknown stage or level"}
    answer: dict[str, Any] = {"text": "", "origins": [], "diagnostics": [], "kernels": [], "kernel": "", "facts": {}}

    def choose(kernels: Sequence[Kernel]) -> str:
        titles = [one.title for one in kernels]
        answer["kernels"] = sorted(one.title if titles.count(one.title) == 1 else one.symbol for one in kernels)
        answer["kernel"] = kernel if kernel in answer["kernels"] else next(iter(answer["kernels"]), "")
        return str(answer["kernel"])

    sink, cache = Sink(), configs.open_cache()
    options = Options(path, level=level, debug=1, accelerators=target or "cpu", jobs=1, edition=edition)
    config = configs.resolve(options, sink, cache)
    session = None
    if config is not None:
        overlays = {str(path.absolute()): Source(str(path), text)}
        session = Session(config, cache, sink, overlays=overlays)
        try:
            shown = emit(session, kind, choose, bool(target), is_whole=False).decode("utf-8", "replace")
            answer["text"] = shown
            answer["origins"] = _origins(shown, kind, str(path))
            answer["facts"] = _facts(shown, kind, target)
        except CompileError:
            pass
    answer["diagnostics"] = [json.loads(line) for line in render_json(in_order(sink.diagnostics)).splitlines()]
    if session is not None:
        answer["phases"] = _times(session)
    answer["milliseconds"] = round((time.perf_counter() - start) * 1e3)
    return answer


def _times(session: Session) -> list[tuple[str, float]]:
    """Return the milliseconds of each phase, in the order in which they begin."""
    spent: dict[str, float] = {}
    for one in session.timeline.phases:
        spent[one.name] = spent.get(one.name, 0) + (one.end - one.start) * 1e3
    return [(name, round(value, 1)) for name, value in spent.items()]


def _origins(text: str, kind: str, path: str) -> list[int]:
    if kind == "asm":
        return of_assembly(text, path)
    if kind in ("llvm", "llvm-opt"):
        return of_llvm(text, path)
    if kind == "ast":
        return [int(found[1]) if (found := re.search(r"@(\d+):\d+$", line)) else 0 for line in text.split("\n")]
    return [0] * (text.count("\n") + 1)


def _facts(text: str, kind: str, target: str) -> dict[str, str]:
    """Return registers and spills, as far as the text or NVIDIA's assembler says."""
    if kind != "asm":
        return {}
    if target.startswith("gfx"):
        return {name.replace("_", " "): count for name, count in _AMD.findall(text)}
    ptxas = find_ptxas() if target.startswith("sm_") else ""
    if not ptxas:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(text)
        command = [ptxas, "-v", f"-arch={target}", "-o", str(Path(folder, "kernel.cubin")), str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    used, spilled = _USED.search(said), _SPILLED.search(said)
    facts = {"registers": used[1]} if used is not None else {}
    return facts | ({"spill stores": f"{spilled[1]} bytes", "spill loads": f"{spilled[2]} bytes"} if spilled else {})
