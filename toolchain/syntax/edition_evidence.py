"""The edition that a text itself tells, by its imports and declarations.

Input: a text. Output: the edition, and the form and line that tell it; None if nothing does. Strings and comments are
skipped. The first form that only one edition has decides; without one the first import does, since both editions take
`std.` and files of the user may have the names of library modules.
"""

import re
from collections.abc import Callable

from ktc.base.editions import ChosenEdition, Edition
from ktc.base.library import prefixed_modules

LIBRARY_MODULES = prefixed_modules()
"""Modules of the library that edition 2026 imports as `std.…` or `max.…` only."""

_FORMS = re.compile(
    r'''
      """(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^'\\]|\\.|'(?!''))*\'\'\'
    | (?P<template>\bt)?"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | \#[^\n]*
    | (?P<new>
          (?<=\))\s*raises\b(?=[^\n]*:[ \t]*(?:\#[^\n]*)?$)
        | ^(?:from|import)[ \t]+max\.
        | \b__deinit__\b | \blambda\b | ^[ \t]+assert[ \t]+\w | ^[ \t]+match[ \t]+[^\n=]+:[ \t]*$
        | \)[ \t]*(?:raises[ \t]*)?\{(?:mut|imm|var|ref|\}) | \)[ \t]*thin\b
        | \b(?:TrivialRegisterPassable|Deinitable)\b
        | \.unsafe_(?:offset|load|store|write|free|take_pointee)[(\[] | \[unsafe_offset= | \[byte=
        | \bimm[ \t]+\w+[ \t]*:
      )
    | (?P<old>
          (?:^[ \t]*(?:async[ \t]+)?|[=:,(\[>][ \t]*)\bfn\b[ \t]*[\w(\[`]
        | ^[ \t]*alias[ \t]+\w+ | ^[ \t]*@parameter\b | ^[ \t]*@(?:register_passable|nonmaterializable)\b
        | \b(?:owned|read|inout|borrowed)[ \t]+\w+[ \t]*[:,)] | \b__(?:copyinit|moveinit)__\b
      )
    | ^(?:from|import)[ \t]+(?P<module>\w+)
    ''',
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_DEF_BEFORE = re.compile(r"\b(def|fn)\b")


def told_edition(text: str, is_users: Callable[[str], bool]) -> ChosenEdition | None:
    """Return the edition that a text tells.

    Args:
        is_users: whether the user has a module of some name.
    """
    weak: ChosenEdition | None = None
    for found in _FORMS.finditer(text):
        kind = found.lastgroup
        if kind is None:
            continue
        if kind == "module":
            weak = weak or _by_import(text, found, is_users)
        elif kind != "new" or not found["new"].lstrip().startswith("raises") or _is_of_def(text, found.start()):
            edition = Edition.Y2025 if kind == "old" else Edition.Y2026
            return ChosenEdition(edition, _reason(text, found))
    return weak


def _by_import(text: str, found: re.Match[str], is_users: Callable[[str], bool]) -> ChosenEdition | None:
    name = found["module"]
    if name == "std":
        return ChosenEdition(Edition.Y2026, _reason(text, found))
    if name in LIBRARY_MODULES and not is_users(name):
        return ChosenEdition(Edition.Y2025, _reason(text, found))
    return None


def _is_of_def(text: str, at: int) -> bool:
    """Return whether the signature that ends before `raises` is that of a `def`."""
    words = _DEF_BEFORE.findall(text, max(0, at - 2000), at)
    return bool(words) and words[-1] == "def"


def _new(found: re.Match[str]) -> str:
    text = " ".join((found["new"] or "").split())
    return f"def … {text}" if text == "raises" else text


def _reason(text: str, found: re.Match[str]) -> str:
    kind = found.lastgroup or ""
    start = found.start() + len(found[0]) - len(found[0].lstrip())
    line = text.count("\n", 0, start) + 1
    shown = {"template": 't"', "module": found[0], "new": _new(found)}.get(kind, " ".join(found[0].split()))
    return f"'{shown}' in line {line}"
