"""One instruction: its text, and every part of it on demand."""

import re
from collections.abc import Iterable, Mapping

from ktc.emit.llvm_text import operands, operations
from ktc.emit.llvm_text.lazy import Lazy
from ktc.emit.llvm_text.operands import Call, Operand
from ktc.emit.llvm_text.operations import CALLS, TERMINATORS
from ktc.emit.llvm_text.scanning import (
    GLOBAL,
    LOCAL,
    inside,
    locals_in,
    renamed,
    spelled,
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
_CALLEE = re.compile(rf'({GLOBAL})\(|"[^"]*"')
_CASE = re.compile(rf"\S+ (\S+), label ({LOCAL})")
_ALIGN = re.compile(r", align (\d+)")
_SCOPE = re.compile(r'\bsyncscope\("[^"]*"\)')
_ORDERING = re.compile(r"\b(unordered|monotonic|acquire|release|acq_rel|seq_cst)\b")


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
    def _all(self) -> str:
        """The text after the operation, in one line."""
        rest = self.source[self._end :]
        return " ".join([part.strip() for part in rest.split("\n")]) if "\n" in rest else rest

    @Lazy
    def rest(self) -> str:
        """The text after the operation, without attachments."""
        rest = self._all
        at = rest.find(", !")
        while at >= 0 and not _ATTACHED.match(rest, at):
            at = rest.find(", !", at + 1)
        return rest if at < 0 else rest[:at]

    @property
    def attachments(self) -> str:
        """The metadata at the end, as ", !tbaa !3, !dbg !5"."""
        return self._all[len(self.rest) :]

    @Lazy
    def text(self) -> str:
        """The operation and its operands, without attachments."""
        return f"{self.op} {self.rest}" if self.rest else self.op

    @property
    def whole(self) -> str:
        """The operation and all that follows it, attachments included."""
        return f"{self.op} {self._all}" if self._all else self.op

    def attached(self, kind: str) -> str:
        """Return the node that is attached as a kind ("!5" for "dbg"), or ""."""
        if f"!{kind} " not in self.source:
            return ""
        return next((found[2] for found in _ATTACHMENT.finditer(self.attachments) if found[1] == kind), "")

    @Lazy
    def dbg(self) -> str:
        """The node of its place in the program ("!5"), or ""."""
        _, found, rest = self.source.rpartition(", !dbg !")
        return f"!{rest.partition(',')[0]}" if found else ""

    @Lazy
    def flags(self) -> str:
        """Flags of arithmetic and `volatile`, each with a space after it."""
        found = _FLAGS.match(self.rest)
        return found[0] if found else ""

    @Lazy
    def body(self) -> str:
        """The text after the flags."""
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

    def with_arguments(self, given: Iterable[Operand]) -> "Instruction":
        """Return a call with other arguments."""
        call, name = self.call, f"{self.name} = " if self.name else ""
        tail, after = f"{self.tail} " if self.tail else "", f" {call.after}" if call.after else ""
        listed = ", ".join(map(str, given))
        return Instruction(f"  {name}{tail}{self.op} {self.flags}{call.head}({listed}){after}{self.attachments}")

    def is_plain(self, op: str, flags: str = "") -> bool:
        """Return whether it is such an operation without attachments, its flags among these."""
        return self.op == op and not self.attachments and all(word in flags.split() for word in self.flags.split())

    # ---- names -----------------------------------------------------------------------------------------------

    @Lazy
    def uses(self) -> tuple[str, ...]:
        """The local values that it names, each once; a block is none."""
        rest = self.rest
        if self.op == "phi":
            return tuple(dict.fromkeys([value for value, _ in self.incoming if value[0] == "%"]))
        if "label " not in rest:
            return tuple(dict.fromkeys(locals_in(rest)))
        if '"' not in rest:
            return tuple(dict.fromkeys([name for label, name in _LABELLED.findall(rest) if not label]))
        targets = set(self.targets)
        return tuple(dict.fromkeys([name for name in locals_in(rest) if name not in targets]))

    # ---- operands --------------------------------------------------------------------------------------------

    @Lazy
    def predicate(self) -> str:
        """How a comparison compares, "" of others."""
        return self.body.partition(" ")[0] if self.op in ("icmp", "fcmp") else ""

    @Lazy
    def operands(self) -> tuple[Operand, ...]:
        """Its operands: a call's arguments, an address and its indices, a branch's condition."""
        return operations.operands_of(self)

    @Lazy
    def values(self) -> tuple[str, ...]:
        """The values of its operands."""
        return tuple([one.value for one in self.operands])

    @Lazy
    def type(self) -> str:
        """The type of its result; "void" for none, "" for a member of a struct that has a name."""
        return operations.type_of(self)

    @Lazy
    def call(self) -> Call:
        """The parts of a call."""
        text = self.body
        return operands.call(text)

    @Lazy
    def callee(self) -> str:
        """The name of the function that a call calls; "" of other instructions and of values."""
        if self.op not in CALLS:
            return ""
        found = next((one[1] for one in _CALLEE.finditer(self.rest) if one[1]), "")
        return spelled(found) if found else ""

    @property
    def arguments(self) -> tuple[Operand, ...]:
        """A call's arguments."""
        return self.call.arguments

    @Lazy
    def incoming(self) -> list[tuple[str, str]]:
        """The values of a phi and the blocks that they come from."""
        _, rest = take_type(self.body)
        found = [split(inside(pair, 0)) for pair in split(rest)]
        return [(value, block) for value, block in found]

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

    @Lazy
    def cases(self) -> list[tuple[str, str]]:
        """The values of a switch, and the blocks that they lead to."""
        start = self.rest.index("[") + 1
        listed = self.rest[start : self.rest.rindex("]")]
        return _CASE.findall(listed)

    @property
    def condition(self) -> str:
        """The value that decides between several targets, or ""."""
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
    def scope(self) -> str:
        """The `syncscope("…")` that an atomic or a fence names, or ""."""
        found = _SCOPE.search(self.rest)
        return found[0] if found else ""

    @property
    def operation(self) -> str:
        """The operation of an `atomicrmw` ("add")."""
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
