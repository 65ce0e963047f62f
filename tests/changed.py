"""Name the tests of what changed, for `make quick`: those of the rooms that differ from a git ref, and the rules.

    python tests/changed.py [REF]

Prints paths for pytest, one a line. A changed file of tests/unit stands for itself; a change in a room of the toolchain
for its folder in tests/unit; the architecture's rules are always there. Whole programs are left to `make test`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = "tests/unit/test_architecture.py"
BESIDE = {
    "base": ["tests/unit/test_cache.py", "tests/unit/test_records.py"],
    "config": ["tests/unit/test_config.py"],
    "driver": ["tests/unit/test_driver.py", "tests/unit/test_guard.py", "tests/unit/test_progress.py"],
    "cli": ["tests/unit/test_cli.py", "tests/unit/test_start.py"],
    "native": ["tests/unit/test_native.py"],
    "lsp": ["tests/unit/tools/test_lsp.py"],
    "bench": ["tests/unit/test_bench.py"],
    "tuning": ["tests/unit/test_tuning.py"],
}
"""Rooms whose tests lie in files instead of a folder of their name."""


def changed(ref: str) -> list[str]:
    """Return the files that differ from where this branch left `ref`, new ones included."""
    base = git("merge-base", ref, "HEAD") or "HEAD"
    return [*git("diff", "--name-only", base).split("\n"), *git("ls-files", "-o", "--exclude-standard").split("\n")]


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], check=False, capture_output=True, text=True).stdout.strip()


def affected(files: list[str]) -> list[str]:
    """Return the tests of files, each once."""
    found = {ALWAYS}
    for name in files:
        parts = Path(name).parts
        if name.startswith("tests/unit/") and parts[-1].startswith("test_"):
            found.add(name)
        elif name.startswith("toolchain/") and name.endswith(".py"):
            room = parts[1]
            found.update(BESIDE.get(room, [f"tests/unit/{room}"]))
    return sorted(one for one in found if (ROOT / one).exists())


if __name__ == "__main__":
    print("\n".join(affected(changed(sys.argv[1] if len(sys.argv) > 1 else "main"))))
