"""Intel's OpenCL runtime for processors, with which tests run SPIR-V where it is installed.

The extra `test` brings it on x86-64 Linux; nothing has to be set. KTC_TEST_OPENCL names the environment in which it
is, if that is not the one of the tests.
"""

import os
import re
import sys
from pathlib import Path

from ktc.emit.spirv.images import MAGIC

_DRIVER = "libintelocl.so"
SPIRV = b"\x03\x02\x23\x07"
"""What a module begins with."""


def modules(executable: bytes) -> list[bytes]:
    """Return the SPIR-V modules in an executable: each stands behind a magic number, its length and a word."""
    magic = MAGIC.to_bytes(8, "little")
    starts = [found.start() for found in re.finditer(re.escape(magic), executable)]
    sizes = [int.from_bytes(executable[at + 8 : at + 16], "little") for at in starts]
    found = [executable[at + 24 : at + 24 + size] for at, size in zip(starts, sizes, strict=True)]
    return [module for module in found if module.startswith(SPIRV)]


def library_folder() -> Path | None:
    """Return the folder of the runtime's libraries, None if it is not installed."""
    folder = Path(os.environ.get("KTC_TEST_OPENCL", sys.prefix)) / "lib"
    return folder if (folder / _DRIVER).exists() and (folder / "libOpenCL.so.1").exists() else None


def environment(folder: Path) -> dict[str, str]:
    """Return the variables with which a program finds the runtime; `folder` is for a file that names its driver."""
    libraries = library_folder()
    assert libraries is not None
    vendors = folder / "vendors"
    vendors.mkdir(exist_ok=True)
    (vendors / "intel.icd").write_text(f"{libraries / _DRIVER}\n")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(libraries),
        "OCL_ICD_VENDORS": str(vendors),
        "KTC_DEVICE": "opencl",
        "NO_COLOR": "1",
    }
