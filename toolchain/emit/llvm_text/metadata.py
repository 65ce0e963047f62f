"""Numbered metadata: specialised nodes with fields, and tuples."""

import re
from typing import NamedTuple

from ktc.emit.llvm_text.scanning import closing, split

_FIELD = r'(\w+): (?:"((?:[^"\\]|\\.)*)"|([^,]+))'
_KIND = r"(distinct )?!(\w*)[({]"


class Node(NamedTuple):
    """A node: `!DILocation(line: 3, scope: !4)` or `!{i32 1, !5}`.

    Fields: `kind`, "DILocation", "" for a tuple; `body`, what stands in its brackets.
    """

    kind: str
    body: str
    is_distinct: bool = False

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a specialised node, strings without their quotation marks."""
        return {name: text or word for name, text, word in re.findall(_FIELD, self.body)}

    @property
    def members(self) -> list[str]:
        """The members of a tuple."""
        return split(self.body)


def node(text: str) -> Node | None:
    """Read the text after `!5 = `; None if it is no node."""
    found = re.match(_KIND, text)
    if found is None:
        return None
    end = len(text) - 1 if text[-1] in ")}" else closing(text, found.end() - 1)
    return Node(found[2], text[found.end() : end], bool(found[1]))
