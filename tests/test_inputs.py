"""Bad input and the options by hand: a clear message, the right exit code, no traceback, no half-written file."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from programs import environment, run_ktc

HELLO = 'def main():\n    print("hi")\n'
DEEP = "def main():\n    print(" + "(" * 100_000 + "1" + ")" * 100_000 + ")\n"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("missing.kpy", None, "ktc: error[file-error]: cannot open 'missing.kpy': no such file or directory"),
        (
            "folder.kpy",
            b"",
            "ktc: error[file-error]: 'folder.kpy' is a folder, and no program: it has no file '__main__.kpy'",
        ),
        ("folder", b"", "ktc: error[file-error]: 'folder' is a folder, and no program: it has no file '__main__.kpy'"),
        ("text.txt", HELLO.encode(), "its name ends in none of .kpy, .mojo"),
        ("empty.kpy", b"", "empty.kpy:1:1: error[missing-main]: the program has no function 'main'"),
        ("latin.kpy", b'def main():\n    print("caf\xe9")\n', "latin.kpy:2:15: error[invalid-utf8]"),
        ("nul.kpy", b"def main():\n    print(\0)\n", "nul.kpy:2:11: error[syntax-error]"),
        ("deep.kpy", DEEP.encode(), "error[nesting-limit]: brackets are nested more than"),
        ("open.kpy", DEEP[:50_000].encode(), "error[nesting-limit]: brackets are nested more than"),
    ],
)
def test_bad_input(program_cache: Path, tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    elif data is not None:
        (tmp_path / name).write_bytes(data)
    output = [] if data == b"" else ["-o", "made"]  # without it the name of the executable is that of the file
    done = run_ktc(["build", "--target-accelerator", "cpu", *output, name], program_cache, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr and done.stderr.endswith("1 error\n") and len(done.stderr) < 2000
    assert "Traceback" not in done.stderr and not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target-cpu", "nocpu"], "has no processor 'nocpu'"),
        (["--target-features", "+nofeature,-fma"], "has no feature '+nofeature'"),
        (["--target-triple", "pdp11-unknown"], "cannot compile host code for 'pdp11-unknown'"),
        (["--target-accelerator", "sm_91"], "did you mean 'sm_90'"),
    ],
)
def test_targets_that_are_none(program_cache: Path, tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "hello.kpy").write_text(HELLO)
    done = run_ktc(["build", *words, "hello.kpy"], program_cache, tmp_path)
    assert done.returncode == 1 and "error[unknown-target]" in done.stderr and said in done.stderr


@pytest.mark.parametrize("name", ["hello.mojo", "hello.🔥"])
def test_other_suffixes_and_a_folder_of_modules(program_cache: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "greeting.kpy").write_text("fn greet():\n    print('hello')\n")
    (tmp_path / name).write_text("from greeting import greet\n\n\ndef main():\n    greet()\n")
    done = run_ktc(["run", "--target-accelerator", "cpu", "-I", "lib", name], program_cache, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    done = run_ktc(["run", "--target-accelerator", "cpu", name], program_cache, tmp_path)
    assert done.returncode == 1 and "error[module-not-found]: there is no module 'greeting'" in done.stderr


def test_ctrl_c_in_the_middle_of_a_build(program_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "spin.kpy").write_text(
        "fn forever() -> Int:\n    var steps = 0\n    for i in range(1_000_000_000):\n        steps += i & 3\n"
        "    return steps\n\n\nalias never = forever()\n\n\ndef main():\n    print(never)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "ktc", "build", "--target-accelerator", "cpu", "spin.kpy"], cwd=tmp_path,
        stderr=subprocess.PIPE, text=True, env=environment(program_cache),
    )  # fmt: skip
    while process.poll() is None and len(os.listdir(f"/proc/{process.pid}/task")) == 1:
        time.sleep(0.05)  # Python and ktc are loaded first; the build then has a thread of its own
    time.sleep(0.5)
    if process.poll() is not None:
        pytest.skip("the limit of compile time was faster")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert os.listdir(tmp_path) == ["spin.kpy"]


def test_explain_lists_every_code(program_cache: Path, tmp_path: Path) -> None:
    done = run_ktc(["explain"], program_cache, tmp_path)
    assert done.returncode == 0 and "warning  unused-import" in done.stdout and "type-mismatch" in done.stdout
    done = run_ktc(["explain", "typ_mismatch"], program_cache, tmp_path)
    assert done.returncode == 2 and "did you mean 'type-mismatch'?" in done.stderr


def test_registers_of_another_target(program_cache: Path, tmp_path: Path) -> None:
    """A register in a kernel's assembly is no name of a value."""
    (tmp_path / "lane.kpy").write_text(
        "from gpu.host import DeviceContext\nfrom sys._assembly import inlined_assembly\n\n\nfn lane():\n"
        '    _ = inlined_assembly["mov.u32 $0, %laneid;", UInt32, constraints="=r"]()\n\n\ndef main():\n'
        "    DeviceContext().enqueue_function_checked[lane, lane](grid_dim=1, block_dim=1)\n"
    )
    done = run_ktc(["build", "--target-accelerator", "cpu", "lane.kpy"], program_cache, tmp_path)
    assert done.returncode == 1 and "invalid register name" in done.stderr
    assert "error[unsupported-on-target]: the target refuses the inline assembly of kernel 'lane_" in done.stderr


@pytest.mark.parametrize("device", [True, False])
def test_assembly_of_another_target(program_cache: Path, tmp_path: Path, device: bool) -> None:
    launch = "DeviceContext().enqueue_function_checked[add, add](grid_dim=1, block_dim=1)" if device else "add()"
    (tmp_path / "add.kpy").write_text(
        "from gpu.host import DeviceContext\nfrom sys._assembly import inlined_assembly\n\n\nfn add():\n"
        '    _ = inlined_assembly["mad.lo.u32 $0, $1, $1, $1;", UInt32, constraints="=r,r"](UInt32(3))\n'
        f"\n\ndef main():\n    {launch}\n"
    )
    done = run_ktc(["build", "--target-accelerator", "cpu", "add.kpy"], program_cache, tmp_path)
    what = "kernel 'add_" if device else "the host"
    assert f"error[unsupported-on-target]: the target refuses the inline assembly of {what}" in done.stderr
    assert done.returncode == 1 and "invalid instruction mnemonic 'mad.lo.u32'" in done.stderr
    assert os.listdir(tmp_path) == ["add.kpy"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("Int64(5), len(argv()) > 3", "'llvm.ctlz.i64' in the host: an argument has to be known at compile time"),
        ("Int64(5)", "'llvm.ctlz' in the host: it takes other arguments, or gives another result"),
    ],
)
def test_calls_of_intrinsics_that_llvm_refuses(program_cache: Path, tmp_path: Path, arguments: str, why: str) -> None:
    (tmp_path / "zeros.kpy").write_text(
        "from sys import argv\nfrom sys.intrinsics import llvm_intrinsic\n\n\ndef main():\n"
        f'    print(llvm_intrinsic["llvm.ctlz", Int64]({arguments}))\n'
    )
    done = run_ktc(["build", "--target-accelerator", "cpu", "zeros.kpy"], program_cache, tmp_path)
    assert done.returncode == 1 and f"error[unsupported-on-target]: LLVM refuses a call of {why}" in done.stderr
    assert os.listdir(tmp_path) == ["zeros.kpy"]
