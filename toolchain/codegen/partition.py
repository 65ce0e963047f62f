"""The host of a large program in several modules, which LLVM compiles side by side and the cache keeps one by one.

Input: the functions that the host reaches. Output: which of them each module defines. The time of LLVM grows with
the longest function after inlining, so this bounds the inlining, too: a function that one place calls joins its
caller only while both together are short enough. Where modules begin depends on the names of functions, not on their
lengths, so a change inside of one function changes the text of its own module alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

from ktc.base.records import record
from ktc.codegen.functions import FunctionText

WHOLE_LINES = 4_000
"""A host of at most so many lines is one module."""

_CLUSTER_LINES = 1_000
"""The greatest length of a function with those that join it."""

_GRAIN = 64
"""Lengths count in steps of so many lines, so that small changes move no bounds."""

_MODULE_LINES = 6_000
"""About so many lines are in a module."""

_MAX_CALLED = 24
"""A function that calls more others than this is in a module of its own."""

_COPIED_LINES = 16
"""Functions of at most so many lines that several places call are copied into each module that calls them."""


@record
class Part:
    """One module of the host.

    Args:
        roots: the functions that it defines for all modules, in the order in which they are met.
        joined: the functions that it defines and that one of its own places calls.
    """

    roots: tuple[str, ...]
    joined: frozenset[str]


def divide(functions: Mapping[str, FunctionText], named: Mapping[str, int], roots: Sequence[str]) -> list[Part]:
    """Divide functions that are met in this order; one part for a short host.

    Args:
        named: how often each is mentioned. roots: what something outside mentions.
    """
    lengths = {name: text.body.count("\n") + 1 for name, text in functions.items()}
    if sum(lengths.values()) <= WHOLE_LINES:
        return [Part(tuple(roots), frozenset())]
    graph = _Graph(functions, lengths)
    own = [name for name in functions if not is_inlined(functions[name]) and not is_declared(functions[name])]
    alone = {name for name in own if not is_copied(functions[name], named.get(name, 0))}
    joined = _join(functions, graph, own, {name for name in own if named.get(name) == 1} - {*roots}, alone)
    heads = [name for name in own if joined.get(name) is None]
    members: dict[str, list[str]] = {name: [] for name in heads}
    for name, host in joined.items():
        while (outer := joined.get(host)) is not None:
            host = outer
        members[host].append(name)
    clusters = {head: _Cluster(graph, functions, [head, *members[head]]) for head in heads}
    return [Part(chosen, frozenset(name for head in chosen for name in members[head])) for chosen in _chunks(clusters)]


def is_inlined(text: FunctionText) -> bool:
    """Return whether a function becomes a part of all that call it."""
    return text.function.inline == "always" and text.function.linkage == "internal"


def is_declared(text: FunctionText) -> bool:
    """Return whether another object defines a function."""
    return text.function.linkage == "external"


def is_copied(text: FunctionText, mentions: int) -> bool:
    """Return whether modules that do not define a function get a copy for LLVM to inline."""
    return mentions > 1 and not text.function.inline and text.body.count("\n") < _COPIED_LINES


class _Graph:
    """The call graph, in which calls of functions that are always inlined count as calls of their callees."""

    def __init__(self, functions: Mapping[str, FunctionText], lengths: Mapping[str, int]) -> None:
        self._functions, self._lengths = functions, lengths
        self._inlined: dict[str, int] = {}

    def length(self, name: str) -> int:
        """Return about how many lines a function has when what is always inlined is."""
        return self._lengths[name] + sum(
            [count * self._inlined_length(callee) for callee, count in self._calls(name).items()]
        )

    def _inlined_length(self, name: str) -> int:
        found = self._inlined.get(name)
        if found is None:
            self._inlined[name] = 0  # for one that calls itself
            found = self._inlined[name] = self.length(name)
        return found

    def _calls(self, name: str) -> dict[str, int]:
        uses = self._functions[name].uses.functions
        return {one: count for one, count in uses.items() if is_inlined(self._functions[one])}


def _join(
    functions: Mapping[str, FunctionText], graph: _Graph, own: Sequence[str], once: set[str], alone: set[str]
) -> dict[str, str]:
    """Return by function the one that it joins: its only caller, where both together are not too long.

    Args:
        once: functions that one place calls. alone: functions that one module has; others are joined by none.
    """
    called = {name: sorted(once.intersection(functions[name].uses.functions)) if name in alone else [] for name in own}
    total: dict[str, int] = {}
    joined: dict[str, str] = {}
    for name in _callees_first(own, called):
        length = -(-graph.length(name) // _GRAIN) * _GRAIN
        for callee in called[name]:
            more = total.get(callee, _CLUSTER_LINES)  # one that is not there yet calls this one
            if callee != name and length + more <= _CLUSTER_LINES:
                length += more
                joined[callee] = name
        total[name] = length
    return joined


def _callees_first(names: Sequence[str], called: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Give each function after those that it calls, but for circles."""
    seen: set[str] = set()
    for start in names:
        stack = [(start, False)]
        while stack:
            name, is_done = stack.pop()
            if is_done:
                yield name
            elif name not in seen:
                seen.add(name)
                stack.append((name, True))
                stack.extend([(callee, False) for callee in reversed(called[name])])


class _Cluster:
    """A function and those that join it."""

    def __init__(self, graph: _Graph, functions: Mapping[str, FunctionText], members: Sequence[str]) -> None:
        self.length = sum(map(graph.length, members))
        called = {callee for name in members for callee in functions[name].uses.functions}
        others = [one for one in called.difference(members) if not is_inlined(functions[one])]
        self.is_hub = len([one for one in others if not is_declared(functions[one])]) > _MAX_CALLED


def _chunks(clusters: Mapping[str, _Cluster]) -> Iterator[tuple[str, ...]]:
    """Give groups of functions of some length together, which end where the last one's name says so.

    A function that calls many others is alone: LLVM would inline all of them that are short.
    """
    mean = max(1, sum([one.length for one in clusters.values()]) // max(1, len(clusters)))
    turn = 1 << max(0, (_MODULE_LINES // mean).bit_length() - 1)
    group: list[str] = []
    total = 0
    for name, cluster in clusters.items():
        if cluster.is_hub:
            yield (name,)
            continue
        group.append(name)
        total += cluster.length
        if total >= 3 * _MODULE_LINES or (crc32(name.encode()) % turn == 0 and total >= _MODULE_LINES // 4):
            yield tuple(group)
            group, total = [], 0
    if group:
        yield tuple(group)
