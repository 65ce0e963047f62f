"""A module: its entities in order, found by name, taken out, put in, and its text again."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ktc.emit.llvm_text.functions import Function, Signature, is_label, signature, symbol_of
from ktc.emit.llvm_text.metadata import Node, node
from ktc.emit.llvm_text.scanning import GLOBAL, LOCAL, globals_in, named, renamed, spelled, split, take_type, unreadable

# Words that not every build reads are compiled by the first that does.
_GLOBAL = rf"(?s:({GLOBAL}) = (.*?)\b(global|constant) (.*))"
_SPACE = r"(?:^| )addrspace\((\d+)\)"
_STRUCT = rf"({LOCAL}) = type (.*)"
_ATTRIBUTE = r'"[^"]*"(?:="[^"]*")?|\w+\([^)]*\)|\w+'
_NODE = re.compile(r"(!\d+) = (.*)")
_NAMED_NODE = r"!([a-zA-Z_.$\\][-\w.$\\]*) = !\{(.*)\}$"
_GROUP = r"attributes #(\d+) = \{(.*)\}"
_NUMBER = re.compile(r"^!(\d+) = ", re.MULTILINE)


class Global(NamedTuple):
    """A variable or a constant of a module.

    Fields: `name`, with its "@"; `words`, linkage and the like; `type`; `initial`, its value, "" for none; `rest`:
    section, alignment and attachments.
    """

    name: str
    words: str
    is_constant: bool
    type: str
    initial: str
    rest: tuple[str, ...]

    @property
    def symbol(self) -> str:
        """The name as linkers know it."""
        return spelled(self.name)

    @property
    def space(self) -> int:
        """The number of its address space."""
        found = re.search(_SPACE, self.words)
        return int(found[1]) if found else 0

    @property
    def align(self) -> int:
        """Its alignment in bytes, 0 for that of its type."""
        return next((int(part.split()[1]) for part in self.rest if part.startswith("align ")), 0)


def global_of(line: str) -> Global | None:
    """Read a line that defines or declares a variable; None for others."""
    found = re.match(_GLOBAL, line) if line[:1] == "@" else None
    if found is None:
        return None
    first, *rest = split(found[4])
    kind, initial = take_type(first)
    return Global(found[1], found[2].strip(), found[3] == "constant", kind, initial, tuple(rest))


def struct_of(line: str) -> tuple[str, str] | None:
    """Read a line that names a type: the name with its "%", and the type."""
    found = re.match(_STRUCT, line) if line[:1] == "%" else None
    return (found[1], found[2]) if found is not None else None


def attribute_words(text: str) -> list[str]:
    """Return the attributes of a group, each with its arguments or its value."""
    return re.findall(_ATTRIBUTE, text)


class Module:
    """A module: `entities` are its lines, but each function's are one."""

    def __init__(self, text: str) -> None:
        self.entities: list[str] = []
        lines, at = text.split("\n"), 0
        while at < len(lines):
            if lines[at].startswith("define "):
                end = lines.index("}", at)
                self.entities.append("\n".join(lines[at : end + 1]))
                at = end
            else:
                self.entities.append(lines[at])
            at += 1

    def text(self) -> str:
        """Return the module's text."""
        return "\n".join(self.entities)

    # ---- functions -------------------------------------------------------------------------------------------

    def definitions(self) -> Iterator[tuple[int, str]]:
        """Give the places of the functions with bodies, and their first lines."""
        for at, entity in enumerate(self.entities):
            if entity.startswith("define "):
                yield at, entity.partition("\n")[0]

    def functions(self) -> Iterator[Function]:
        """Give the functions with bodies."""
        for at, _ in self.definitions():
            yield self.at(at)

    def at(self, place: int) -> Function:
        """Return the function at a place of `entities`."""
        return Function(self.entities[place].split("\n"))

    def place_of(self, symbol: str) -> int:
        """Return the place of a function with a body.

        Raises:
            Bug: there is none.
        """
        for at, head in self.definitions():
            if symbol in head and symbol_of(head) == symbol:
                return at
        raise unreadable(f"no function {symbol}")

    def function(self, symbol: str) -> Function:
        """Return a function with a body."""
        return self.at(self.place_of(symbol))

    def begin(self, symbol: str, lines: Sequence[str]) -> None:
        """Put lines at the beginning of a function."""
        at = self.place_of(symbol)
        held = self.entities[at].split("\n")
        start = 2 if is_label(held[1]) else 1
        self.entities[at] = "\n".join([*held[:start], *lines, *held[start:]])

    def declarations(self) -> Iterator[Signature]:
        """Give the functions without bodies."""
        for entity in self.entities:
            if entity.startswith("declare "):
                yield signature(entity)

    def symbols(self, *words: str) -> set[str]:
        """Return the names of the functions whose first line begins with one of these: "declare ", "define "."""
        return {symbol_of(one.partition("\n")[0]) for one in self.entities if one.startswith(words)}

    def drop_declarations(self, is_dropped: Callable[[str], bool]) -> None:
        """Remove the declarations of functions whose symbols the predicate drops."""
        self.entities = [
            one for one in self.entities if not (one.startswith("declare ") and is_dropped(symbol_of(one)))
        ]

    def add(self, lines: Iterable[str]) -> None:
        """Put lines at the end."""
        while self.entities and not self.entities[-1]:
            self.entities.pop()
        self.entities += [*lines, ""]

    def rename(self, call: Callable[[str], str]) -> None:
        """Give globals other names: `call` gets what one is called."""
        names = {}
        for name in globals_in("\n".join(self.entities)):
            word = spelled(name)
            new = call(word)
            if new != word:
                names[name] = named(new, "@")
        some = re.compile("|".join(map(re.escape, names)))
        for at, entity in enumerate(self.entities) if names else ():
            if some.search(entity):
                lines = entity.split("\n")
                self.entities[at] = "\n".join([renamed(line, names) if "@" in line else line for line in lines])

    # ---- other entities --------------------------------------------------------------------------------------

    def globals(self) -> Iterator[Global]:
        """Give the variables and constants."""
        for entity in self.entities:
            found = global_of(entity)
            if found is not None:
                yield found

    def structs(self) -> dict[str, str]:
        """Return the types that have names."""
        return dict(found for one in self.entities if (found := struct_of(one)) is not None)

    def groups(self) -> dict[str, str]:
        """Return the attribute groups by number."""
        found = (re.match(_GROUP, one) for one in self.entities if one.startswith("attributes"))
        return {one[1]: one[2] for one in found if one is not None}

    def nodes(self) -> dict[str, Node]:
        """Return the numbered metadata."""
        return nodes_of(self.entities)

    def named_nodes(self) -> list[tuple[str, list[str]]]:
        """Return the metadata with names, and its members."""
        found = (re.match(_NAMED_NODE, one) for one in self.entities if one[:1] == "!")
        return [(one[1], split(one[2])) for one in found if one is not None]

    def target(self, key: str) -> str:
        """Return the "triple" or the "datalayout"."""
        head = f'target {key} = "'
        return next((one[len(head) : -1] for one in self.entities if one.startswith(head)), "")


def nodes_of(lines: Iterable[str]) -> dict[str, Node]:
    """Return the numbered metadata of lines."""
    found = {}
    for line in lines:
        one = _NODE.match(line) if line[:1] == "!" else None
        read = node(one[2]) if one is not None else None
        if one is not None and read is not None:
            found[one[1]] = read
    return found


def attached_node(text: str, kind: str) -> int | None:
    """Return the number of the first node that is attached as a kind in a module."""
    found = re.search(rf", !{re.escape(kind)} !(\d+)", text)
    return int(found[1]) if found else None


def free_node(text: str) -> int:
    """Return the first number from which on no metadata of a module has one."""
    return 1 + max((int(number) for number in _NUMBER.findall(text)), default=0)
