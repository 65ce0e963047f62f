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
from ktc.emit.llvm_text.functions import signature, symbol_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import attribute_words, global_of, struct_of
from ktc.emit.llvm_text.scanning import GLOBAL, counted, inside, members, split, take_type

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
"""Attributes that AMD's passes, which optimise AIR, add to functions."""

_DROPPED = tuple(f"llvm.{name}" for name in ("lifetime.", "assume", "experimental.noalias", "donothing", "dbg."))
"""Functions that only tell the optimiser or a debugger something."""
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
        if (struct := struct_of(line)) is not None:
            self.structs[struct[0]] = struct[1]
        elif (variable := global_of(line)) is not None:
            space = f" addrspace({variable.space})" if variable.space else ""
            self.globals[variable.name] = f"{variable.type}{space}*"
        elif line.startswith(("define ", "declare ")):
            head = signature(line)
            self.globals[head.name] = f"{head.type} ({', '.join([one.type for one in head.parameters])})*"

    def _line(self, line: str) -> list[str]:
        if line.startswith("!"):
            return [self._metadata(line)]
        if line.startswith("attributes "):
            return [_attribute_group(line)]
        line = self._operands(line)
        is_one = line.startswith("  ") and line[2:3] not in " ]"  # a switch has further lines
        return self._instruction(Instruction(line)) if is_one else [line]

    def _metadata(self, line: str) -> str:
        def typed(found: re.Match[str]) -> str:
            return f"{self.globals[found[1]]} {found[1]}"

        return re.sub(rf"{_POINTER} ({GLOBAL})", typed, line)

    def _operands(self, line: str) -> str:
        """Cast each global that is used as a pointer, and each address computed from one."""

        def cast(found: re.Match[str]) -> str:
            own = self.globals.get(found[2])
            if own is None:
                raise unsupported(line)
            return found[0] if own == found[1] else f"{found[1]} bitcast ({own} {found[2]} to {found[1]})"

        line = re.sub(rf"({_POINTER}) ({GLOBAL})(?!\()", cast, line)
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
            if kind[0] not in "[<{":
                raise unsupported(kind)
            kind = counted(kind)[1] or members(kind)[int(take_type(index)[1])]
        return kind

    def _instruction(self, one: Instruction) -> list[str]:
        match one.op:
            case "atomicrmw" | "load" | "store" if one.is_atomic:
                lines, declared = atomics.called(one, self._fresh())
                self.declared[declared] = None
                return lines
            case "load":
                return self._load(one)
            case "store":
                return self._store(one)
            case "alloca":
                return self._alloca(one)
            case "getelementptr":
                return self._address(one)
            case "cmpxchg" | "fence":
                raise _no_atomics(one.source)
            case _:
                return [one.source]

    def _fresh(self) -> str:
        """Return a new local name; LLVM prints none of this form."""
        self.count += 1
        return f'%"air${self.count}"'

    def _load(self, one: Instruction) -> list[str]:
        kind, _, *more = one.parts
        (pointer, value, _), typed = one.operands[0], self._fresh()
        pointer_type = f"{kind}{pointer[2:]}"
        return [
            f"  {typed} = bitcast {pointer} {value} to {pointer_type}",
            f"  {one.name} = load {one.flags}{', '.join([kind, f'{pointer_type} {typed}', *more])}{one.attachments}",
        ]

    def _store(self, one: Instruction) -> list[str]:
        stored, _, *more = one.parts
        (kind, _, _), (pointer, value, _) = one.operands
        pointer_type, typed = f"{kind}{pointer[2:]}", self._fresh()
        return [
            f"  {typed} = bitcast {pointer} {value} to {pointer_type}",
            f"  store {one.flags}{', '.join([stored, f'{pointer_type} {typed}', *more])}{one.attachments}",
        ]

    def _alloca(self, one: Instruction) -> list[str]:
        kind, typed = one.parts[0], self._fresh()
        return [f"  {typed} = {one.whole}", f"  {one.name} = bitcast {kind}* {typed} to i8*"]

    def _address(self, one: Instruction) -> list[str]:
        element, _, *indices = one.parts
        if element == "i8":
            return [f"  {one.name} = {one.whole}"]
        pointer, value, _ = one.operands[0]
        if not re.fullmatch(_POINTER, pointer):
            raise unsupported(one.rest)
        space, typed, address = pointer[2:], self._fresh(), self._fresh()
        result = self._indexed(element, indices)
        operands = ", ".join([element, f"{element}{space} {typed}", *indices])
        return [
            f"  {typed} = bitcast {pointer} {value} to {element}{space}",
            f"  {address} = getelementptr {one.flags}{operands}{one.attachments}",
            f"  {one.name} = bitcast {result}{space} {address} to {pointer}",
        ]


def _is_dropped(line: str) -> bool:
    if line[:1] == ";" or line.lstrip().startswith("#dbg_"):
        return True
    if "void @llvm." not in line:
        return False
    if line.startswith("declare "):
        return symbol_of(line).startswith(_DROPPED)
    return line[:1] == " " and Instruction(line).callee.startswith(_DROPPED)


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
    kept: list[str] = []
    for word in attribute_words(body):
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


def unsupported(text: str) -> Bug:
    """Return the `Bug` for a piece of LLVM text that has no form in AIR."""
    return Bug(f"this has no form in AIR: {' '.join(text.split())[:300]}", "emit")
