"""What pyproject.toml cannot say: KTC_PLATFORM_WHEEL=1 makes a wheel that is marked for one Python and machine.

`packaging/compile_wheel.py` puts compiled modules into it, which setuptools knows nothing of.
"""

import os

from setuptools import Distribution, setup


class Platform(Distribution):
    """A distribution that is not the same for all machines."""

    def has_ext_modules(self) -> bool:
        return True


setup(distclass=Platform if os.environ.get("KTC_PLATFORM_WHEEL") == "1" else Distribution)
