"""Operands as LLVM writes them: a type, perhaps attributes, and a value."""

import re
from typing import NamedTuple

from ktc.emit.llvm_text.scanning import GLOBAL, LOCAL, closing, split, take_type, type_end

_TYPE = re.compile(
    r"(?:(?:i\d+|void|half|bfloat|float|double|fp128|x86_fp80|ppc_fp128|x86_amx|x86_mmx|ptr|token|metadata)(?![\w.])"
    r"|target\(|[\[{<%])"
)
_TYPED = re.compile(rf"(?:i\d+|[a-z]\w*|target\(|{LOCAL})(?: |\*)(?!\()")
_ATTRIBUTE = re.compile(r'(?:"[^"]*"(?:="[^"]*")?|(?:align|cc|elementtype|alignstack) \d+(?= )|[a-z_][\w.-]*)(?=[ (])')
_COMMENT = re.compile(r"/\*.*?\*/ ?")
_VALUE = re.compile(
    r"(?:getelementptr|inttoptr|ptrtoint|ptrtoaddr|bitcast|addrspacecast|trunc|zext|sext|splat|add|sub|mul|shl|and|or|xor"
    r"|extractelement|insertelement|shufflevector|icmp|fcmp|select|blockaddress|dso_local_equivalent|no_cfi|ptrauth|asm)\b"
)
"""Words that begin a value and look like an attribute."""
_ORDER = re.compile(r"(?: syncscope\(\"[^\"]*\"\))?(?: (?:unordered|monotonic|acquire|release|acq_rel|seq_cst))*$")
_CALLEE = re.compile(rf"({GLOBAL}|{LOCAL}|asm [a-z ]*\"[^\"]*\", \"[^\"]*\")\(")


class Operand(NamedTuple):
    """A value with its type. `attributes` stand between them where it is an argument ("noundef align 4")."""

    type: str
    value: str
    attributes: str = ""

    def __str__(self) -> str:
        return " ".join([part for part in (self.type, self.attributes, self.value) if part])


class Call(NamedTuple):
    """The parts of a call.

    Fields: `type` of its result; `callee` as it is written; `arguments`; `head`, all before their bracket; `after`:
    attribute groups and bundles.
    """

    type: str
    callee: str
    arguments: tuple[Operand, ...]
    head: str
    after: str


def after_attributes(text: str, at: int, stop: re.Pattern[str]) -> int:
    """Return where the words end that stand from `at` on before something that `stop` matches."""
    while not stop.match(text, at):
        found = _ATTRIBUTE.match(text, at)
        if found is None:
            return at
        end = found.end()
        if text[end] == "(":
            end = closing(text, end) + 1
        at = end + (text[end : end + 1] == " ")
    return at


def operand(text: str) -> Operand:
    """Read "T v"; words between them are attributes."""
    if "/*" in text:
        text = _COMMENT.sub("", text)
    kind, rest = take_type(text)
    if kind == "metadata" or not rest or rest[0] in "%@-<[{!" or rest[0].isdigit():
        return Operand(kind, rest)
    at = 0
    while not _VALUE.match(rest, at) and (found := _ATTRIBUTE.match(rest, at)):
        end = found.end()
        if rest[end] == "(":
            end = closing(rest, end) + 1
            if end == len(rest):
                break  # a value with brackets
        at = end + 1
    return Operand(kind, rest[at:], rest[:at].rstrip())


def typed_list(text: str) -> tuple[Operand, ...]:
    """Read operands between commas; one without a type has that of the one before it."""
    found: list[Operand] = []
    for part in split(text):
        found.append(operand(part) if not found or is_typed(part) else Operand(found[-1].type, part))
    return tuple(found)


def is_typed(text: str) -> bool:
    """Return whether a value stands after its type."""
    if text[0] in "<[{":
        return closing(text, 0) + 1 < len(text)
    return _TYPED.match(text) is not None and not _VALUE.match(text)


def without_order(value: str) -> str:
    """Return the value of an atomic's operand, without the scope and the orders after it."""
    return _ORDER.sub("", value)


def call_type(text: str) -> str:
    """Return the type of a call's result; see `call`."""
    start = after_attributes(text, 0, _TYPE)
    return text[start : type_end(text, start)]


def call(text: str) -> Call:
    """Read a call from after its flags on: "spir_func noundef i32 @f(i32 noundef %x) #5"."""
    start = after_attributes(text, 0, _TYPE)
    end = type_end(text, start)
    kind = text[start:end]
    at = end + 1
    if text.startswith(" (", end):  # the type of a function with variable arguments
        at = closing(text, at) + 2
    found = _CALLEE.match(text, at)
    opened = found.end() - 1 if found else text.index("(", text.index("(", at) if _VALUE.match(text, at) else at)
    if found is None and _VALUE.match(text, at):  # a constant expression
        opened = closing(text, opened) + 1
    end = closing(text, opened)
    given = tuple(map(operand, split(text[opened + 1 : end])))
    return Call(kind, text[at:opened], given, text[:opened], text[end + 1 :].strip())
