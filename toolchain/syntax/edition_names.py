"""Public names of edition 2026: which module and which name of this library each one means.

Input: a name as a text of that edition writes it, and the table `edition_2026.txt` of the library, whose head explains
its lines. Output: a module and a name of the library.
"""

import re
from dataclasses import field
from pathlib import Path

from ktc.base.records import entity
from ktc.syntax.edition_evidence import LIBRARY_MODULES

_ROOTS = ("std", "max")
_TABLE = "edition_2026.txt"
_HEAD = re.compile(r"\[([\w.]+)\](?: = ([\w.]+))?")
_NAME = re.compile(r"(\w+) =(?: ([\w.]+))?(?: (\w+))?")
_REMOVED = re.compile(r"- (\w+)(?:: (.*))?")
_IMPORTS = re.compile(r"('(?:from|import) )(\w+)(?=[. '])")


@entity
class EditionNames:
    """The table.

    Args:
        modules: module of the library by public module, where the rule does not say it.
        names: by public module and name: module and name in the library.
        removed: by public module and name of the library, which the public module lacks: a help text.
    """

    modules: dict[str, str] = field(default_factory=dict)
    names: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    removed: dict[str, dict[str, str]] = field(default_factory=dict)

    def module(self, public: str) -> str | None:
        """Return the module of the library (`std.` in front) that a public one means; None for one of the user's."""
        if public in self.modules:
            return f"std.{self.modules[public]}"
        root, _, rest = public.partition(".")
        if root not in _ROOTS:
            return None
        return f"std.{rest}" if rest else "std"

    def name(self, public: str, name: str) -> tuple[str, str] | None:
        """Return the module and the name in it that a name of a public module means, where the table says it."""
        found = self.names.get(public, {}).get(name)
        return (f"std.{found[0]}", found[1]) if found is not None else None

    def hidden(self, public: str, name: str) -> str | None:
        """Return the help text for a name that a public module lacks; None for a name that it may have."""
        return self.removed.get(public, {}).get(name)

    def help_for(self, name: str) -> str:
        """Return the help for a name of the library that edition 2026 has under another name only."""
        return next((helps[name] for helps in self.removed.values() if name in helps), "")

    def public(self, module: str) -> list[str]:
        """Return the public names of a module of the library (`std.` in front)."""
        plain = module.removeprefix("std.")
        return [one for one, meant in self.modules.items() if meant == plain] or [f"std.{plain}", f"max.{plain}"]


def read(library: Path) -> EditionNames:
    """Read the table of a library; an empty one if it has none."""
    made = EditionNames()
    try:
        text = (library / _TABLE).read_text("utf-8")
    except OSError:
        return made
    public = module = ""
    for line in text.splitlines():
        if found := _HEAD.fullmatch(line):
            public = found[1]
            module = found[2] or public.partition(".")[2]
            if found[2]:
                made.modules[public] = found[2]
        elif found := _REMOVED.fullmatch(line):
            made.removed.setdefault(public, {})[found[1]] = found[2] or ""
        elif found := _NAME.fullmatch(line):
            new, first, second = found[1], found[2] or found[1], found[3]
            own = made.names.setdefault(public, {})
            own[new] = (first, second) if second else (module, first)
            if not second and first != new:
                made.removed.setdefault(public, {}).setdefault(first, f"write '{new}'")
    return made


def prefixed(dotted: str) -> str:
    """Return the name in edition 2026 of a module that is written as in edition 2025; "" for another module."""
    head = dotted.partition(".")[0]
    if head not in LIBRARY_MODULES:
        return ""
    return f"max.{dotted}" if head in ("gpu", "buffer", "benchmark_gpu") else f"std.{dotted}"


def in_edition_2026(help: str) -> str:
    """Return a help text with its imports of the library as edition 2026 writes them."""

    def with_root(found: re.Match[str]) -> str:
        return found[1] + (prefixed(found[2]) or found[2])

    return _IMPORTS.sub(with_root, help)
