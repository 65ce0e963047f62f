"""LLVM text of today to the LLVM text of AIR: typed pointers, and only what LLVM 14 knows.

Input: an optimised module as LLVM 22 prints it, for example `%x = load float, ptr addrspace(1) %p, align 4`. Output:
the same with every pointer an `i8*` of its address space, which is cast where memory is touched:

    %x.p = bitcast i8 addrspace(1)* %p to float addrspace(1)*
    %x = load float, float addrspace(1)* %x.p, align 4

Apple's compilers read LLVM 14's form and nothing newer. Attributes and flags that came later only promise something to
the optimiser, which has run by now, so they are left out.
"""

import re
from dataclasses import field

from ktc.base.records import entity
from ktc.diag.diagnostic import Bug
from ktc.emit.air import atomics
from ktc.emit.air.syntax import LOCAL, NAME, inside, last_type, split, take_type, unsupported

_STRING = re.compile(r'(c?"[^"]*")')
_POINTER = r"i8(?: addrspace\(\d+\))?\*"

_KNOWN_ATTRIBUTES = frozenset(
    {
        "alwaysinline", "argmemonly", "cold", "convergent", "hot", "inaccessiblememonly", "minsize", "mustprogress",
        "naked", "nofree", "noinline", "norecurse", "noreturn", "nosync", "nounwind", "optnone", "optsize", "readnone",
        "readonly", "speculatable", "uwtable", "willreturn", "writeonly",
    }
)  # fmt: skip
"""Function attributes that LLVM 14 reads. Source: LLVM 14, `Attributes.td`."""

_AMD_ATTRIBUTES = ('"amdgpu-', '"uniform-work-group-size"')
"""What AMD's passes, which optimise AIR, add to functions."""

_DROPPED_CALLS = re.compile(r"call void @llvm\.(lifetime\.|assume|experimental\.noalias|donothing|dbg\.)")
_DROPPED_LINES = re.compile(
    r"^;|^\s*#dbg_|^declare void @llvm\.(lifetime\.|assume|experimental\.noalias|donothing|dbg\.)"
)
_NEW_ARGUMENT_ATTRIBUTES = ("captures", "range", "initializes", "nofpclass", "dead_on_return")


def typed_text(text: str) -> str:
    """Return the module with typed pointers."""
    return _Rewriter().run(text)


@entity
class _Rewriter:
    """One module. `globals` and `structs` give each name's type in the new text."""

    globals: dict[str, str] = field(default_factory=dict)
    structs: dict[str, str] = field(default_factory=dict)
    declared: dict[str, None] = field(default_factory=dict)
    """Functions that stand for instructions."""
    count: int = 0

    def run(self, text: str) -> str:
        lines = [_plain(line) for line in text.splitlines() if not _is_dropped(line)]
        for line in lines:
            self._declare(line)
        out: list[str] = []
        for line in lines:
            out += self._line(line)
        return "\n".join([*out, *self.declared]) + "\n"

    def _declare(self, line: str) -> None:
        if found := re.match(rf"({LOCAL}) = type (.*)", line):
            self.structs[found[1]] = found[2]
        elif found := re.match(rf"({NAME}) = .*?(?:addrspace\((\d+)\) )?(?:\w+ )*?(?:global|constant) (.*)", line):
            space = f" addrspace({found[2]})" if found[2] and found[2] != "0" else ""
            self.globals[found[1]] = f"{take_type(found[3])[0]}{space}*"
        elif line.startswith(("define ", "declare ")):
            name = re.search(rf"({NAME})\(", line)
            if name is None:
                raise unsupported(line)
            result = last_type(line[: name.start()])
            arguments = split(inside(line, name.end() - 1))
            types = ["..." if part == "..." else take_type(part)[0] for part in arguments if part]
            self.globals[name[1]] = f"{result} ({', '.join(types)})*"

    def _line(self, line: str) -> list[str]:
        if line.startswith("!"):
            return [self._metadata(line)]
        if line.startswith("attributes "):
            return [_attribute_group(line)]
        line = self._operands(line)
        if not line.startswith("  "):
            return [line]
        return self._instruction(line)

    def _metadata(self, line: str) -> str:
        def typed(found: re.Match[str]) -> str:
            return f"{self.globals[found[1]]} {found[1]}"

        return re.sub(rf"{_POINTER} ({NAME})", typed, line)

    def _operands(self, line: str) -> str:
        """Cast each global that is used as a pointer, and each address computed from one."""

        def cast(found: re.Match[str]) -> str:
            own = self.globals.get(found[2])
            if own is None:
                raise unsupported(line)
            return found[0] if own == found[1] else f"{found[1]} bitcast ({own} {found[2]} to {found[1]})"

        line = re.sub(rf"({_POINTER}) ({NAME})(?!\()", cast, line)
        start = 0
        while found := re.compile(r"getelementptr (?:inbounds )?\(").search(line, start):
            body = inside(line, found.end() - 1)
            end = found.end() + len(body) + 1
            new = self._constant_address(found[0][:-1], body)
            line = line[: found.start()] + new + line[end:]
            start = found.start() + (len(new) if "getelementptr" not in body else len("getelementptr ("))
        return line

    def _constant_address(self, head: str, body: str) -> str:
        element, base, *indices = split(body)
        pointer, value = take_type(base)
        if element == "i8":
            return f"{head}({body})"
        space = pointer[2:]
        typed = f"{element}{space} bitcast ({pointer} {value} to {element}{space})"
        result = self._indexed(element, indices)
        address = f"{head}({', '.join([element, typed, *indices])})"
        return f"bitcast ({result}{space} {address} to {pointer})"

    def _indexed(self, kind: str, indices: list[str]) -> str:
        """Return the type that indices lead to; the first one steps over whole elements."""
        for index in indices[1:]:
            kind = self.structs.get(kind, kind)
            inner = kind.strip("<>") if kind.startswith("<{") else kind
            if inner.startswith("{"):
                number = int(take_type(index)[1])
                kind = split(inner.strip()[1:-1])[number]
            elif kind[0] in "[<":
                kind = kind[1:-1].split(" x ", 1)[1]
            else:
                raise unsupported(kind)
        return kind

    def _instruction(self, line: str) -> list[str]:
        found = re.match(rf"(\s+)(?:({LOCAL}) = )?(?:(?:tail|musttail|notail) )?(\w+) ?(.*)", line)
        if found is None:
            return [line]
        indent, name, operation, rest = found[1], found[2] or "", found[3], found[4]
        match operation:
            case "load":
                return self._load(indent, name, rest)
            case "store":
                return self._store(indent, rest)
            case "alloca":
                return self._alloca(indent, name, rest)
            case "getelementptr":
                return self._address(indent, name, rest)
            case "atomicrmw":
                return self._call(atomics.changed(indent, name, rest, self._fresh()))
            case "cmpxchg" | "fence":
                raise _no_atomics(line)
            case _:
                return [line]

    def _call(self, made: atomics.Calls) -> list[str]:
        self.declared[made[1]] = None
        return made[0]

    def _fresh(self) -> str:
        """Return a new local name; LLVM prints none of this form."""
        self.count += 1
        return f'%"air${self.count}"'

    def _load(self, indent: str, name: str, rest: str) -> list[str]:
        if rest.startswith("atomic "):
            return self._call(atomics.loaded(indent, name, rest.removeprefix("atomic "), self._fresh()))
        volatile = "volatile " if rest.startswith("volatile ") else ""
        kind, place, *more = split(rest.removeprefix("volatile "))
        pointer, value = take_type(place)
        pointer_type, typed = f"{kind}{pointer[2:]}", self._fresh()
        return [
            f"{indent}{typed} = bitcast {pointer} {value} to {pointer_type}",
            f"{indent}{name} = load {volatile}{', '.join([kind, f'{pointer_type} {typed}', *more])}",
        ]

    def _store(self, indent: str, rest: str) -> list[str]:
        if rest.startswith("atomic "):
            return self._call(atomics.stored(indent, rest.removeprefix("atomic "), self._fresh()))
        volatile = "volatile " if rest.startswith("volatile ") else ""
        stored, place, *more = split(rest.removeprefix("volatile "))
        kind, _ = take_type(stored)
        pointer, value = take_type(place)
        pointer_type, typed = f"{kind}{pointer[2:]}", self._fresh()
        return [
            f"{indent}{typed} = bitcast {pointer} {value} to {pointer_type}",
            f"{indent}store {volatile}{', '.join([stored, f'{pointer_type} {typed}', *more])}",
        ]

    def _alloca(self, indent: str, name: str, rest: str) -> list[str]:
        kind, typed = split(rest)[0], self._fresh()
        return [f"{indent}{typed} = alloca {rest}", f"{indent}{name} = bitcast {kind}* {typed} to i8*"]

    def _address(self, indent: str, name: str, rest: str) -> list[str]:
        inbounds = "inbounds " if rest.startswith("inbounds ") else ""
        element, base, *indices = split(rest.removeprefix("inbounds "))
        if element == "i8":
            return [f"{indent}{name} = getelementptr {rest}"]
        pointer, value = take_type(base)
        if not re.fullmatch(_POINTER, pointer):
            raise unsupported(rest)
        space, typed, address = pointer[2:], self._fresh(), self._fresh()
        result = self._indexed(element, [index for index in indices if not index.startswith("!")])
        operands = ", ".join([element, f"{element}{space} {typed}", *indices])
        return [
            f"{indent}{typed} = bitcast {pointer} {value} to {element}{space}",
            f"{indent}{address} = getelementptr {inbounds}{operands}",
            f"{indent}{name} = bitcast {result}{space} {address} to {pointer}",
        ]


def _is_dropped(line: str) -> bool:
    return bool(_DROPPED_LINES.search(line) or _DROPPED_CALLS.search(line))


def _plain(line: str) -> str:
    """Rewrite what does not depend on the rest of the module: pointer types, intrinsics' names, new flags."""
    parts = _STRING.split(line)
    for index in range(0, len(parts), 2):
        part = re.sub(r"\bptr addrspace\((\d+)\)", r"i8 addrspace(\1)*", parts[index])
        part = re.sub(r"(?<![%@!\w.])ptr\b(?!\.)", "i8*", part)
        part = re.sub(r"@llvm\.[\w.]+", lambda name: re.sub(r"\.p(\d+)(?=\.|$)", r".p\1i8", name[0]), part)
        parts[index] = part
    line = "".join(parts)
    if line.startswith(("!", "source_filename", "target ")):
        return line
    line = line.replace("captures(none)", "nocapture")
    line = re.sub(r"\b(?:fastcc|coldcc) ", "", line)  # AIR has one convention
    for word in _NEW_ARGUMENT_ATTRIBUTES:
        while found := re.search(rf"\b{word}\(", line):
            line = line[: found.start()] + line[found.end() + len(inside(line, found.end() - 1)) + 1 :].lstrip()
    line = re.sub(r"\b(zext|uitofp) nneg ", r"\1 ", line)
    line = re.sub(r"= or disjoint ", "= or ", line)
    line = re.sub(r"= icmp samesign ", "= icmp ", line)
    line = re.sub(r"= trunc (?:nuw |nsw )+", "= trunc ", line)
    line = re.sub(r"\bgetelementptr ((?:inbounds |nusw |nuw |inrange\([^)]*\) )+)", _address_flags, line)
    return _expand_splats(line)


def _address_flags(found: re.Match[str]) -> str:
    return "getelementptr inbounds " if "inbounds" in found[1] else "getelementptr "


def _expand_splats(line: str) -> str:
    """Write `splat (T v)` as `<T v, T v, …>`; the count is that of the line's vector of T."""
    while found := re.search(r"\bsplat \(", line):
        value = inside(line, found.end() - 1)
        kind = re.escape(take_type(value)[0])
        counts = re.findall(rf"<(\d+) x {kind}>", line[: found.start()])
        if not counts:
            raise unsupported(line)
        lanes = "<" + ", ".join([value] * int(counts[-1])) + ">"
        line = line[: found.start()] + lanes + line[found.end() + len(value) + 1 :]
    return line


def _attribute_group(line: str) -> str:
    """Keep the attributes that LLVM 14 reads."""
    head, _, body = line.partition("{")
    words = re.findall(r'"[^"]*"(?:="[^"]*")?|[\w]+\([^)]*\)|[\w]+', body)
    kept: list[str] = []
    for word in words:
        if word.startswith("memory("):
            kept += _memory(word[len("memory(") : -1])
        elif (word.startswith('"') and not word.startswith(_AMD_ATTRIBUTES)) or word in _KNOWN_ATTRIBUTES:
            kept.append(word)
    return f"{head}{{ {' '.join(kept)} }}"


def _memory(effects: str) -> list[str]:
    """Return LLVM 14's words for `memory(...)`; nothing where it has none, which promises less."""
    if effects in ("none", "read", "write"):
        return [{"none": "readnone", "read": "readonly", "write": "writeonly"}[effects]]
    if found := re.fullmatch(r"argmem: (\w+)", effects):
        return ["argmemonly", *{"read": ["readonly"], "write": ["writeonly"]}.get(found[1], [])]
    return []


def _no_atomics(text: str) -> Bug:
    return Bug(f"AIR has no such atomic instruction: {' '.join(text.split())[:300]}", "emit")
