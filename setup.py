"""What pyproject.toml cannot say: the library is parsed while ktc is built, so that no first build need.

KTC_PLATFORM_WHEEL=1 makes a wheel that is marked for one Python and machine: `packaging/compile_wheel.py` puts compiled
modules into it, which setuptools knows nothing of.
"""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py


class Build(build_py):
    """Copies the sources, then parses the library's (`toolchain/syntax/ahead.py`)."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # `make setup` does it there
            return
        package = Path(self.build_lib, "ktc").resolve()
        path = os.pathsep.join([str(package.parent), *filter(None, sys.path)])
        words = [sys.executable, "-B", "-P", "-m", "ktc.syntax.ahead", package / "stdlib", package / "prebuilt"]
        done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, check=False)
        if done.returncode:
            self.warn("the library was not parsed: first builds take longer")


class Platform(Distribution):
    """A distribution that is not the same for all machines."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    cmdclass={"build_py": Build},
    distclass=Platform if os.environ.get("KTC_PLATFORM_WHEEL") == "1" else Distribution,
)
