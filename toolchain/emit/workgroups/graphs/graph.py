"""A kernel's function in LLVM's form, read as a graph of blocks.

Input: the text of a function and the types of its instructions. Output: a `Graph`: instructions as text with the names
that they set and use, phis and terminators taken apart, each wait for other threads at the end of a block of its own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from ktc.base.records import entity, record
from ktc.targets.cpu import EXCHANGE, WAIT_FOR_BLOCK, WAIT_FOR_WARP

NAME = re.compile(r"%[-a-zA-Z$._0-9]+")
_LABEL = re.compile(r"^([-a-zA-Z$._0-9]+):")
_TARGET = re.compile(r"label %([-a-zA-Z$._0-9]+)")
_INCOMING = re.compile(r"\[ (.+?), %([-a-zA-Z$._0-9]+) \]")
_CALLEE = re.compile(r"@([-a-zA-Z$._0-9]+)\(")
_LAST_NUMBER = re.compile(r"i32 (?:noundef )?(\d+)\)")
_PREFIXES = ("tail ", "musttail ", "notail ")

BLOCK_STOP, WARP_STOP = "block", "warp"
"""Who waits at a stop."""


@entity
class Instruction:
    """One line that is no phi and no terminator.

    Args:
        name: what it sets, with its `%`, or "". type: of what it gives.
        op: LLVM's word for it. text: the line. uses: names of values in it.
        callee: of a call, the function's name.
    """

    name: str
    type: str
    op: str
    text: str
    uses: tuple[str, ...]
    callee: str = ""


@entity
class Phi:
    """A phi: by block that control comes from, the value's text."""

    name: str
    type: str
    incoming: dict[str, str]


@record
class Stop:
    """Where a thread waits.

    Args:
        scope: `BLOCK_STOP` or `WARP_STOP`. exchange: the call that gives a word, if it is one.
        number: the call's last argument, which says where it is.
    """

    scope: str
    exchange: Instruction | None = None
    number: int = 0


@entity
class Terminator:
    """The end of a block.

    Args:
        text: the line, with the names of its targets. targets: in its order.
        condition: the text of the value that decides, or "".
        stop: a stop comes first; then there is one target.
    """

    text: str
    targets: list[str]
    condition: str = ""
    stop: Stop | None = None


@entity
class Block:
    """A block of the graph."""

    name: str
    end: Terminator
    phis: list[Phi] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)

    def setters(self) -> "list[Instruction | Phi]":
        """Return its phis and instructions, and the call of an exchange at its end."""
        exchange = self.end.stop.exchange if self.end.stop is not None else None
        return [*self.phis, *self.body, exchange] if exchange is not None else [*self.phis, *self.body]


@entity
class Graph:
    """A function.

    Args:
        parameters: names and types. blocks: by name, the entry first.
        head: the line that defines the function.
    """

    head: str
    parameters: dict[str, str]
    blocks: dict[str, Block]
    values: dict[str, tuple[str, Instruction | Phi]] = field(default_factory=dict)
    """By name: the block where it is set, and what sets it."""

    @property
    def entry(self) -> str:
        """The first block's name."""
        return next(iter(self.blocks))

    def successors(self, name: str) -> list[str]:
        """Return where control goes from a block, each block once."""
        return list(dict.fromkeys(self.blocks[name].end.targets))

    def predecessors(self) -> dict[str, list[str]]:
        """Return by block where control comes from."""
        found: dict[str, list[str]] = {name: [] for name in self.blocks}
        for name in self.blocks:
            for target in self.successors(name):
                found[target].append(name)
        return found

    def split_edge(self, origin: str, target: str) -> str:
        """Put an empty block on an edge; returns its name."""
        name = f"{origin}.to.{target}"
        if name in self.blocks:
            name += ".way"
        block = self.blocks[origin]
        block.end.targets = [name if one == target else one for one in block.end.targets]
        block.end.text = relabelled(block.end.text, {target: name})
        self.blocks[name] = Block(name, Terminator(f"br label %{target}", [target]))
        for phi in self.blocks[target].phis:
            phi.incoming[name] = phi.incoming.pop(origin)
        return name


def relabelled(text: str, names: Mapping[str, str]) -> str:
    """Return a terminator with other names for some of its targets."""
    return _TARGET.sub(lambda found: f"label %{names.get(found.group(1), found.group(1))}", text)


def names_in(text: str) -> tuple[str, ...]:
    """Return the values that a text names, each once."""
    return tuple(dict.fromkeys(NAME.findall(text)))


def exchanged_words(one: Instruction) -> tuple[str, str, str]:
    """Return the words of a call that reads an exchange: which one, which lane, and what otherwise."""
    parts = one.text[one.text.rindex("(") + 1 : one.text.rindex(")")].split(", ")
    number, lane, otherwise = (part.split()[-1] for part in parts)
    return number, lane, otherwise


def read(lines: list[str], types: list[str]) -> Graph:
    """Read a function.

    Args:
        lines: from `define` on, without the closing brace.
        types: of its instructions, in order.
    """
    head = lines[0]
    graph = Graph(head, _parameters(head), {})
    kinds = iter(types)
    current: Block | None = None
    for line in _joined(lines[1:]):
        label = _LABEL.match(line)
        if label is not None:
            current = Block(label.group(1), Terminator("unreachable", []))
            graph.blocks[current.name] = current
        elif line.startswith("  ") and current is not None:
            _add(current, line.strip(), next(kinds))
    _split_at_stops(graph)
    _split_edges(graph)
    for block in graph.blocks.values():
        for one in block.setters():
            if one.name:
                graph.values[one.name] = (block.name, one)
    return graph


def _split_edges(graph: Graph) -> None:
    """Give each way from a branch to a block with other ways to it a block of its own."""
    before = graph.predecessors()
    for name in list(graph.blocks):
        targets = graph.successors(name)
        for target in targets if len(targets) > 1 else ():
            if len(before[target]) > 1:
                graph.split_edge(name, target)


def _parameters(head: str) -> dict[str, str]:
    found = {}
    inner = head[head.index("(", head.index("@")) + 1 :]
    depth, start = 0, 0
    for at, char in enumerate(inner):
        if char in "([{<":
            depth += 1
        elif char in "]}>" or (char == ")" and depth):
            depth -= 1
        elif char in ",)" and not depth:
            words = inner[start:at].strip()
            if words:
                kind = words.split(" ", 1)[0] if words[0] not in "<[{" else _aggregate(words)
                found[words.rsplit(" ", 1)[1]] = kind
            start = at + 1
            if char == ")":
                break
    return found


def _aggregate(words: str) -> str:
    depth = 0
    for at, char in enumerate(words):
        depth += (char in "<[{") - (char in ">]}")
        if not depth:
            return words[: at + 1]
    return words


def _joined(lines: list[str]) -> Iterator[str]:
    """Give lines without comments and debug records; a switch is one line."""
    held = ""
    for line in lines:
        if line.lstrip().startswith(("#dbg_", ";")):
            continue
        line = line.split(" ; preds")[0] if "; preds" in line else line
        line = line.rstrip()
        if held:
            held += " " + line.strip()
            if line.strip().startswith("]"):
                yield held
                held = ""
        elif line.endswith("[") and line.lstrip().startswith("switch "):
            held = line
        elif line:
            yield line


def _add(block: Block, line: str, kind: str) -> None:
    name, _, text = line.partition(" = ") if line.startswith("%") else ("", "", line)
    op = text.split(" ", 1)[0]
    if op == "phi":
        block.phis.append(Phi(name, kind, {pred: value for value, pred in _INCOMING.findall(text)}))
    elif op in ("br", "switch", "ret", "unreachable"):
        targets = _TARGET.findall(text)
        condition = ""
        if op == "switch" or len(targets) > 1:
            condition = text.split(" ", 2)[2].split(",", 1)[0]
        block.end = Terminator(text, targets, condition)
    else:
        if text.startswith(_PREFIXES):
            text = text.split(" ", 1)[1]
            line, op = f"{name} = {text}" if name else text, "call"
        found = _CALLEE.search(text) if op == "call" else None
        uses = names_in(text.split(", !", 1)[0])
        block.body.append(Instruction(name, kind, op, line, uses, found.group(1) if found else ""))


_SCOPES = {WAIT_FOR_BLOCK: BLOCK_STOP, WAIT_FOR_WARP: WARP_STOP, EXCHANGE: WARP_STOP}


def _stop_of(one: Instruction) -> Stop | None:
    scope = _SCOPES.get(one.callee)
    if scope is None:
        return None
    number = _LAST_NUMBER.search(one.text)
    return Stop(scope, one if one.callee == EXCHANGE else None, int(number.group(1)) if number else 0)


def _split_at_stops(graph: Graph) -> None:
    blocks: dict[str, Block] = {}
    last: dict[str, str] = {}
    for block in graph.blocks.values():
        rest, end, number = block.body, block.end, 0
        blocks[block.name] = part = block
        part.body = []
        for one in rest:
            stop = _stop_of(one)
            if stop is None:
                part.body.append(one)
                continue
            number += 1
            name = f"{block.name}.after{number}"
            part.end = Terminator(f"br label %{name}", [name], stop=stop)
            blocks[name] = part = Block(name, end)
        part.end = end
        last[block.name] = part.name
    graph.blocks = blocks
    for block in blocks.values():
        for phi in block.phis:
            phi.incoming = {last[pred]: value for pred, value in phi.incoming.items()}
