"""Scanners for LLVM text as LLVM prints it: an instruction's parts, a type and what follows it, the parts of a type."""

import re
from typing import NamedTuple

from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug, CompileError, Diagnostic
from ktc.emit.air.syntax import LOCAL, inside, split

_INSTRUCTION = re.compile(rf"(\s+)(?:({LOCAL}) = )?(?:(?:tail|musttail|notail) )?([\w.]+) ?(.*)")
_WORD = re.compile(r"\w+(?: addrspace\(\d+\))?")
_FLAGS = re.compile(
    r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign|inbounds|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|volatile) )*"
)
_ATTRIBUTES = re.compile(
    r"^(?:(?:noundef|nonnull|zeroext|signext|readonly|writeonly|readnone|spir_func|noalias|nocapture|align \d+"
    r"|(?:range|nofpclass|captures|dereferenceable)\([^)]*\)) )+"
)
_METADATA = re.compile(r"(?:, ![\w.]+ !\d+)+$")


class Instruction(NamedTuple):
    """A line of a function: `  %name = op rest`; `name` is "" where it gives nothing, metadata is cut off."""

    name: str
    op: str
    flags: str
    rest: str


def instruction(line: str) -> Instruction | None:
    """Return the parts of a line, None for labels and the like."""
    found = _INSTRUCTION.fullmatch(line)
    if found is None:
        return None
    rest = _METADATA.sub("", found[4])
    flags = _FLAGS.match(rest)
    assert flags is not None
    return Instruction(found[2] or "", found[3], flags[0], rest[flags.end() :])


def take_type(text: str) -> tuple[str, str]:
    """Split "T rest" into the type and the rest."""
    text = text.strip()
    if text[0] in "[{<":
        end = len(inside(text, 0)) + 2
    else:
        found = _WORD.match(text)
        if found is None:
            raise unsupported(text)
        end = found.end()
    return text[:end], text[end:].strip()


def called(rest: str) -> tuple[str, str, list[tuple[str, str]]]:
    """Return the type that a call gives, the function's name and the arguments, each a type and a value."""
    kind, rest = take_type(_ATTRIBUTES.sub("", rest))
    at = rest.index("(")
    given = [take_type(part) for part in split(inside(rest, at)) if part]
    return kind, rest[:at], [(one, _ATTRIBUTES.sub("", value)) for one, value in given]


def members(kind: str) -> tuple[str, ...]:
    """Return the types of a vector's, an array's or a struct's members."""
    if kind.startswith("<{"):
        kind = kind[1:-1]
    if kind[0] == "{":
        return tuple(part for part in split(kind[1:-1]) if part)
    count, element = kind[1:-1].split(" x ", 1)
    return (element.strip(),) * int(count)


def unsupported(text: str) -> Bug | CompileError:
    """Return what to raise for a piece of LLVM text that has no form in SPIR-V."""
    if wide := re.fullmatch(r"i(\d+)", text.strip()):
        words = f"SPIR-V has no integers of {wide[1]} bits: the kernel copies or computes with some"
        return CompileError([Diagnostic(Code.UNSUPPORTED_ON_TARGET, None, words)])
    return Bug(f"this has no form in SPIR-V: {' '.join(text.split())[:300]}", "emit")
