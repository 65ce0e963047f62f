"""Where the pointers of a GPU's kernel come from: the launch, shared memory, or the thread's own."""

import re

from ktc.base.records import record
from ktc.emit.checks.body import Body, Instruction, incoming
from ktc.emit.checks.layout import constant_offset, size_of, split, type_end
from ktc.emit.checks.memory import Access, access_of

_STEP = re.compile(r"^getelementptr (?:inbounds |nuw |nusw |inrange\([^)]*\) )*")
_SPACE = re.compile(r" addrspace\(\d+\)")
_NAME = re.compile(r'%(?:"[^"]+"|[\w.$-]+)$')
_GLOBAL = re.compile(r'@(?:"[^"]+"|[\w.$-]+)')
_SHARED = re.compile(r'^(@(?:"[^"]+"|[\w.$-]+)) = (?:\w+ )*addrspace\(3\) global ', re.MULTILINE)
_PARAMETER = re.compile(r"(.*?)(%(?:\"[^\"]+\"|[\w.$-]+))$")
_CONSTANT = re.compile(r"getelementptr (?:\w+ |inrange\([^)]*\) )*\((.*)\)$")
_ARITHMETIC = re.compile(r"(add|sub|mul|shl|or disjoint) (?:nuw |nsw )*i64 ([^,]+), ([^,]+)$")
_DEEPEST = 12
_VALUE = re.compile(r"by(?:val|ref)\(")
_CASTS = ("addrspacecast", "bitcast", "freeze", "inttoptr", "ptrtoint")

ARGUMENT, CHOSEN, SHARED, OWN = "argument", "chosen", "shared", "own"


@record
class Origin:
    """The memory that a pointer means.

    Args:
        kind: `ARGUMENT`; `CHOSEN`, one of several of those; `SHARED` or `OWN`.
        root: the pointer that all is computed from.
        source: of an argument's pointer which one it is, see `header`. size: bytes of what has a known size, else 0.
    """

    kind: str
    root: str
    source: int = 0
    size: int = 0


def plain(text: str) -> str:
    """Return LLVM's text without address spaces."""
    return _SPACE.sub("", text)


def device_access(one: Instruction) -> Access | None:
    """Return the access that an instruction is, in any address space."""
    if one.code not in ("load", "store", "atomicrmw", "cmpxchg"):
        return None
    return access_of(Instruction(one.line, one.name, one.code, plain(one.text), one.dbg, one.block))


_AGAIN = Origin("", "")
"""Stands for a value that is being looked at: it depends on itself."""


class Origins:
    """The pointers of one kernel.

    Args:
        text: the module, whose variables in shared memory are known by it.
    """

    def __init__(self, body: Body, text: str) -> None:
        self._body = body
        self._shared = {name: _size_at(text, end) for name, end in _ends(_SHARED, text)}
        self._values: dict[str, int] = {}
        self._arguments: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._known: dict[str, Origin | None] = {}
        listed = body.header[body.header.index("(") + 1 : _closing(body.header)]
        for number, part in enumerate(split(listed), 1):
            match = _PARAMETER.match(part)
            if match is None:
                continue
            held = _VALUE.search(part)
            if held is not None:
                end = type_end(part, held.end())
                self._values[match.group(2)] = size_of(plain(part[held.end() : end]))
            elif part.startswith("ptr"):
                self._arguments[match.group(2)] = number
            self._numbers[match.group(2)] = number

    def of(self, pointer: str) -> Origin | None:
        """Return what memory a pointer means; None if that is not known."""
        if pointer not in self._known:
            found = self._find(pointer, set())
            self._known[pointer] = None if found == _AGAIN else found
        return self._known[pointer]

    def step(self, pointer: str) -> tuple[str, int]:
        """Return a pointer's last step that is not constant, and the constant bytes after it."""
        distance = 0
        while True:
            one = self._body.defined.get(pointer)
            if one is None or one.code != "getelementptr":
                return pointer, distance
            base, steps = self._parts(one)
            if steps is None:
                return pointer, distance
            pointer, distance = base, distance + steps

    def terms(self, pointer: str) -> tuple[tuple[object, ...], int]:
        """Return a pointer as a base and numbers with factors, and the constant bytes that are added to it."""
        found: dict[str, int] = {}
        distance = 0
        constant = _CONSTANT.match(pointer)
        if constant is not None:
            parts = split(constant.group(1))
            steps = constant_offset(parts[0], parts[2:])
            return (parts[1].removeprefix("ptr "),), steps or 0
        while True:
            one = self._body.defined.get(pointer)
            if one is None or one.code != "getelementptr":
                break
            text = _STEP.sub("", plain(one.text))
            end = type_end(text, 0)
            parts = split(text[end + 1 :])
            steps = constant_offset(text[:end], parts[1:])
            if steps is None and len(parts) != 2:
                break
            distance += self._add(parts[1], size_of(text[:end]), found, 0) if steps is None else steps
            pointer = parts[0].removeprefix("ptr ")
        listed = tuple(sorted([(name, factor) for name, factor in found.items() if factor]))
        return (pointer, *listed), _signed(distance)

    def _add(self, number: str, factor: int, found: dict[str, int], depth: int) -> int:
        """Add a whole number of 64 bits to a sum; returns what of it is constant."""
        name = number.rsplit(maxsplit=1)[-1]
        if name.lstrip("-").isdigit():
            return int(name) * factor
        one = self._body.defined.get(name)
        match = _ARITHMETIC.match(one.text) if one is not None and depth < _DEEPEST else None
        if match is not None:
            code, left, right = match.groups()
            if code in ("add", "sub", "or disjoint"):
                other = -factor if code == "sub" else factor
                return self._add(left, factor, found, depth + 1) + self._add(right, other, found, depth + 1)
            if right.isdigit():
                more = int(right) if code == "mul" else 1 << min(int(right), 63)
                return self._add(left, factor * more, found, depth + 1)
        found[name] = found.get(name, 0) + factor
        return 0

    def keeps_alignment(self, pointer: str, root: str, align: int) -> bool:
        """Return whether a pointer is as aligned as the one that it was computed from."""
        while pointer != root:
            one = self._body.defined.get(pointer)
            if one is None or one.code != "getelementptr":
                return False
            text = _STEP.sub("", plain(one.text))
            end = type_end(text, 0)
            parts = split(text[end + 1 :])
            distance = constant_offset(text[:end], parts[1:])
            if distance is None and (len(parts) > 2 or size_of(text[:end]) % align):
                return False
            if distance is not None and distance % align:
                return False
            pointer = parts[0].removeprefix("ptr ")
        return True

    def _find(self, pointer: str, seen: set[str]) -> Origin | None:
        if not _NAME.match(pointer):
            named = _GLOBAL.search(pointer)
            if named is None or named.group() not in self._shared:
                return None
            return Origin(SHARED, named.group(), size=self._shared[named.group()])
        if pointer in seen:
            return _AGAIN
        seen.add(pointer)
        if pointer in self._arguments:
            return Origin(ARGUMENT, pointer, self._arguments[pointer])
        if pointer in self._values:
            return Origin(OWN, pointer, size=self._values[pointer])
        one = self._body.defined.get(pointer)
        if one is None:
            return None
        if one.code == "getelementptr":
            return self._find(self._parts(one)[0], seen)
        if one.code in _CASTS:
            words = one.text[len(one.code) + 1 :].rpartition(" to ")[0] or one.text[len(one.code) + 1 :]
            return self._find(plain(words)[type_end(plain(words), 0) + 1 :], seen)
        if one.code == "alloca":
            return Origin(OWN, pointer, size=_alloca_size(one))
        if one.code == "load":
            return self._loaded(one)
        if one.code in ("phi", "select"):
            return self._chosen(one, seen)
        return None

    def _chosen(self, one: Instruction, seen: set[str]) -> Origin | None:
        """Return the origin of one of several values."""
        found = {self._find(value, seen) for value, _ in choices(one) if value != "poison"} - {_AGAIN}
        if len(found) <= 1:
            return found.pop() if found else _AGAIN
        are_passed = all(origin is not None and origin.kind in (ARGUMENT, CHOSEN) for origin in found)
        return Origin(CHOSEN, one.name) if found and are_passed else None

    def _loaded(self, one: Instruction) -> Origin | None:
        """Return the origin of a pointer that stands in a value which the launch passes."""
        access = device_access(one)
        if access is None or access.kind != "ptr":
            return None
        base, distance = self.step(access.pointer)
        while (held := self._body.defined.get(base)) is not None and held.code == "addrspacecast":
            base, more = self.step(plain(held.text).split()[2])
            distance += more
        if base not in self._values or not 0 <= distance < 1 << 16:
            return None
        return Origin(ARGUMENT, one.name, self._numbers[base] | distance << 8)

    def _parts(self, one: Instruction) -> tuple[str, int | None]:
        """Return the base of a `getelementptr` and how many bytes it goes, if that is constant."""
        text = _STEP.sub("", plain(one.text))
        end = type_end(text, 0)
        parts = split(text[end + 1 :])
        return parts[0].removeprefix("ptr "), constant_offset(text[:end], parts[1:])


def choices(one: Instruction) -> list[tuple[str, str]]:
    """Return the values of a `phi` or a `select`, those of a `phi` with their blocks."""
    if one.code == "phi":
        return incoming(one)
    return [(plain(part).split()[-1], "") for part in split(one.text[len("select ") :])[1:]]


def _signed(number: int) -> int:
    """Return a number of 64 bits with its sign."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _ends(pattern: re.Pattern[str], text: str) -> list[tuple[str, int]]:
    return [(match.group(1), match.end()) for match in pattern.finditer(text)]


def _size_at(text: str, start: int) -> int:
    return size_of(plain(text[start : type_end(text, start)]))


def _alloca_size(one: Instruction) -> int:
    parts = split(one.text[len("alloca ") :])
    return size_of(plain(parts[0])) if len(parts) < 2 or not re.match(r"i\d+ ", parts[1]) else 0


def _closing(header: str) -> int:
    """Return where the list of parameters ends."""
    depth = 0
    for at in range(header.index("("), len(header)):
        depth += (header[at] == "(") - (header[at] == ")")
        if depth == 0:
            return at
    return len(header)
