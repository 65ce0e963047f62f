"""The part of a file with syntax errors that can still be checked: its tree without the wrong parts and their users.

Input: a text that does not parse. Output: a module in which

- a wrong statement of a function is left out, and so is each that names what it may declare or assign; behind a
  wrong head of a block, the rest of the function is not checked,
- a declaration with a wrong head is left out, and so is each declaration whose head names it,
- so is each statement that names something that was left out.

So an error in this tree is an error in the program too.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from ktc.base.editions import OF_LIBRARY
from ktc.base.records import record, replace
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.syntax.parsing.lalr import Parser
from ktc.syntax.parsing.tables import Store, load_tables

_NAME = re.compile(r"[^\W\d]\w*")
_DECLARES = re.compile(
    r"\b(?:struct|trait|fn|def|alias|comptime|var|let|const|class|enum|__extension)\s+([^\W\d]\w*)(?:\s*[=:(\[]|\s*$)?"
)
_LINE_OF_FILE = re.compile(r"\n(?=[^\s#)\]}])")
"""The break before a line that is not indented."""
_KEPT = (
    ast.FunctionDecl, ast.StructDecl, ast.Extension, ast.TraitDecl, ast.Alias, ast.StaticAssert, ast.Import,
    ast.FromImport,
)  # fmt: skip
_END = Source("", "fn f():\n    __mlir_op.`kgen.unreachable`()\n", edition=OF_LIBRARY)
"""The last statement of a truncated function: control flow ends there."""

_Members = ast.StructDecl | ast.Extension | ast.TraitDecl


@record
class PartialTree:
    """The part of a module that could be parsed.

    Args:
        is_open: an import is wrong, so the set of names is unknown.
    """

    module: ast.Module
    is_open: bool


def partial_tree(source: Source, cache: Store | None) -> PartialTree | None:
    """Return the part of a text with syntax errors that can be checked; None if there is none."""
    tables = load_tables(cache)
    parser = Parser(tables, source, Sink())
    parser.module()
    places = sorted(start for _, start in parser.reported)
    pieces, gaps = list(parser.pieces), list[tuple[int, int]]()
    for start, place, following in parser.cuts:
        piece, stop = _before(parser, start, place)
        pieces += [piece] if piece is not None else []
        gaps.append((stop, following if following >= 0 else len(source.text)))
    body = sorted((node for piece in pieces for node in piece.body), key=_begin)
    if not body:
        return None
    rest = _Rest(source.text, places, gaps, lambda: _end_of(Parser(tables, _END, Sink()).module()))
    kept = rest.of(body)
    return PartialTree(ast.Module(0, len(source.text), kept, "", source), rest.is_open) if kept else None


def _end_of(module: ast.Module | None) -> ast.Stmt:
    assert module is not None and isinstance(module.body[0], ast.FunctionDecl)
    return (module.body[0].body or ())[-1]


def _before(parser: Parser, start: int, place: int) -> tuple[ast.Module | None, int]:
    """Return the part of a text before the statement with an error after which the parser gave up, and its end."""
    stops = [parser.text.rfind("\n", 0, place) + 1]
    lines = [found.end() for found in _LINE_OF_FILE.finditer(parser.text, start, place)]
    for stop in [*stops, *reversed(lines[-1:])]:
        if stop > start and (piece := parser.part(start, stop)) is not None:
            return piece, stop
    return None, start


def _begin(node: ast.Node) -> int:
    """Return where a declaration begins, with its decorators."""
    decorators = getattr(node, "decorators", ())
    first: int = min((node.start, *(one.start for one in decorators)))
    return first


def _declared(line: str) -> list[str]:
    """Return the names that a line may declare or assign."""
    before, imports, after = line.partition("import")
    if imports and before.strip().partition(" ")[0] in ("", "from"):
        return _NAME.findall(after)
    declared = [match[1] for match in _DECLARES.finditer(line)]
    target = line.partition("=")[0].partition(":")[0]
    return declared or (_NAME.findall(target) if target != line else [])


class _Rest:
    """The parsed statements of a body, and the names that the others would have declared."""

    def __init__(
        self, text: str, places: Sequence[int], gaps: Sequence[tuple[int, int]], end: Callable[[], ast.Stmt]
    ) -> None:
        self.text, self.places, self.gaps, self.end = text, places, gaps, end
        self.lost: set[str] = set()  # names of the file
        self.lost_members: set[str] = set()  # names behind a dot
        self.is_open = False

    def of(self, body: list[ast.Stmt]) -> tuple[ast.Stmt, ...]:
        """Return the declarations of a file that can be checked."""
        starts = [_begin(node) for node in body]
        for start, stop in self.gaps:
            for line in re.finditer("^.", self.text[start:stop], re.MULTILINE):
                self._lose_line(start + line.start())
        for place in self.places:
            if place < starts[0] or not self.text[self.text.rfind("\n", 0, place) + 1].isspace():
                self._lose_around(place)
        left: list[ast.Stmt] = []
        for node, begin, stop in zip(body, starts, [*starts[1:], len(self.text) + 1], strict=True):
            inside = list[int]()
            for place in (one for one in self.places if begin <= one < stop):
                if _LINE_OF_FILE.search(self.text, node.end, place + 1):  # of something that is not in the tree
                    self._lose_around(place)
                else:
                    inside.append(place)
            if not isinstance(node, _KEPT):
                self._lose_line(node.start)
            elif (found := self._declaration(node, inside)) is not None:
                left.append(found)
        while True:
            known = len(self.lost) + len(self.lost_members)
            left = [found for node in left if (found := self._without_lost(node)) is not None]
            if len(self.lost) + len(self.lost_members) == known:
                break
        return tuple(self._with_known_names(node) for node in left)

    def _lose_around(self, place: int) -> None:
        """Note the names that the line of a place, or the declaration around it, may have declared."""
        self._lose_line(max((found.end() for found in _LINE_OF_FILE.finditer(self.text, 0, place + 1)), default=0))
        self._lose_line(place)

    def _lose_line(self, place: int, is_member: bool = False) -> None:
        """Note the names that the line of a place may have declared."""
        start, end = self.text.rfind("\n", 0, place) + 1, self.text.find("\n", place)
        line = self.text[start : end if end >= 0 else len(self.text)].partition("#")[0]
        before, imports, after = line.partition("import")
        if imports and before.strip().partition(" ")[0] in ("", "from"):
            names = _NAME.findall(after)
            self.lost.update(names)
            self.is_open = self.is_open or not names or "*" in after
            return
        declared = _declared(line)
        self.lost_members.update(declared)
        if not is_member:
            self.lost.update(declared)

    def _declaration(self, node: ast.Stmt, places: list[int]) -> ast.Stmt | None:
        """Return a declaration without what is wrong at places; None if its head is."""
        if not places:
            return node
        if isinstance(node, ast.FunctionDecl):
            cut = self._cut(node, places)
            if cut is None:
                self.lost.add(node.name)
                self._lose_line(node.start)
            return cut
        is_cut = isinstance(node, _Members) and any(node.start <= start <= places[-1] for start, _ in self.gaps)
        if isinstance(node, _Members) and not is_cut and node.body and places[0] >= _begin(node.body[0]):
            return self._members(node, places)
        for place in (node.start, *places):
            self._lose_around(place)
        self.lost.add(getattr(node, "name", ""))
        return None

    def _members(self, node: _Members, places: list[int]) -> ast.Stmt | None:
        """Return a struct or trait without the members that are wrong."""
        starts, left = [_begin(member) for member in node.body], list[ast.Stmt]()
        for member, start, stop in zip(node.body, starts, [*starts[1:], len(self.text) + 1], strict=True):
            inside = [place for place in places if start <= place < stop]
            cut = member if not inside else None
            if inside and isinstance(member, ast.FunctionDecl):
                cut = self._cut(member, inside)
            if cut is not None:
                left.append(cut)
                continue
            for place in (member.start, *inside):
                self._lose_line(place, True)
            self._lose_member(node, member)
        return replace(node, body=tuple(left))

    def _lose_member(self, node: _Members, member: ast.Stmt) -> None:
        name = getattr(member, "name", "")
        self.lost_members.add(name)
        if not isinstance(member, ast.FunctionDecl) or name.startswith("__") or node.traits or name in ("fn", "def"):
            self.lost.add(node.name)  # calls of its constructors, its operators and its traits do not name the member

    def _cut(self, node: ast.FunctionDecl, places: list[int]) -> ast.FunctionDecl | None:
        """Return a function without the statements at places; None if the first place is in its head."""
        if not node.body or places[0] < _begin(node.body[0]):
            return None
        lost, stop = set[str](), self._stop(node.body, places)
        left = self._without(node.body, [place for place in places if place < stop], lost, stop)
        body = (*left, self._end_at(node.end))
        return ast.FunctionDecl(node.start, node.end, node.name, node.name_start, node.decorators, node.head, body)

    def _stop(self, body: tuple[ast.Stmt, ...], places: list[int]) -> int:
        """Return the first place behind which the blocks may be others than in the tree, or the end of the text."""
        pending, indents = list(body), set[int]()
        while pending:
            node = pending.pop()
            indents.add(self._indent(_begin(node)))
            pending += [one for _, block in self._blocks(node) for one in block]
        for place in places:
            start, end = self.text.rfind("\n", 0, place) + 1, self.text.find("\n", place)
            line = self.text[start : end if end >= 0 else len(self.text)].partition("#")[0].rstrip()
            if line.endswith(":") or self._indent(place) not in indents:
                return start
        return len(self.text) + 1

    def _indent(self, place: int) -> int:
        start = self.text.rfind("\n", 0, place) + 1
        return len(self.text[start:]) - len(self.text[start:].lstrip(" \t"))

    def _without(
        self, body: tuple[ast.Stmt, ...], places: list[int], lost: set[str], stop: int
    ) -> tuple[ast.Stmt, ...]:
        """Return the statements before `stop` without those at places, and without those that name what is lost."""
        starts, left = [_begin(node) for node in body], list[ast.Stmt]()
        for node, begin, following in zip(body, starts, [*starts[1:], stop], strict=True):
            if begin >= stop:
                break
            indent = self._indent(begin)  # what is indented more belongs to the statement before it
            inside = [one for one in places if begin <= one < following]
            inside = [one for one in inside if one <= node.end or self._indent(one) > indent]
            end, block = min(node.end, stop), next(iter(self._blocks(node)), None)
            kept: ast.Stmt | None = node
            if inside or node.end > stop or (block is not None and lost):
                kept = self._opened(node, inside, lost, stop)
            head = min(end, _begin(block[1][0])) if block is not None else end
            if kept is None or any(name in lost for name in _NAME.findall(self.text, begin, head)):
                self._lose_lines(begin, end, lost)
                kept = None
            left += [kept] if kept is not None else []
            for place in places:
                if node.end < place < following:  # of a statement that is not in the tree
                    self._lose_lines(place, place, lost)
        return tuple(left)

    def _opened(self, node: ast.Stmt, places: list[int], lost: set[str], stop: int) -> ast.Stmt | None:
        """Return a statement with blocks without what is wrong in these; None if it is wrong itself."""
        if isinstance(node, ast.FunctionDecl):
            names = any(name in lost for name in _NAME.findall(self.text, _begin(node), node.end))
            return None if names or node.end > stop else self._cut(node, places) if places else node
        blocks = self._blocks(node)
        if not blocks or any(place < _begin(blocks[0][1][0]) for place in places):
            return None
        changes: dict[str, object] = {}
        for name, block in blocks:
            kept = self._without(block, places, lost, stop) or (self._end_at(_begin(block[0])),)
            own = getattr(node, name)
            changes[name] = replace(own, body=kept) if isinstance(own, ast.Handler) else kept
        return replace(node, **changes)

    def _lose_lines(self, start: int, end: int, lost: set[str]) -> None:
        """Note the names that lines of a function may have declared."""
        start, after = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", end)
        for line in self.text[start : after if after >= 0 else len(self.text)].split("\n"):
            lost.update(_declared(line.partition("#")[0]))

    def _end_at(self, place: int) -> ast.Stmt:
        return replace(self.end(), start=place, end=place)

    @staticmethod
    def _blocks(node: ast.Stmt) -> list[tuple[str, tuple[ast.Stmt, ...]]]:
        """Return the blocks of a statement with their names."""
        blocks = [(name, getattr(node, name, None)) for name in ("body", "handler", "orelse", "final")]
        return [(name, one.body if isinstance(one, ast.Handler) else one) for name, one in blocks if one]

    def _names_lost(self, start: int, end: int) -> Iterator[int]:
        """Give the places at which a part of the text names something that was left out."""
        for found in _NAME.finditer(self.text, start, end):
            is_member = self.text[found.start() - 1 : found.start()] == "."
            if found[0] in (self.lost_members if is_member else self.lost):
                yield found.start()

    def _is_whole(self, node: ast.Stmt) -> bool:
        """Tell whether a declaration, of a function its head, names nothing that was left out."""
        end: int = node.end
        if isinstance(node, ast.FunctionDecl) and node.body:
            end = _begin(node.body[0])
        start = _begin(node)
        if isinstance(node, (ast.Alias, ast.StaticAssert)):  # perhaps one of several of a line
            start, end = self.text.rfind("\n", 0, start) + 1, max(end, self.text.find("\n", start))
        return next(self._names_lost(start, end), -1) < 0

    def _without_lost(self, node: ast.Stmt) -> ast.Stmt | None:
        """Return a declaration without the members that name something that was left out; None if its head does."""
        if isinstance(node, (ast.Import, ast.FromImport)):
            return node
        if isinstance(node, _Members) and node.body:
            head = next(self._names_lost(_begin(node), _begin(node.body[0])), -1)
            if head < 0:
                left = [member for member in node.body if self._is_whole(member)]
                for member in node.body:
                    if not any(member is one for one in left):
                        self._lose_member(node, member)
                return node if len(left) == len(node.body) else replace(node, body=tuple(left))
        elif self._is_whole(node):
            return node
        self.lost.add(getattr(node, "name", ""))
        return None

    def _with_known_names(self, node: ast.Stmt) -> ast.Stmt:
        """Return a declaration whose functions end where they name something that was left out."""
        if isinstance(node, ast.FunctionDecl) and node.body:
            places = list(self._names_lost(_begin(node.body[0]), node.end))
            return self._cut(node, places) or node if places else node
        if isinstance(node, _Members):
            return replace(node, body=tuple(map(self._with_known_names, node.body)))
        return node
