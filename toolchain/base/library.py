"""The standard library's folder, and the modules at its top."""

import os
from pathlib import Path

OWN_PACKAGES = frozenset({
    "archive", "archive_device", "prelude", "prelude_2026", "comm", "linalg", "nn", "ndarray",
    "compiler", "compiler_internal", "extensibility", "tensor",
})  # fmt: skip
"""Modules of this library that the language's own library does not have: a user's of the same name goes before them."""

_WITHOUT_PREFIX = frozenset({"layout", "tuning"})
"""Modules that edition 2026 imports by this name too."""


def stdlib_folder() -> Path:
    """Return the standard library's folder: beside ktc's sources in a checkout, inside them where ktc is installed."""
    here = Path(__file__).resolve().parents[1]
    inside = here / "stdlib"
    return inside if inside.is_dir() else here.parent / "stdlib"


def prefixed_modules() -> frozenset[str]:
    """Return the names of the modules that edition 2026 imports as `std.…` or `max.…` only."""
    names = (name.partition(".") for name in os.listdir(stdlib_folder()) if name[0] not in "._")
    return frozenset(head for head, _, end in names if end in ("", "kpy")) - OWN_PACKAGES - _WITHOUT_PREFIX
