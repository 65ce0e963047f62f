"""Where an instruction comes from: the line of the program, not that of the library that was inlined there."""

from collections.abc import Callable, Mapping

from ktc.base.records import record
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.metadata import Node
from ktc.targets.checked import SUBSCRIPTS

_LIBRARY = "stdlib"


@record
class Place:
    """A place in the program.

    Args:
        title: of the function. inner: if the place is a subscript, where its method (`__getitem__`) does it.
        outer: the calls around it that were inlined, innermost first.
    """

    path: str
    line: int
    column: int
    title: str = ""
    inner: tuple["Place", ...] = ()
    outer: tuple["Place", ...] = ()


PlaceOf = Callable[[Instruction], Place | None]
"""Gives the place of an instruction; None if it is not checked."""


class SourceLocations:
    """The places of a module's instructions, by number of the metadata node."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._read: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._known: dict[str, Place | None] = {}
        self._unchecked: dict[str, bool] = {}

    def _node(self, node: str) -> tuple[str, Mapping[str, str]]:
        """Return the kind of a node and its fields; nothing where there is none."""
        read = self._read.get(node)
        if read is None:
            found = self._nodes.get(node)
            read = self._read[node] = (found.kind, found.fields) if found is not None else ("", {})
        return read

    def of(self, node: str) -> Place | None:
        """Return the innermost place in the program itself; None if there is none."""
        if node not in self._known:
            self._known[node] = self._find(node)
        return self._known[node]

    def is_unchecked(self, node: str) -> bool:
        """Return whether an instruction is of a function whose accesses are not looked at (`Function.unchecked`)."""
        if node not in self._unchecked:
            kind, fields = self._node(node)
            found = False
            if kind == "DILocation":
                _, function = self._node(self._subprogram(fields.get("scope", "")))
                found = "annotations" in function or self.is_unchecked(fields.get("inlinedAt", ""))
            self._unchecked[node] = found
        return self._unchecked[node]

    def is_whole(self, node: str) -> bool:
        """Return whether a place is only that of the function that it is in."""
        _, fields = self._node(node)
        kind, scope = self._node(fields.get("scope", ""))
        return kind == "DISubprogram" and fields.get("line") == scope.get("line")

    def of_function(self, node: str) -> Place | None:
        """Return where a function is declared, if the program does."""
        kind, fields = self._node(node)
        path = self._file(fields.get("file", ""))
        if kind != "DISubprogram" or is_library(path):
            return None
        return Place(path, int(fields.get("line", "0")), 1, fields.get("name", ""))

    def _find(self, node: str) -> Place | None:
        chain: list[Place] = []
        while node:
            kind, fields = self._node(node)
            if kind != "DILocation":
                break
            path, title = self._scope(fields.get("scope", ""))
            if not is_library(path):
                chain.append(Place(path, int(fields.get("line", "0")), int(fields.get("column", "1")), title))
            node = fields.get("inlinedAt", "")
        if not chain or not chain[0].line:
            return None
        at = 0
        while at + 1 < len(chain) and chain[at].title.rpartition(".")[2] in SUBSCRIPTS and chain[at + 1].line:
            at += 1
        own = chain[at]
        return Place(own.path, own.line, own.column, own.title, tuple(chain[:at][-1:]), tuple(chain[at + 1 :]))

    def _scope(self, node: str) -> tuple[str, str]:
        """Return the file of a scope and the name of its function."""
        path = ""
        while node:
            kind, fields = self._node(node)
            if not path and "file" in fields:
                path = self._file(fields["file"])
            if kind == "DISubprogram":
                if "DIFlagArtificial" in fields.get("flags", ""):
                    return "", ""  # code of ours around a function
                return path, fields.get("name", "")
            node = fields.get("scope", "") if kind.startswith("DILexical") else ""
        return path, ""

    def _subprogram(self, node: str) -> str:
        """Return the function that a scope is in."""
        kind, fields = self._node(node)
        while kind.startswith("DILexical"):
            node = fields.get("scope", "")
            kind, fields = self._node(node)
        return node

    def _file(self, node: str) -> str:
        _, fields = self._node(node)
        folder, name = fields.get("directory", ""), fields.get("filename", "")
        return f"{folder}/{name}" if folder else name


def is_library(path: str) -> bool:
    """Return whether a file is one of the standard library."""
    return not path or path.startswith(f"{_LIBRARY}/")
