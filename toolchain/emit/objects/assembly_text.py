"""Assembly of the host for a reader: the functions of the program, without those of the library and the data.

Input: assembly of an ELF target as LLVM prints it. Output: the chosen functions, and a comment that counts the others.
"""

import re
from collections.abc import Callable

_BEGIN = re.compile(r"^\t\.type\t(.+),[@%]function$", re.MULTILINE)
_END = re.compile(r"^\t\.size\t(.+), .*$", re.MULTILINE)
_HEAD = re.compile(r"^\t\.(?:text|section|globl|hidden|weak|p2align|prefalign)\b.*\n\Z", re.MULTILINE)


def functions(text: str, is_chosen: Callable[[str], bool], hint: str) -> str:
    """Return the functions whose symbols are chosen; the whole text if it has no functions of ELF's form.

    Args:
        hint: how to get the others, for the comment at the end.
    """
    parts, others, at = list[str](), 0, 0
    for begin in _BEGIN.finditer(text):
        end = next((one for one in _END.finditer(text, begin.end()) if one[1] == begin[1]), None)
        if end is None:
            continue
        if not is_chosen(begin[1].strip('"')):
            others += 1
        else:
            start = begin.start()
            while (head := _HEAD.search(text, at, start)) is not None:
                start = head.start()
            parts.append(text[start : end.end() + 1])
        at = end.end() + 1
    if not parts and not others:
        return text
    return "\n".join(parts) + f"\n# {others} functions of the library and the data are left out; {hint}\n"
