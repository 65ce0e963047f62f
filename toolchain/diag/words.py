"""The words of edition 2026 in messages: those of the library and of types where they differ from the older ones.

Input: a text for users, and the source that it is about. Output: the text in that edition's words. A word that the
source itself has stays.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

_WORDS: Mapping[str, str] = MappingProxyType({
    "EqualityComparable": "Equatable", "ImmutAnyOrigin": "ImmUnsafeAnyOrigin", "ImmutOrigin": "ImmOrigin",
    "ImmutOrigin.external": "ImmUntrackedOrigin", "InlineArray": "Array", "MutOrigin.external": "MutUntrackedOrigin",
    "StaticConstantOrigin": "ImmStaticOrigin", "StringSlice": "StringSpan", "UnsafePointer": "Pointer",
    "__copyinit__": "__init__(*, copy)", "__del__": "__deinit__", "__moveinit__": "__init__(*, move)", "fn": "def",
})  # fmt: skip
"""Words of edition 2025, and those of 2026."""

_LONGEST_FIRST = sorted(_WORDS.keys() - {"fn"}, key=lambda word: (-len(word), word))
_OLD = re.compile(rf"\b(?:{'|'.join(map(re.escape, _LONGEST_FIRST))})\b|\bfn(?= ?[(\[])")


def in_2026(text: str, source: str) -> str:
    """Return a text in the words of edition 2026."""

    def new(found: re.Match[str]) -> str:
        is_written = re.search(rf"\b{re.escape(found[0])}\b", source) is not None
        return found[0] if is_written else _WORDS[found[0]]

    return _OLD.sub(new, text)
