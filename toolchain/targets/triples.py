"""The parts of a host's triple: `aarch64-unknown-linux-gnu` is architecture, vendor, system and environment."""

import os
import sys

from ktc.base.records import record

LINUX, MACOS, WINDOWS = "linux", "macos", "windows"

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {"darwin": MACOS, "macos": MACOS, "macosx": MACOS, "windows": WINDOWS, "mingw": WINDOWS, "linux": LINUX}


@record
class Triple:
    """The parts that decide how code is made and linked.

    Args:
        architecture: LLVM's name, such as `x86_64`.
        system: `linux`, `macos`, `windows`, or "" for one that ktc does not know.
        environment: the C library or ABI, such as `gnu` or `musl`; "" where the system has but one.
    """

    architecture: str
    system: str
    environment: str


def parsed(text: str) -> Triple:
    """Return the parts of a triple; versions of systems (`macosx14.0`) are left out."""
    architecture, *rest = text.lower().split("-")
    architecture = _ARCHITECTURES.get(architecture, architecture)
    system, environment = "", ""
    for index, part in enumerate(rest):
        name = part.rstrip("0123456789.")  # a version
        if name in _SYSTEMS:
            system = _SYSTEMS[name]
            environment = "gnu" if name == "mingw" else "-".join(rest[index + 1 :])
            break
    if system == LINUX and not environment:
        environment = "gnu"
    return Triple(architecture, system, "" if system == MACOS else environment)


def of_this_machine() -> Triple:
    """Return the parts for this process's machine; needs no LLVM."""
    if sys.platform == "darwin":
        return parsed(f"{os.uname().machine}-apple-darwin")
    if sys.platform == "win32":
        return Triple("x86_64", WINDOWS, "gnu")
    return Triple(parsed(os.uname().machine).architecture, LINUX, "gnu" if _has_glibc() else "musl")


def _has_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):
        return False
