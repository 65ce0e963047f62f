"""Programs with mistakes: each `# error: code "text"` stands on the line at which that error must be reported.

`# error@COL: code "text"` asks for the column too (from 1, in characters), `# error+N: …` and `# error-N: …` for the
line N further down or up. The text is a part of the message; `help "text"` behind it asks for a part of
the help. Nothing else may be reported as an error.
Programs in tests/warnings compile, and have `# warning: …` comments of the same form.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ktc.diag.codes import Code

from programs import TESTS, run_ktc

WANTED = re.compile(
    r"#\s*(?P<severity>error|warning)(?P<offset>[+-]\d+)?(?:@(?P<column>\d+))?: "
    r'(?P<code>[a-z0-9-]+)(?: "(?P<text>[^"]*)")?(?: help "(?P<help>[^"]*)")?'
)
FILES = sorted(path for end in ("kpy", "mojo") for path in (TESTS / "errors").rglob(f"*.{end}"))
ODD = sorted(path for end in ("kpy", "mojo") for path in (TESTS / "warnings").rglob(f"*.{end}"))
BUILD = ["build", "--target-accelerator", "cpu", "--diagnostic-format", "json", "-o", "made"]


@dataclass(frozen=True)
class Wanted:
    """An error or a warning that must be reported."""

    severity: str
    line: int
    column: int | None
    code: str
    text: str
    help: str

    def fits(self, found: dict[str, Any]) -> bool:
        place = found["place"] or {}
        return (
            found["severity"] == self.severity
            and place.get("line") == self.line
            and found["code"] == self.code
            and self.text in found["message"]
            and self.help in (found["help"] or "")
            and self.column in (None, place["column"])
        )


def wanted_errors(path: Path) -> list[Wanted]:
    return [
        Wanted(
            match["severity"], number + int(match["offset"] or 0), int(match["column"]) if match["column"] else None,
            match["code"], match["text"] or "", match["help"] or "",
        )
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in WANTED.finditer(line)
    ]  # fmt: skip


def diagnostics(stderr: str) -> list[dict[str, Any]]:
    assert "Traceback (most recent call last)" not in stderr, stderr
    return [json.loads(line) for line in stderr.splitlines()]


def compare(path: Path, found: list[dict[str, Any]]) -> None:
    wanted = wanted_errors(path)
    for one in wanted:
        assert any(one.fits(error) for error in found), f"not reported: {one}\nreported: {found}"
    for error in found:
        assert any(one.fits(error) for one in wanted), f"reported and not wanted: {error}"
        assert Path(error["place"]["path"]).name == path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_errors(path: Path, program_cache: Path, tmp_path: Path) -> None:
    edition = ["--edition", "2026"] if path.parent.name == "edition2026" else []
    done = run_ktc([*BUILD, *edition, str(path)], program_cache, tmp_path)
    found = [one for one in diagnostics(done.stderr) if one["severity"] == "error"]
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stderr}"
    assert not (tmp_path / "made").exists()
    compare(path, found)


@pytest.mark.parametrize("path", ODD, ids=lambda path: path.stem)
def test_warnings(path: Path, program_cache: Path, tmp_path: Path) -> None:
    done = run_ktc([*BUILD, str(path)], program_cache, tmp_path)
    found = diagnostics(done.stderr)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    compare(path, found)
    assert len(found) == len(wanted_errors(path))
    again = run_ktc([*BUILD, str(path)], program_cache, tmp_path)
    assert again.stderr == done.stderr, "a build with nothing to do warns as the first did"


def only_error_of_kernel(declarations: str, dtype: str, cache: Path, folder: Path) -> dict[str, Any]:
    """Build a program that starts the function `kernel` with a buffer on an NVIDIA GPU; return its one error."""
    path = folder / "kernel.kpy"
    path.write_text(
        f"from gpu.host import DeviceContext\n{declarations}\n\ndef main():\n    var ctx = DeviceContext()\n"
        f"    var data = ctx.enqueue_create_buffer[DType.{dtype}](1)\n"
        "    ctx.enqueue_function_checked[kernel, kernel](data, grid_dim=1, block_dim=1)\n"
    )
    done = run_ktc([*BUILD, "--target-accelerator", "sm_90", str(path)], cache, folder)
    assert done.returncode == 1
    (found,) = diagnostics(done.stderr)
    return found


def test_wide_numbers_and_floats_in_a_kernel(program_cache: Path, tmp_path: Path) -> None:
    text = "\n\nfn kernel(data: UnsafePointer[Float64, MutAnyOrigin]):\n    data[0] = Float64(Int128(data[0]))\n"
    found = only_error_of_kernel(text, "float64", program_cache, tmp_path)
    assert (found["code"], found["place"]["line"]) == ("unsupported-on-target", 5)
    assert "between floats and numbers of 128 bits" in found["message"]


def test_more_arguments_than_a_pack_takes(program_cache: Path, tmp_path: Path) -> None:
    """LLVM would take gigabytes; the error comes at once, at the first argument too many."""
    (tmp_path / "prog.kpy").write_text(f"def main():\n    print({', '.join(['1'] * 5_000)})\n")
    done = run_ktc(["build", "--diagnostic-format", "json", "prog.kpy"], program_cache, tmp_path)
    (found,) = diagnostics(done.stderr)
    assert found["code"] == "too-many-arguments" and "takes at most 4,096 arguments" in found["message"]
    assert found["place"]["column"] == 11 + 3 * 4_096


def test_a_function_of_the_host_in_a_kernel(program_cache: Path, tmp_path: Path) -> None:
    text = (
        "from sys.ffi import external_call\n\n\nfn inner() -> Int32:\n    return external_call['getpid', Int32]()\n\n\n"
        "fn kernel(data: UnsafePointer[Int32, MutAnyOrigin]):\n    data[0] = inner()\n"
    )
    found = only_error_of_kernel(text, "int32", program_cache, tmp_path)
    assert found["code"] == "unsupported-on-target"
    assert "'getpid' cannot be called in a kernel" in found["message"]
    assert (found["place"]["line"], found["place"]["column"]) == (6, 12)
    assert "kernel" in found["notes"][0]["message"]


def test_memory_of_the_heap_in_a_kernel(program_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "kernel.kpy"
    path.write_text(
        "from gpu.host import DeviceContext\n\n\nfn kernel():\n    var parts = List[Int]()\n    parts.append(1)\n"
        "    print(parts[0])\n\n\ndef main():\n"
        "    DeviceContext().enqueue_function_checked[kernel, kernel](grid_dim=1, block_dim=1)\n"
    )
    done = run_ktc([*BUILD, "--target-accelerator", "sm_90", str(path)], program_cache, tmp_path)
    (found,) = diagnostics(done.stderr)
    assert (done.returncode, found["code"], found["severity"]) == (0, "device-heap", "warning")
    assert (found["place"]["line"], found["place"]["column"]) == (6, 5)


def test_two_types_for_one_variable(program_cache: Path, tmp_path: Path) -> None:
    """A note shows where the variable has its type from, which Python programmers do not expect."""
    path = tmp_path / "types.kpy"
    path.write_text("def main():\n    var x = 1\n    if x > 0:\n        x = 'text'\n")
    (found,) = diagnostics(run_ktc([*BUILD, str(path)], program_cache, tmp_path).stderr)
    assert (found["code"], found["place"]["line"], found["place"]["column"]) == ("type-mismatch", 4, 13)
    (note,) = found["notes"]
    assert (note["message"], note["place"]["line"], note["place"]["column"]) == ("'x' has its type from here", 2, 9)


def test_the_way_of_the_first_call_is_shown(program_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "ways.kpy"
    path.write_text(
        "fn inner[n: Int]() -> Int:\n    constrained[n > 0, 'n must be positive']()\n    return n\n\n\n"
        "fn outer[n: Int]() -> Int:\n    return inner[n - 1]()\n\n\n"
        "def main():\n    print(outer[2]())\n    print(outer[1]())\n    print(outer[0]())\n"
    )
    done = run_ktc([*BUILD, str(path)], program_cache, tmp_path)
    (found,) = diagnostics(done.stderr)
    assert (found["code"], found["place"]["line"]) == ("unsatisfied-constraint", 2)
    assert [note["place"]["line"] for note in found["notes"]] == [12, 7]


@pytest.mark.parametrize(
    ("number", "body", "line", "code", "message"),
    [
        (
            "Float64", ["p[0] = p[1] * 0.5"], 5, "unsupported-on-target",
            "apple-m4 has no numbers of type float64, and 'average' computes with them",
        ),
        (
            "Int32", ["p[0] = 1", "threadfence()", "p[1] = 1"], 7, "unsatisfied-constraint",
            "a memory fence is not supported on Apple GPUs",
        ),
    ],
)  # fmt: skip
def test_what_metal_has_not(
    number: str, body: list[str], line: int, code: str, message: str, program_cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "average.kpy"
    path.write_text(
        "from gpu.host import DeviceContext\nfrom gpu.intrinsics import threadfence\n\n\n"
        + f"fn average(p: UnsafePointer[{number}, MutAnyOrigin]):\n"
        + "".join(f"    {one}\n" for one in body)
        + "\n\ndef main():\n    var ctx = DeviceContext()\n"
        + f"    var data = ctx.enqueue_create_buffer[DType.{number.lower()}](2)\n"
        + "    ctx.enqueue_function_checked[average, average](data, grid_dim=1, block_dim=1)\n"
    )
    done = run_ktc([*BUILD, "--target-accelerator", "apple-m4", str(path)], program_cache, tmp_path)
    (found,) = [one for one in diagnostics(done.stderr) if one["severity"] == "error"]
    assert (done.returncode, found["code"], found["place"]["line"]) == (1, code, line)
    assert message in found["message"]


@pytest.mark.parametrize(
    ("target", "most", "help"),
    [("sm_80", 49152, "external_memory"), ("gfx942", 65536, "smaller"), ("apple-m4", 32768, "smaller")],
)
def test_more_shared_memory_than_a_block_has(
    target: str, most: int, help: str, program_cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "wide.kpy"
    path.write_text(
        "from gpu import barrier, thread_idx\nfrom gpu.host import DeviceContext\n"
        "from memory import stack_allocation\n\n\n"
        "fn turn[n: Int](p: UnsafePointer[Int32, MutAnyOrigin]):\n"
        "    var held = stack_allocation[n, Int32, address_space = AddressSpace.SHARED]()\n"
        "    held[thread_idx.x] = p[thread_idx.x]\n    barrier()\n    p[thread_idx.x] = held[31 - thread_idx.x]\n\n\n"
        "def main():\n    var ctx = DeviceContext()\n    var data = ctx.enqueue_create_buffer[DType.int32](32)\n"
        "    ctx.enqueue_function_checked[turn[32], turn[32]](data, grid_dim=1, block_dim=32)\n"
        "    ctx.enqueue_function_checked[turn[20000], turn[20000]](data, grid_dim=1, block_dim=32)\n"
    )
    done = run_ktc([*BUILD, "--target-accelerator", target, str(path)], program_cache, tmp_path)
    (found,) = diagnostics(done.stderr)
    assert (done.returncode, found["code"], found["place"]["line"]) == (1, "unsupported-on-target", 6)
    assert f"'turn[20000]' has 80000 bytes of shared memory; {target} has {most}" in found["message"]
    assert help in found["help"]


def test_control_of_warnings(program_cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.kpy"
    path.write_text("import random\n\n\ndef main():\n    var x = 1\n")

    def codes(*words: str) -> tuple[int, list[tuple[str, str]]]:
        done = run_ktc([*BUILD, *words, str(path)], program_cache, tmp_path)
        return done.returncode, [(one["severity"], one["code"]) for one in diagnostics(done.stderr)]

    both = ("unused-import", "unused-variable")
    assert codes() == (0, [("warning", code) for code in both])
    assert codes("-Wno-unused-import") == (0, [("warning", "unused-variable")])
    assert codes("--disable-warnings") == codes("-W", "none") == (0, [])
    assert codes("-W", "none", "-W", "unused-import") == (0, [("warning", "unused-import")])
    (tmp_path / "made").unlink()
    assert codes("--Werror") == codes("-Werror") == (1, [("error", code) for code in both])
    assert codes("-W", "error=unused-import", "-O0") == (1, [("error", both[0]), ("warning", both[1])])
    assert codes("-Werror", "-Wno-unused-import", "-W", "no-unused-variable") == (0, [])
    done = run_ktc(["build", "-W", "unused-importt", str(path)], program_cache, tmp_path)
    assert done.returncode == 2 and "did you mean 'unused-import'?" in done.stderr
    done = run_ktc(["build", "-W", "type-mismatch", str(path)], program_cache, tmp_path)
    assert done.returncode == 2 and "is an error, not a warning" in done.stderr


@pytest.mark.parametrize("path", [*FILES, *ODD], ids=lambda path: path.stem)
def test_every_file_expects_an_error(path: Path) -> None:
    assert wanted_errors(path), "no '# error:' or '# warning:' comment"


ELSEWHERE = {
    "file-error": "test_inputs", "invalid-utf8": "test_inputs", "nesting-limit": "test_inputs",
    "unknown-target": "test_inputs", "missing-main": "test_inputs",
    "link-failed": "test_explain", "coroutine-kernel": "test_explain",
    "device-heap": "test_memory_of_the_heap_in_a_kernel",
    "unsupported-on-target": "test_a_function_of_the_host_in_a_kernel",
    "invalid-project": "tests/unit/tools/test_projects.py",
}  # fmt: skip
"""Codes of what stands in no program, and where they are tested."""


def test_every_code_is_tested_with_its_column() -> None:
    tested = {one.code for path in (*FILES, *ODD) for one in wanted_errors(path) if one.column is not None}
    assert {code.id for code in Code} - tested == set(ELSEWHERE)
