"""Make a wheel for one Python and machine of ktc's wheel of sources: with its own modules and its library compiled.

    python packaging/compile_wheel.py WHEEL FOLDER

The new wheel is put into FOLDER. It needs ktc's dependencies, `mypy`, `setuptools` and `wheel`, a C compiler and
Python's headers. Where `auditwheel` is found (in the images of manylinux) the wheel is marked for those. An installer's
RECORD is what tells compiled modules that they are of these sources, so they are made in the unpacked wheel.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def run(*words: str | Path, **options: object) -> None:
    subprocess.run([str(word) for word in words], check=True, **options)  # type: ignore[call-overload]


def main() -> None:
    source, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ktc-wheel-") as work:
        run(sys.executable, "-m", "wheel", "unpack", "-d", work, source)
        unpacked = next(Path(work).glob("ktc-*"))
        shutil.rmtree(unpacked / "ktc" / "prebuilt", ignore_errors=True)
        environment = {**os.environ, "PYTHONPATH": str(unpacked)}
        for words in (("ktc.native",), ("ktc.driver.prebuilt", str(unpacked / "ktc" / "prebuilt"))):
            run(sys.executable, "-P", "-m", *words, cwd=unpacked, env=environment)
        for cached in list(unpacked.rglob("__pycache__")):
            shutil.rmtree(cached)
        run(sys.executable, "-m", "wheel", "pack", "-d", work, unpacked)
        made = next(Path(work).glob("*.whl"))
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        tags = ("--python-tag", python, "--abi-tag", python, "--platform-tag", platform)
        run(sys.executable, "-m", "wheel", "tags", "--remove", *tags, made)
        made = next(Path(work).glob("*.whl"))
        if shutil.which("auditwheel"):
            run("auditwheel", "repair", "-w", folder, made)
        else:
            shutil.move(made, folder / made.name)


if __name__ == "__main__":
    main()
