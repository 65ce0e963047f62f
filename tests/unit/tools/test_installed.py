"""Packages in Python's environment: imports find those whose distributions have an entry point in `ktc.packages`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from programs import ROOT, run_ktc

PROGRAM = "from waves import height\n\n\ndef main() raises:\n    print(height(20))\n"


def installed(site: Path, distribution: str, name: str = "waves", value: str = "waves", **files: str) -> None:
    """Put a distribution with one package into an environment, as installers do."""
    facts = site / f"{distribution}.dist-info"
    facts.mkdir(parents=True)
    (facts / "entry_points.txt").write_text(f"[console_scripts]\nx = x:main\n\n[ktc.packages]\n{name} = {value}\n")
    for path, text in files.items():
        place = site.joinpath(*value.split("."), path.replace("__mojo", ".mojo"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def run(folder: Path, cache: Path, *words: str) -> tuple[int, str]:
    done = run_ktc([*words], cache, folder, variables={"VIRTUAL_ENV": str(folder / "env")})
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "prog.mojo").write_text(PROGRAM)
    found = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    found.mkdir(parents=True)
    return found


def test_imports_find_an_installed_package(site: Path, tmp_path: Path, program_cache: Path) -> None:
    """A package of edition 2025 in a project of 2026, and what is installed or removed between two builds counts."""
    build = ["build", "-O0", "prog.mojo", "-o", "prog"]
    (tmp_path / "pyproject.toml").write_text('[tool.ktc]\nedition = "2026"\n')
    code, said = run(tmp_path, program_cache, *build)
    assert code == 1 and "there is no module 'waves'" in said
    text = "from .more import more\n\n\nfn height(x: Int) -> Int:\n    return x + more\n"
    installed(site, "sea-2.1", "waves", "sea.waves", __init____mojo=text, more__mojo="alias more = 22\n")
    assert run(tmp_path, program_cache, *build) == (0, "")
    assert subprocess.run([tmp_path / "prog"], capture_output=True, check=True).stdout == b"42\n"
    code, said = run(tmp_path, program_cache, "doctor", "--json")
    assert {"name": "package waves", "found": f"sea 2.1, {site / 'sea' / 'waves'}"} in json.loads(said)
    shutil.rmtree(site / "sea-2.1.dist-info")
    assert run(tmp_path, program_cache, *build)[0] == 1


def test_two_packages_of_one_name(site: Path, tmp_path: Path, program_cache: Path) -> None:
    installed(site, "sea-2.1", "waves", "sea", __init____mojo="def height(x: Int) -> Int:\n    return x\n")
    installed(site, "sound-0.3", "waves", "sound", __init____mojo="def height(x: Int) -> Int:\n    return -x\n")
    said = (
        "prog.mojo:1:6: error[file-error]: 2 installed packages are called 'waves': "
        f"'{site / 'sea'}' of sea 2.1 and '{site / 'sound'}' of sound 0.3\n"
    )
    assert run(tmp_path, program_cache, "check", "prog.mojo")[1].startswith(said)
    assert run(tmp_path, program_cache, "doctor", "--json")[1].count("not the only") == 2
    (tmp_path / "waves.mojo").write_text("def height(x: Int) -> Int:\n    return 3 * x\n")
    assert run(tmp_path, program_cache, "run", "-O0", "prog.mojo") == (0, "60\n"), (
        "a module beside the program comes first"
    )


def test_a_package_in_editable_mode(site: Path, tmp_path: Path, program_cache: Path) -> None:
    """Its sources stay where they are developed."""
    installed(site, "sea-2.1")
    (tmp_path / "sea" / "src" / "waves").mkdir(parents=True)
    (tmp_path / "sea" / "src" / "waves" / "__init__.mojo").write_text("def height(x: Int) -> Int:\n    return x + 1\n")
    origin = {"url": (tmp_path / "sea").as_uri(), "dir_info": {"editable": True}}
    (site / "sea-2.1.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    assert run(tmp_path, program_cache, "check", "prog.mojo") == (0, "")


@pytest.mark.slow
def test_a_wheel_of_an_example(site: Path, tmp_path: Path, program_cache: Path) -> None:
    """examples/shapes is packed by setuptools and installed by pip, without a line of ktc's in between."""
    shutil.copytree(ROOT / "examples" / "shapes", tmp_path / "shapes_sources")
    shutil.copy(ROOT / "examples" / "package.kpy", tmp_path)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    words = ["wheel", "--no-build-isolation", "--no-deps", "-w", "dist", "./shapes_sources"]
    subprocess.run([*pip, *words], cwd=tmp_path, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    words = ["--python", str(tmp_path / "env" / "bin" / "python"), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([*pip, *words], check=True)
    wanted = (ROOT / "tests/run/examples/package.out").read_text()
    assert run(tmp_path, program_cache, "run", "-O0", "package.kpy") == (0, wanted)
