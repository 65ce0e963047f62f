"""The lexical side of LLVM's text: names, strings, brackets, what commas part, and how far a type reaches."""

import re
from collections.abc import Callable, Mapping

from ktc.diag.diagnostic import Bug

WORD = r'(?:[-\w$.]+|"[^"]*")'
"""A name without the character before it, as a label has it."""
LOCAL, GLOBAL = f"%{WORD}", f"@{WORD}"

_LOCAL_NAME, _GLOBAL_NAME = re.compile(LOCAL), re.compile(GLOBAL)
_OUTSIDE = re.compile(rf'{LOCAL}|@{WORD}|"[^"]*"')
"""Local names, and texts in which a `%` begins none."""
_PLAIN = re.compile(r"[-a-zA-Z$._0-9]+")
_MARK = re.compile(r'[,()\[\]{}<>]|"[^"]*"')
_BRACKET = re.compile(r'[()\[\]{}<>]|"[^"]*"')
_NESTED = re.compile(r'[(\[{<"]')
_OPEN = "([{<"
_TYPE_WORD = re.compile(rf"{LOCAL}|[\w.]+")
_SUFFIX = re.compile(r'(?: addrspace\((?:\d+|"[^"]*")\))?\*')
_SPACE = re.compile(r' addrspace\((?:\d+|"[^"]*")\)')
_STRING = re.compile(r'(c?"[^"]*")')
_POINTER = re.compile(r"(?<![\w.%@$])ptr(?: addrspace\((\d+)\))?(?![\w.$])")
_PLAIN_SPACE = re.compile(r"(?<!ptr )addrspace\((\d+)\)")
_SUFFIX_OF_SPACE = re.compile(r"(?<=\.)p(\d+)(?=\.|\()")
_EXPRESSION = r"\b((?:getelementptr|addrspacecast|ptrtoint|ptrtoaddr|inttoptr|add|sub|xor|trunc|bitcast)(?: \w+)*) \("
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2})")


# ---- names ---------------------------------------------------------------------------------------------------


def spelled(name: str) -> str:
    """Return a name without its first character, quotation marks and escapes."""
    if name[1:2] != '"':
        return name[1:]
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name[2:-1])


def named(word: str, sigil: str = "%") -> str:
    """Return a name as LLVM writes it: in quotation marks where it needs them."""
    if _PLAIN.fullmatch(word):
        return f"{sigil}{word}"
    data = "".join([char if char not in '"\\' else f"\\{ord(char):02X}" for char in word])
    return f'{sigil}"{data}"'


def suffixed(name: str, suffix: str) -> str:
    """Return a name that begins with another one, in quotation marks."""
    return f'%"{name[1:].strip(chr(34))}{suffix}"'


def locals_in(text: str) -> list[str]:
    """Return the local names in a text, in order; strings have none."""
    if '"' not in text:
        return _LOCAL_NAME.findall(text)
    return [one for one in _OUTSIDE.findall(text) if one[0] == "%"]


def respelled(text: str, call: Callable[[str], str]) -> str:
    """Return a text with other local names: `call` gets each."""
    if '"' not in text and "@" not in text:
        return _LOCAL_NAME.sub(lambda found: call(found[0]), text)
    return _OUTSIDE.sub(lambda found: call(found[0]) if found[0][0] == "%" else found[0], text)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names of locals and globals for some."""
    pattern = _OUTSIDE if '"' in text or "@" in text else _LOCAL_NAME
    return pattern.sub(lambda found: names.get(found[0], found[0]), text)


def globals_in(text: str) -> set[str]:
    """Return the names of globals in a text."""
    return set(_GLOBAL_NAME.findall(text))


# ---- brackets --------------------------------------------------------------------------------------------------


def closing(text: str, start: int) -> int:
    """Return where the bracket that opens at `start` is closed.

    Raises:
        Bug: nowhere.
    """
    depth = 0
    for found in _BRACKET.finditer(text, start):
        mark = found[0]
        if mark[0] != '"':
            depth += 1 if mark in _OPEN else -1
            if not depth:
                return found.start()
    raise unreadable(text)


def inside(text: str, start: int) -> str:
    """Return the text between the bracket at `start` and the one that closes it."""
    return text[start + 1 : closing(text, start)]


def split(text: str) -> list[str]:
    """Return the parts between the commas that stand outside of brackets and strings; nothing after the last comma."""
    if "," not in text:
        only = text.strip()
        return [only] if only else []
    if not _NESTED.search(text):
        return [part.strip() for part in (text.rstrip().removesuffix(",")).split(",")]
    parts, depth, start = [], 0, 0
    for found in _MARK.finditer(text):
        mark = found[0]
        if mark == ",":
            if not depth:
                parts.append(text[start : found.start()].strip())
                start = found.end()
        elif mark[0] != '"':
            depth += 1 if mark in _OPEN else -1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def innermost_expression(text: str, words: str) -> tuple[str, str] | None:
    """Return a constant expression in which these words stand and no other expression, and it as an instruction."""
    for found in re.finditer(_EXPRESSION, text):
        body = inside(text, found.end() - 1)
        if words in body and not re.search(_EXPRESSION, body):
            return f"{found[0]}{body})", f"{found[1]} {body}"
    return None


# ---- types -----------------------------------------------------------------------------------------------------


def type_end(text: str, start: int = 0) -> int:
    """Return where the type ends that begins at `start`, its address space and stars included.

    Raises:
        Bug: there is none.
    """
    if text[start : start + 1] in ("[", "{", "<"):
        end = closing(text, start) + 1
    else:
        found = _TYPE_WORD.match(text, start)
        if found is None:
            raise unreadable(text)
        end = found.end()
        if text.startswith("target(", start):
            end = closing(text, end) + 1
    while text[end : end + 1] in ("*", " "):
        if suffix := _SUFFIX.match(text, end):
            end = suffix.end()
        elif text.endswith("ptr", start, end) and (space := _SPACE.match(text, end)):
            return space.end()
        elif text.startswith(" (", end) and text.startswith("*", after := closing(text, end + 1) + 1):
            end = after + 1  # a pointer to a function
        else:
            break
    return end


def take_type(text: str) -> tuple[str, str]:
    """Split "T rest" into the type and the rest."""
    text = text.strip()
    end = type_end(text)
    return text[:end], text[end:].strip()


def last_type(text: str) -> str:
    """Return the type that a text ends with ("define internal noundef float " gives "float")."""
    text = text.strip()
    start = 0
    while start < len(text):
        end = type_end(text, start)
        if end == len(text):
            return text[start:]
        if text[end] == "(":  # an attribute with arguments
            end = closing(text, end) + 1
        start = end + 1 if text[end : end + 1] == " " else end
        if text[start : start + 1] == '"':
            start = text.index(" ", text.index('"', start + 1)) + 1
    raise unreadable(text)


def without_spaces(text: str) -> str:
    """Return a text without the address spaces of its pointers."""
    return _SPACE.sub("", text) if "addrspace" in text else text


def respaced(text: str, call: Callable[[int], int]) -> str:
    """Return a text with other address spaces of pointers, globals and intrinsics: `call` gets each number."""

    def of_pointer(found: re.Match[str]) -> str:
        return f"ptr {_space(call(int(found[1] or 0)))}".rstrip()

    def changed(part: str) -> str:
        part = _PLAIN_SPACE.sub(lambda found: _space(call(int(found[1]))), part)
        part = _POINTER.sub(of_pointer, part)
        return _SUFFIX_OF_SPACE.sub(lambda found: f"p{call(int(found[1]))}", part) if "@llvm." in part else part

    return "".join([part if part[-1:] == '"' else changed(part) for part in _STRING.split(text)])


def _space(number: int) -> str:
    return f"addrspace({number})" if number else ""


def counted(kind: str) -> tuple[int, str]:
    """Return how many elements a vector or an array has and their type; (0, "") for other types."""
    if kind[0] not in "[<" or kind.startswith("<{"):
        return 0, ""
    words = kind[1:-1].strip().removeprefix("vscale x ")
    count, _, element = words.partition(" x ")
    return int(count), element.strip()


def members(kind: str) -> tuple[str, ...]:
    """Return the types of a vector's, an array's or a struct's members."""
    if kind.startswith("<{"):
        kind = kind[1:-1]
    if kind[0] == "{":
        return tuple(split(kind[1:-1]))
    count, element = counted(kind)
    return (element,) * count


def unreadable(text: str) -> Bug:
    """Return the `Bug` for a text that is none of LLVM's."""
    return Bug(f"this is not read as LLVM's text: {' '.join(text.split())[:300]}", "emit")
