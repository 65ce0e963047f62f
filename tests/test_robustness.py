"""ktc where things go wrong around it: killed, at once, without streams, without room, in other locales."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from programs import environment, shortened

TEXT = """
from sys import argv


fn twice(value: Int) raises -> Int:
    if value > 100:
        raise Error("too much")
    return 2 * value


def main():
    print("so many:", twice(21), len(argv()))
"""
KTC = [sys.executable, "-m", "ktc"]
OUT = "so many: 42 1\n"
KILLS = int(os.environ.get("KTC_TEST_KILLS", "8"))


def ktc(words: list[str], cache: Path, folder: Path, **more: object) -> subprocess.CompletedProcess[str]:
    environ = environment(cache) | more.pop("env", {})  # type: ignore[operator]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*KTC, *words], cwd=folder, env=environ, text=True, timeout=200, check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
    )  # fmt: skip


def output_of(folder: Path) -> str:
    done = subprocess.run([folder / "p"], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


def write(folder: Path, number: int = 0) -> None:
    (folder / "p.kpy").write_text(f"# {number}\n{TEXT}".replace("so many", f"so many{number if number else ''}"))


@pytest.mark.thorough
def test_killed_at_any_moment(program_cache: Path, tmp_path: Path) -> None:
    chance = random.Random(7)
    write(tmp_path)
    begun = time.monotonic()
    assert ktc(["build", "p.kpy"], program_cache, tmp_path).returncode == 0
    length = time.monotonic() - begun
    for number in range(1, KILLS + 1):
        write(tmp_path, number)
        (tmp_path / "p").unlink(missing_ok=True)
        child = subprocess.Popen(
            [*KTC, "build", "p.kpy"], cwd=tmp_path, env=environment(program_cache), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(chance.random() * length)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        if (tmp_path / "p").exists():  # it was there whole, or not at all
            assert output_of(tmp_path) == f"so many{number}: 42 1\n"
        assert ktc(["build", "p.kpy"], program_cache, tmp_path).returncode == 0
        assert output_of(tmp_path) == f"so many{number}: 42 1\n"


@pytest.mark.thorough
@pytest.mark.slow
def test_eight_builds_with_an_empty_cache(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(8)]
    builds = []
    for folder in folders:
        folder.mkdir()
        write(folder)
        builds.append(subprocess.Popen([*KTC, "build", "-j", "1", "p.kpy"], cwd=folder,
                                       env=environment(tmp_path / "cache"), stderr=subprocess.PIPE))  # fmt: skip
    for build in builds:
        said = build.communicate(timeout=300)[1]
        lines = said.splitlines()  # on a busy machine a phase may take long enough to be announced
        assert build.returncode == 0 and all(line.endswith(b"find it in the cache") for line in lines), said
    assert [output_of(folder) for folder in folders] == [OUT] * 8
    assert len({(folder / "p").read_bytes() for folder in folders}) == 1
    assert not list((tmp_path / "cache").rglob("*.part"))


def test_no_streams(program_cache: Path, tmp_path: Path) -> None:
    write(tmp_path)
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        (tmp_path / "p").unlink(missing_ok=True)
        command = f'"$0" -m ktc build p.kpy {closed}'
        done = subprocess.run(
            ["sh", "-c", command, sys.executable],
            cwd=tmp_path,
            env=environment(program_cache),
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, closed
        assert output_of(tmp_path) == OUT
        subprocess.run(["sh", "-c", f"./p {closed}"], cwd=tmp_path, check=False, timeout=60)


@pytest.mark.parametrize("locale", shortened(["C", "POSIX", "tr_TR.UTF-8", "no_SUCH"], 4))
def test_locales_and_names(program_cache: Path, tmp_path: Path, locale: str) -> None:
    folder = tmp_path / "größe 大"
    folder.mkdir()
    write(folder)
    around = {"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0"}
    done = ktc(["build", "p.kpy"], program_cache, folder, env=around)
    assert done.returncode == 0, done.stderr
    assert output_of(folder) == OUT
    shutil.move(folder / "p.kpy", folder / "ß.kpy")
    done = ktc(["run", "ß.kpy", "ä", "大"], program_cache, folder, env=around)
    assert (done.returncode, done.stdout) == (0, "so many: 42 3\n"), done.stderr


def test_long_arguments(program_cache: Path, tmp_path: Path) -> None:
    write(tmp_path)
    words = ["x" * 50] * 20_000
    done = ktc(["run", "p.kpy", *words], program_cache, tmp_path)
    assert (done.returncode, done.stdout) == (0, "so many: 42 20001\n"), done.stderr[-500:]


@pytest.mark.parametrize("most", [0, 1, 4096, 9000, 30_000])
def test_a_full_disk(program_cache: Path, tmp_path: Path, most: int) -> None:
    """No write goes beyond so many bytes: the build ends with its code, and no part of a file is left."""
    write(tmp_path)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = ktc(["build", "p.kpy"], program_cache, tmp_path, preexec_fn=limit, stderr=subprocess.PIPE)
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        assert output_of(tmp_path) == OUT
    else:
        assert [path.name for path in tmp_path.iterdir()] == ["p.kpy"]
        assert done.stderr.strip()
