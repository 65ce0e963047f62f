"""What pyproject.toml cannot say: a part of the library is compiled while ktc is built,
so that first builds need not do it.

KTC_PLATFORM_WHEEL=1 makes a wheel that is marked for one Python and machine: `packaging/compile_wheel.py` puts compiled
modules into it, which setuptools knows nothing of.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

FIRST_PROGRAM = Path(__file__).with_name("examples") / "vector_addition.kpy"
"""The program whose part of the library is compiled, without checks and with them: it launches a kernel and prints."""


class Build(build_py):
    """Copies the sources, then compiles a part of the library (`toolchain/driver/prebuilt.py`)."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # `make setup` parses the library
            return
        package = Path(self.build_lib, "ktc").resolve()
        path = os.pathsep.join([str(package.parent), *filter(None, sys.path)])
        words = [sys.executable, "-B", "-P", "-m", "ktc.driver.prebuilt", package / "prebuilt", FIRST_PROGRAM]
        # What is kept is for a ktc with these sources, which an installed one knows by the digests of its RECORD.
        record = package.with_name("ktc-build.dist-info") / "RECORD"
        record.parent.mkdir(exist_ok=True)
        try:
            record.write_text("\n".join(recorded(package)) + "\n", encoding="utf-8")
            done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, check=False)
        finally:
            shutil.rmtree(record.parent)
        if done.returncode:
            self.warn("the library was not compiled: first builds take longer")


def recorded(package: Path) -> list[str]:
    """Return the lines that an installer's RECORD has for the files of a package."""
    lines = []
    for path in sorted(package.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{path.relative_to(package.parent).as_posix()},sha256={digest},{len(data)}")
    return lines


class Platform(Distribution):
    """A distribution that is not the same for all machines."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": Build},
    distclass=Platform if os.environ.get("KTC_PLATFORM_WHEEL") == "1" else Distribution,
)
