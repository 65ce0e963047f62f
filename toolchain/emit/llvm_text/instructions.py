"""One instruction: its text, and every part of it on demand."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ktc.base.records import entity
from ktc.emit.llvm_text import operands
from ktc.emit.llvm_text.lazy import Lazy
from ktc.emit.llvm_text.operands import Call, Operand, operand, typed_list
from ktc.emit.llvm_text.scanning import (
    LOCAL,
    counted,
    inside,
    locals_in,
    members,
    renamed,
    split,
    take_type,
    unreadable,
)

_HEAD = re.compile(rf"\s*(?:({LOCAL}) = )?(?:(tail|musttail|notail) )?(#?[\w.]+|;|$)(?: |(?=[^\w.])|$)")
_ATTACHED = re.compile(r"(?:, ![-\w.\\]+ !(?:\d+|\w*\(.*?\)|\{.*?\}))+$")
_ATTACHMENT = re.compile(r", !([-\w.\\]+) (!(?:\d+|\w*\(.*?\)|\{.*?\}))(?=, !|$)")
_FLAGS = re.compile(
    r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|nusw|inrange\([^)]*\)|fast|nnan|ninf|nsz|arcp|contract|afn"
    r"|reassoc|volatile) )*"
)
_MEMORY_WORDS = re.compile(r"(?:(?:atomic|volatile|weak) )*")
_LABEL = re.compile(rf"label ({LOCAL})")
_LABELLED = re.compile(rf"(label )?({LOCAL})")
_ALIGN = re.compile(r", align (\d+)")
_ORDERING = re.compile(r"\b(unordered|monotonic|acquire|release|acq_rel|seq_cst)\b")

CASTS = frozenset({
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "ptrtoaddr",
    "inttoptr", "bitcast", "addrspacecast",
})  # fmt: skip
BINARY = frozenset({
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub",
    "fmul", "fdiv", "frem",
})  # fmt: skip
CALLS = frozenset({"call", "invoke", "callbr"})
TERMINATORS = frozenset({
    "br", "switch", "ret", "unreachable", "indirectbr", "invoke", "callbr", "resume", "catchswitch", "catchret",
    "cleanupret",
})  # fmt: skip


class Instruction:
    """One instruction, which is never changed: `[%name = ][tail ]op [flags ]operands[, !kind !node …]`.

    Args:
        source: the text, its indentation included; a switch has several lines.
        line: its place in the text of its function, -1 for one that was made. block: number of its block, from 1 on.

    Fields: `name`, what it defines, with its "%", or ""; `tail`, "tail", "musttail", "notail" or ""; `op`.
    """

    def __init__(self, source: str, line: int = -1, block: int = 0) -> None:
        found = _HEAD.match(source)
        if found is None:
            raise unreadable(source)
        self.source, self.line, self.block = source, line, block
        self.name, self.tail, self.op = found[1] or "", found[2] or "", found[3]
        self._end = found.end()

    def __repr__(self) -> str:
        return f"Instruction({self.source!r})"

    # ---- text ------------------------------------------------------------------------------------------------

    @Lazy
    def _cut(self) -> tuple[str, str]:
        """What follows the operation, and the attachments."""
        rest = self.source[self._end :]
        if "\n" in rest:
            rest = " ".join([part.strip() for part in rest.split("\n")])
        at = rest.find(", !")
        while at >= 0 and not _ATTACHED.match(rest, at):
            at = rest.find(", !", at + 1)
        return (rest, "") if at < 0 else (rest[:at], rest[at:])

    @Lazy
    def rest(self) -> str:
        """What follows the operation, without attachments."""
        return self._cut[0]

    @Lazy
    def text(self) -> str:
        """The operation and what follows it, without attachments."""
        return f"{self.op} {self._cut[0]}" if self._cut[0] else self.op

    @property
    def attachments(self) -> str:
        """The metadata at the end, as ", !tbaa !3, !dbg !5"."""
        return self._cut[1]

    def attached(self, kind: str) -> str:
        """Return the node that is attached as a kind ("!5" for "dbg"), or ""."""
        if f"!{kind} " not in self.source:
            return ""
        return next((found[2] for found in _ATTACHMENT.finditer(self._cut[1]) if found[1] == kind), "")

    @Lazy
    def flags(self) -> str:
        """Flags of arithmetic and `volatile`, each with a space after it."""
        found = _FLAGS.match(self.rest)
        return found[0] if found else ""

    @Lazy
    def body(self) -> str:
        """What follows the flags."""
        return self.rest[len(self.flags) :]

    @Lazy
    def parts(self) -> list[str]:
        """The texts between the commas that follow the flags."""
        return split(self.body)

    def with_names(self, names: Mapping[str, str]) -> "Instruction":
        """Return the same with other local names."""
        return Instruction(renamed(self.source, names))

    def with_incoming(self, pairs: Iterable[tuple[str, str]]) -> "Instruction":
        """Return a phi with other values and blocks."""
        listed = ", ".join([f"[ {value}, {block} ]" for value, block in pairs])
        return Instruction(f"  {self.name} = phi {self.flags}{self.type} {listed}{self.attachments}")

    def is_plain(self, op: str, flags: str = "") -> bool:
        """Return whether it is such an operation without attachments, its flags among these."""
        return self.op == op and not self.attachments and all(word in flags.split() for word in self.flags.split())

    # ---- names -----------------------------------------------------------------------------------------------

    @Lazy
    def uses(self) -> tuple[str, ...]:
        """The local values that it names, each once; a block is none."""
        if self.op == "phi":
            return tuple(dict.fromkeys(value for value, _ in self.incoming if value[0] == "%"))
        if "label" in self.text and '"' not in self.text:
            return tuple(dict.fromkeys(name for label, name in _LABELLED.findall(self.text) if not label))
        targets = set(self.targets) if "label" in self.text else ()
        return tuple(dict.fromkeys(name for name in locals_in(self.text) if name not in targets))

    # ---- operands --------------------------------------------------------------------------------------------

    @Lazy
    def predicate(self) -> str:
        """How a comparison compares, "" of others."""
        return self.body.partition(" ")[0] if self.op in ("icmp", "fcmp") else ""

    @Lazy
    def operands(self) -> tuple[Operand, ...]:
        """What it computes with; a call's arguments, an address and its indices, a branch's condition."""
        return _OPERANDS.get(self.op, _all)(self)

    @Lazy
    def values(self) -> tuple[str, ...]:
        """The values of its operands."""
        return tuple([one.value for one in self.operands])

    @Lazy
    def type(self) -> str:
        """The type of what it gives; "void" for nothing. Members of named structs are not known here."""
        return _RESULTS[self.op](self) if self.op in _RESULTS else self.operands[0].type

    @Lazy
    def call(self) -> Call:
        """The parts of a call."""
        text = self.body
        return operands.call(text)

    @Lazy
    def callee(self) -> str:
        """The name of the function that a call calls; "" of other instructions and of values."""
        return self.call.symbol if self.op in CALLS else ""

    @property
    def arguments(self) -> tuple[Operand, ...]:
        """What a call passes."""
        return self.call.arguments

    @Lazy
    def incoming(self) -> list[tuple[str, str]]:
        """The values of a phi and the blocks that they come from."""
        _, rest = take_type(self.body)
        found = [inside(pair, 0).rpartition(",") for pair in split(rest)]
        return [(value.strip(), block.strip()) for value, _, block in found]

    # ---- control flow ----------------------------------------------------------------------------------------

    @property
    def is_note(self) -> bool:
        """Whether it is a debug record, a comment or an empty line, which computes nothing."""
        return not self.op or self.op[0] in "#;"

    @property
    def is_terminator(self) -> bool:
        """Whether it ends a block."""
        return self.op in TERMINATORS

    @Lazy
    def targets(self) -> list[str]:
        """The blocks that may follow, as they are written; one may be there twice."""
        return _LABEL.findall(self.rest) if "label " in self.rest else []

    @property
    def condition(self) -> str:
        """What decides between several targets, or ""."""
        is_asked = self.op in ("switch", "indirectbr") or (self.op == "br" and len(self.targets) > 1)
        return self.operands[0].value if is_asked else ""

    # ---- memory ----------------------------------------------------------------------------------------------

    @property
    def is_volatile(self) -> bool:
        """Whether it is an access of which none may be left out."""
        return "volatile " in self.rest and self._memory_words("volatile")

    @property
    def is_atomic(self) -> bool:
        """Whether it is an atomic access."""
        return self.op in ("atomicrmw", "cmpxchg") or (self.op in ("load", "store") and self._memory_words("atomic"))

    def _memory_words(self, word: str) -> bool:
        found = _MEMORY_WORDS.match(self.rest)
        return found is not None and word in found[0].split()

    @Lazy
    def accessed(self) -> list[str]:
        """The texts between the commas of an access or an `alloca`, from after its keywords on."""
        found = _MEMORY_WORDS.match(self.rest)
        return split(self.rest[found.end() :] if found else self.rest)

    @property
    def align(self) -> int:
        """The alignment in bytes that an access or an `alloca` names; 0 for none."""
        found = _ALIGN.search(self.rest)
        return int(found[1]) if found else 0

    @property
    def ordering(self) -> str:
        """The first order that an atomic or a fence names, or ""."""
        found = _ORDERING.search(self.rest)
        return found[1] if found else ""

    @property
    def operation(self) -> str:
        """What an `atomicrmw` does ("add")."""
        return self.accessed[0].split(" ", 1)[0]

    @property
    def allocated(self) -> str:
        """The type of an `alloca`'s memory."""
        return self.accessed[0].removeprefix("inalloca ")

    @property
    def source_type(self) -> str:
        """The type by which a `getelementptr` steps."""
        return self.parts[0]

    @property
    def indices(self) -> list[str]:
        """The numbers of an `extractvalue` or `insertvalue`."""
        return self.parts[1 if self.op == "extractvalue" else 2 :]


@entity
class Phi:
    """A phi that can be changed: by block that control comes from, the value's text."""

    name: str
    type: str
    incoming: dict[str, str]


@entity
class Terminator:
    """The end of a block, which can be changed.

    Args:
        text: as it is written, without attachments. targets: in its order. condition: the value that decides, or "".
    """

    text: str
    targets: list[str]
    condition: str = ""


# ---- operands, by operation ------------------------------------------------------------------------------------


def _all(one: Instruction) -> tuple[Operand, ...]:
    return typed_list(one.body)


def _compared(one: Instruction) -> tuple[Operand, ...]:
    return typed_list(one.body.partition(" ")[2])


def _cast(one: Instruction) -> tuple[Operand, ...]:
    return (operand(one.body.rpartition(" to ")[0]),)


def _phi(one: Instruction) -> tuple[Operand, ...]:
    kind = one.type
    return tuple([Operand(kind, value) for value, _ in one.incoming])


def _accessed(one: Instruction) -> tuple[Operand, ...]:
    places = {"load": slice(1, 2), "store": slice(0, 2), "cmpxchg": slice(0, 3), "atomicrmw": slice(0, 2)}
    parts = one.accessed[places[one.op]]
    if one.op == "atomicrmw":
        parts[0] = parts[0].partition(" ")[2]
    found = [operand(part) for part in parts]
    return tuple([Operand(kind, operands.without_order(value)) for kind, value, _ in found])


def _allocated(one: Instruction) -> tuple[Operand, ...]:
    return tuple([operand(part) for part in one.accessed[1:] if part[0] == "i" and " " in part])


def _first(count: int) -> Callable[[Instruction], tuple[Operand, ...]]:
    return lambda one: tuple([operand(part) for part in one.parts[:count]])


def _stepped(one: Instruction) -> tuple[Operand, ...]:
    return tuple([operand(part) for part in one.parts[1:]])


def _branched(one: Instruction) -> tuple[Operand, ...]:
    return (operand(one.parts[0]),) if one.op != "br" or len(one.parts) > 1 else ()


def _returned(one: Instruction) -> tuple[Operand, ...]:
    return (operand(one.body),) if one.body != "void" else ()


def _none(_: Instruction) -> tuple[Operand, ...]:
    return ()


_OPERANDS: Mapping[str, Callable[[Instruction], tuple[Operand, ...]]] = MappingProxyType({
    **dict.fromkeys(CASTS, _cast), **dict.fromkeys(CALLS, lambda one: one.call.arguments), "icmp": _compared,
    "fcmp": _compared, "phi": _phi, "load": _accessed, "store": _accessed, "cmpxchg": _accessed,
    "atomicrmw": _accessed, "alloca": _allocated, "getelementptr": _stepped, "extractvalue": _first(1),
    "insertvalue": _first(2), "va_arg": _first(1), "br": _branched, "switch": _branched, "indirectbr": _branched,
    "ret": _returned, "fence": _none, "unreachable": _none, "landingpad": _none,
})  # fmt: skip


# ---- types of results ------------------------------------------------------------------------------------------


def _compared_type(one: Instruction) -> str:
    kind = one.operands[0].type
    return f"{kind[: kind.index(' x ')] if 'vscale' not in kind else kind.rpartition(' x ')[0]} x i1>" if (
        kind[0] == "<"
    ) else "i1"  # fmt: skip


def _stepped_type(one: Instruction) -> str:
    base, *indices = one.operands
    vector = next((index.type for index in indices if index.type[0] == "<"), "")
    return f"{vector.rpartition(' x ')[0]} x {base.type}>" if vector and base.type[0] != "<" else base.type


def _member_type(one: Instruction) -> str:
    kind = one.operands[0].type
    for index in one.indices:
        kind = counted(kind)[1] or members(kind)[int(index)]
    return kind


def _shuffled_type(one: Instruction) -> str:
    vector, _, mask = one.operands
    return f"{mask.type.rpartition(' x ')[0]} x {counted(vector.type)[1]}>"


def _slot_type(one: Instruction) -> str:
    space = next((part for part in one.accessed[1:] if part.startswith("addrspace(")), "")
    return f"ptr {space}".rstrip()


def _void(_: Instruction) -> str:
    return "void"


_RESULTS: Mapping[str, Callable[[Instruction], str]] = MappingProxyType({
    **dict.fromkeys(CASTS, lambda one: one.body.rpartition(" to ")[2]),
    **dict.fromkeys(CALLS, lambda one: one.call.type),
    **dict.fromkeys(TERMINATORS - CALLS, _void), "store": _void, "fence": _void,
    "icmp": _compared_type, "fcmp": _compared_type, "phi": lambda one: take_type(one.body)[0],
    "load": lambda one: one.accessed[0], "getelementptr": _stepped_type, "alloca": _slot_type,
    "extractvalue": _member_type, "extractelement": lambda one: counted(one.operands[0].type)[1],
    "shufflevector": _shuffled_type, "select": lambda one: one.operands[1].type,
    "cmpxchg": lambda one: f"{{ {one.operands[1].type}, i1 }}", "atomicrmw": lambda one: one.operands[1].type,
    "va_arg": lambda one: one.parts[1], "landingpad": lambda one: take_type(one.body)[0],
})  # fmt: skip
