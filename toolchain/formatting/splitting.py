"""One logical line to printed lines that fit.

A line that is too long is split at its last brackets (head, inside, tail); the inside of brackets at the delimiters
that bind least, one item a line; a definition at its first brackets. Each part is split again until it fits or nothing
is left to split.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ktc.formatting.leaves import DEFINITIONS, Leaf
from ktc.formatting.lines import INDENT, CannotSplit, Line, closer_of, opener_of
from ktc.formatting.spacing import COMMA, DOT

_BEFORE_TRAILERS = ("name", "close", "transfer")
_TIGHT = ("capturing", "ref", "unified")
"""Words whose brackets stay on their line."""
_Splitter = Callable[[Line], list[Line]]


def split(line: Line, columns: int) -> list[Line]:
    """Return a line as lines of at most `columns` columns, where that is possible."""
    return _Splitting(columns).transform(line)


@dataclass(slots=True)
class _Parts:
    """A line split at a pair of brackets, which end the head and start the tail."""

    head: Line
    body: Line
    tail: Line

    @property
    def opener(self) -> Leaf:
        return self.head.leaves[-1]

    @property
    def closer(self) -> Leaf:
        return self.tail.leaves[0]


class _Splitting:
    """Splits lines to one width.

    Args:
        shows: parentheses that could stay hidden are shown.
    """

    def __init__(self, columns: int, shows: bool = False) -> None:
        self.columns, self.shows = columns, shows

    def transform(self, line: Line) -> list[Line]:
        """Split a line if it does not fit, and its parts in turn."""
        if line.fits(self.columns):
            return [line]
        splitters: list[_Splitter]
        if line.is_definition and not line.is_inside:
            splitters = [self.at_first_brackets, self.at_last_brackets]
        elif line.is_inside:
            splitters = [self.at_delimiters, self.at_last_brackets]
        else:
            splitters = [self.at_last_brackets]
        for splitter in splitters:
            try:
                return self._run(line, splitter)
            except CannotSplit:
                continue
        return _with_comments_before(line)

    def _run(self, line: Line, splitter: _Splitter) -> list[Line]:
        done: list[Line] = []
        code = line.code()
        for part in splitter(line):
            if part.code() == code and len(part.leaves) == len(line.leaves):
                raise CannotSplit
            done.extend(self.transform(part))
        hidden = [leaf for leaf in line.leaves if leaf.kind == "open" and leaf.hidden]
        if (
            splitter == self.at_last_brackets and hidden and not self.shows
            and not line.has_multiline_string() and not done[0].is_short(self.columns)
        ):  # fmt: skip
            second = _Splitting(self.columns, shows=True)
            try:
                other = second._run(line, second.at_last_brackets)
            except CannotSplit:
                return done
            if all(one.is_short(self.columns) for one in other):
                return other
        return done

    # ---- at the first brackets: definitions ----

    def at_first_brackets(self, line: Line) -> list[Line]:
        """Split a definition at the brackets after its name."""
        for index, leaf in enumerate(line.leaves):
            if leaf.kind == "open":
                close = closer_of(line.leaves, index)
                if close == index + 1:
                    continue
                if close < 0 or leaf.hidden:
                    raise CannotSplit
                parts = _cut(line, index, close)
                # The arguments after parameters are split in the same way where they are too long.
                return self._parts(parts)
        raise CannotSplit

    @staticmethod
    def _parts(parts: _Parts) -> list[Line]:
        return [part for part in (parts.head, parts.body, parts.tail) if part.leaves]

    # ---- at the last brackets ----

    def at_last_brackets(self, line: Line) -> list[Line]:
        """Split at the last brackets, or at earlier ones if the head fits only then."""
        for omit in self._trailers(line):
            lines = self._at_brackets(line, omit)
            if lines[0].is_short(self.columns):
                return lines
        return self._at_brackets(line, frozenset(), is_last=True)

    def _trailers(self, line: Line) -> Iterator[frozenset[int]]:
        """Give the closing brackets that may stay on the last line, more and more of them."""
        omit: set[int] = set()
        if not line.has_magic_comma():
            yield frozenset()
        length = INDENT * line.depth
        opener: int | None = None
        closer: Leaf | None = None
        inner: set[int] = set()
        for index in range(len(line.leaves) - 1, -1, -1):
            leaf = line.leaves[index]
            length += line.width(leaf)
            if length > self.columns or leaf.comments or (leaf.hidden and leaf.kind == "open"):
                return
            if opener is not None:
                if index == opener:
                    opener = None
                elif leaf.kind == "close":
                    inner.add(id(leaf))
            elif leaf.kind == "close":
                before = line.leaves[index - 1] if index else None
                if before is not None and before.kind == "open":
                    inner.add(id(leaf))
                    continue
                if closer is not None:
                    omit.add(id(closer))
                    omit.update(inner)
                    inner.clear()
                    yield frozenset(omit)
                if before is not None and before.text == ",":
                    return
                if not leaf.hidden:
                    opener, closer = opener_of(line.leaves, index), leaf

    def _at_brackets(self, line: Line, omit: frozenset[int], is_last: bool = False) -> list[Line]:
        parts = self._last_brackets(line, omit)
        if not self.shows and parts.opener.hidden and parts.closer.hidden and self._may_stay_hidden(parts):
            try:
                lines = self._at_brackets(line, omit | {id(parts.closer)})
                if not (is_last and parts.body.is_short(self.columns) and not lines[0].is_short(self.columns)):
                    return lines
            except CannotSplit:
                if not (parts.body.can_be_split() or parts.body.is_short(self.columns)):
                    raise
        self._show(parts)
        return self._parts(parts)

    @staticmethod
    def _last_brackets(line: Line, omit: frozenset[int]) -> _Parts:
        """Cut a line at its last brackets that hold something and are not in `omit`."""
        for close in range(len(line.leaves) - 1, 0, -1):
            leaf = line.leaves[close]
            if leaf.kind != "close" or id(leaf) in omit:
                continue
            start = opener_of(line.leaves, close)
            if start < 0:
                break
            if start == close - 1 or (start and line.leaves[start - 1].text in _TIGHT):
                continue
            return _cut(line, start, close)
        raise CannotSplit

    @staticmethod
    def _show(parts: _Parts) -> None:
        """Make hidden parentheses visible, in copies: another way may still be better."""
        if parts.opener.hidden:
            parts.head.leaves[-1] = replace(parts.opener, hidden=False)
            parts.tail.leaves[0] = replace(parts.closer, hidden=False)

    def _may_stay_hidden(self, parts: _Parts) -> bool:
        """Return whether the value reads well when it is split at brackets of its own."""
        body = parts.body
        if any(leaf.kind == "comment" for leaf in body.outside()):
            return False
        priority, count = body.highest()
        if not count:
            return True
        if count > 1:
            return False
        if priority == DOT:
            return True
        first, last = body.leaves[0], body.leaves[-1]
        if first.kind == "open" and self._ends_short(body):
            return True
        if (last.text in (")", "}") and last.kind == "close") or (last.text == "]" and _is_display(body)):
            if body.leaves[-2].kind == "open":
                return False
            return self._starts_short(body)
        return False

    def _ends_short(self, body: Line) -> bool:
        """Return whether what follows the first brackets, up to the next, fits on a line."""
        close = closer_of(body.leaves, 0)
        tail = body.leaves[close:]
        until = next((index + 1 for index, leaf in enumerate(tail) if leaf.kind == "open"), len(tail))
        length = INDENT * body.depth + sum(body.width(leaf) for leaf in tail[:until])
        return length <= self.columns

    def _starts_short(self, body: Line) -> bool:
        """Return whether what stands before the last brackets fits on a line."""
        length = INDENT * body.depth
        has_others = False
        start = opener_of(body.leaves, len(body.leaves) - 1)
        for index, leaf in enumerate(body.leaves):
            length += body.width(leaf)
            if index == start:
                return has_others or length <= self.columns
            has_others = has_others or leaf.kind == "open"
        return False

    # ---- at delimiters ----

    def at_delimiters(self, line: Line) -> list[Line]:
        """Split the inside of brackets where it binds least, or at comments that stand alone."""
        priority, count = line.highest()
        alone = {id(leaf) for leaf in line.outside() if leaf.kind == "comment"}
        has_comments = bool(alone)
        ends_with_comma = line.leaves[-1].text == "," and line.leaves[-1].kind == "op"
        if not count and not has_comments and not (ends_with_comma and line.explodes):
            raise CannotSplit
        if priority == DOT and count == 1 and not has_comments:
            raise CannotSplit
        chosen = {id(leaf) for leaf in line.delimiters() if leaf.split == priority}
        lines: list[Line] = []
        current: list[Leaf] = []

        def flush() -> None:
            if current:
                lines.append(Line([*current], line.depth, True))
                current.clear()

        for leaf in line.leaves:
            if id(leaf) in alone:
                flush()
                lines.append(Line([leaf], line.depth, True))
                continue
            if id(leaf) in chosen and not leaf.is_after:
                flush()
            if leaf.text == "," and not current and lines:  # a comma after a comment joins what it follows
                _give_comma(lines, leaf)
                continue
            current.append(leaf)
            if id(leaf) in chosen and leaf.is_after:
                flush()
        flush()
        if priority == COMMA:
            _add_comma(lines)
        return lines


def _with_comments_before(line: Line) -> list[Line]:
    """Put comments that have no place inside a line before it."""
    inner = [leaf for leaf in line.leaves if leaf.kind == "comment"]
    if not inner or len(line.leaves) == 1:
        return [line]
    rest = [leaf for leaf in line.leaves if leaf.kind != "comment"]
    comments = [Line([leaf], line.depth, line.is_inside) for leaf in inner]
    return [*comments, Line(rest, line.depth, line.is_inside, is_definition=line.is_definition)] if rest else comments


def _give_comma(lines: list[Line], comma: Leaf) -> None:
    """Put a comma after the last line that is no comment."""
    for line in reversed(lines):
        if line.leaves[-1].kind != "comment":
            comments, line.leaves[-1].comments = line.leaves[-1].comments, []
            line.leaves.append(replace(comma, comments=[*comments, *comma.comments]))
            return


def _add_comma(lines: list[Line]) -> None:
    """Put a comma after the last item."""
    last = next((line for line in reversed(lines) if line.leaves[-1].kind != "comment"), None)
    if last is not None and last.leaves[-1].text != ",":
        before = last.leaves[-1]
        last.leaves[-1] = replace(before, comments=[])
        last.leaves.append(Leaf(",", "op", split=COMMA, is_after=True, comments=before.comments))


def _is_display(line: Line) -> bool:
    """Return whether the brackets at the end of a line are a list and not a subscript."""
    start = opener_of(line.leaves, len(line.leaves) - 1)
    return start == 0 or (start > 0 and line.leaves[start - 1].kind not in _BEFORE_TRAILERS)


def _is_after_arguments(head: Line) -> bool:
    """Return whether the bracket that ends the head of a definition belongs to its result or condition."""
    return any(leaf.text in ("->", "where") for leaf in head.outside())


def _cut(line: Line, start: int, close: int) -> _Parts:
    """Cut a line after an opening bracket and before its closing one."""
    inside = [*line.leaves[start + 1 : close]]
    body = Line(inside, line.depth + 1, True)
    head = Line([*line.leaves[: start + 1]], line.depth, line.is_inside, is_definition=line.is_definition)
    tail = Line([*line.leaves[close:]], line.depth, line.is_inside, is_definition=line.is_definition)
    opener = line.leaves[start]
    is_list = start == 0 or not (
        line.leaves[start - 1].kind in _BEFORE_TRAILERS or line.leaves[start - 1].text in DEFINITIONS
    )
    ends_with_comma = inside[-1].text == "," and inside[-1].kind == "op"
    commas = sum(leaf.split == COMMA for leaf in body.delimiters())
    is_arguments = line.is_definition and not line.is_inside and opener.text == "(" and not _is_after_arguments(head)
    if (is_arguments or line.is_import) and not commas and not ends_with_comma:
        _add_comma([body])
    body.explodes = commas > 0 and (ends_with_comma or is_list or line.is_import)
    return _Parts(head, body, tail)
