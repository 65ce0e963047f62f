"""The program that runs the tests of one file, and its messages.

The program takes the numbers of the tests that it shall run. It announces each on standard output with lines that start
with `MARK`: `start N`, then `passed N NANOSECONDS`, or `failed N NANOSECONDS` and the error's text up to `end N`. The
text between is the test's own output; a test without an end has brought the program down.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ktc.base.editions import OF_LIBRARY
from ktc.base.records import field_names, record
from ktc.diag.source import Source
from ktc.syntax import ast
from ktc.tools.testing.discovery import Case

MARK = "\x1e"
_INIT = ("__init__.kpy", "__init__.mojo", "__init__.🔥")
_ASSERTIONS = ("assert_true", "assert_false")
_QUOTABLE = re.compile(r"[^\"'\\\n]{1,60}")
_HEAD = f'''from sys import argv as _argv
from time import perf_counter_ns as _now

def _begin(number: Int):
    print("{MARK}start", number, flush=True)

def _passed(number: Int, nanoseconds: UInt):
    print("{MARK}passed", number, nanoseconds, flush=True)

def _failed(number: Int, nanoseconds: UInt, error: Error):
    print("{MARK}failed", number, nanoseconds, flush=True)
    print(error, flush=True)
    print("{MARK}end", number, flush=True)

def _is_selected(number: Int) -> Bool:
    for i in range(1, len(_argv())):
        if atol(String(_argv()[i])) == number:
            return True
    return False

'''
_ONE = """    if _is_selected({number}):
        var begin = _now()
        try:
            _begin({number})
            begin = _now()
            {name}()
            _passed({number}, _now() - begin)
        except error:
            _failed({number}, _now() - begin, error)
"""


@record
class Harness:
    """A program that runs tests.

    Args:
        root: the path of its main file, which is not on the disk.
        overlays: the texts of that file, and of others that differ from what is on the disk.
    """

    root: Path
    overlays: dict[str, Source]


def module_of(path: Path) -> tuple[Path, str]:
    """Return the folder where a file's module is looked for, and the module's dotted name."""
    parts = [path.stem] if path.name not in _INIT else []
    folder = path.parent
    while any((folder / name).is_file() for name in _INIT):
        if folder.name in ("", ".."):  # '.' is its own parent
            folder = folder.resolve()
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def harness(path: Path, source: Source, cases: Sequence[Case], shows: Sequence[int] = ()) -> Harness:
    """Make the program that runs the cases of a file.

    Args:
        shows: offsets of assertions whose operands the error shall show, from `assertions`.
    """
    folder, module = module_of(path)
    overlays: dict[str, Source] = {}
    imports, calls = [], []
    for number, case in enumerate(cases):
        name = f"_test_{number}"
        if case.program:
            stem = f"__ktc_doctest_{number}__"
            overlays[os.path.abspath(folder / f"{stem}.kpy")] = Source(
                source.path, case.program, edition=source.edition
            )
            imports.append(f"from {stem} import run as {name}\n")
        else:
            imports.append(f"from {module} import {case.name} as {name}\n")
        calls.append(_ONE.format(number=number, name=name))
    text = "".join(imports) + _HEAD + "def main():\n" + ("".join(calls) or "    pass\n")
    root = folder / f"__ktc_test_{path.stem}__.kpy"
    overlays[os.path.abspath(root)] = Source(str(root), text, edition=OF_LIBRARY)
    if shows:
        overlays[os.path.abspath(path)] = _with_operands(source, shows)
    return Harness(root, overlays)


def operands(module: ast.Module) -> list[int]:
    """Return where assertions of comparisons can show their operands without computing anything twice that has effects.

    Each is the offset of the end of `assert_true`'s only argument.
    """
    text = module.source.text
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDecl) and node.name.startswith("test_"):
            for call in _walk(node.body):
                if isinstance(call, ast.Call) and _is_plain_assertion(call):
                    condition = call.args[0]
                    if _QUOTABLE.fullmatch(text, condition.start, condition.end):
                        found.append(condition.end)
    return found


def _is_plain_assertion(call: ast.Call) -> bool:
    if not (isinstance(call.func, ast.Name) and call.func.id in _ASSERTIONS and len(call.args) == 1):
        return False
    condition = call.args[0]
    if call.keywords or not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
        return False
    sides = (condition.first, condition.rest[0])
    return condition.ops[0] in ("<", "<=", ">", ">=", "==", "!=") and all(map(_is_pure, sides))


def _is_pure(node: ast.Expr) -> bool:
    """Return whether an expression can be computed once more: names, members, items, numbers, and operators of them."""
    match node:
        case ast.Name() | ast.IntLit() | ast.FloatLit() | ast.BoolLit():
            return True
        case ast.Attribute(value=value) | ast.Unary(value=value):
            return _is_pure(value)
        case ast.Binary(left=left, right=right):
            return _is_pure(left) and _is_pure(right)
        case ast.Subscript(base=base, args=args, keywords=()):
            return _is_pure(base) and bool(args) and all(map(_is_pure, args))
    return False


def _walk(value: object) -> Iterator[ast.Node]:
    if isinstance(value, ast.FunctionDecl):
        return  # it may be a kernel
    if isinstance(value, ast.Node):
        yield value
        for name in field_names(value):
            yield from _walk(getattr(value, name))
    elif isinstance(value, tuple):
        for one in value:
            yield from _walk(one)


def _with_operands(source: Source, shows: Sequence[int]) -> Source:
    """Give assertions a message that names the values of their operands; lines and columns before them stay."""
    text, parts, last = source.text, [], 0
    ends, added = dict(source.line_ends), 0
    for end in sorted(shows):
        start = _start_of(text, end)
        condition = " ".join(text[start:end].split())
        left, right = _sides(condition)
        values = [f', "\\n  where {one} = ", {one}' for one in (left, right) if not _is_literal(one)]
        message = f', String("`{condition}` does not hold"{"".join(values)})'
        parts.append(text[last:end] + message)
        ends = {at + len(message) if at >= end + added else at: spelled for at, spelled in ends.items()}
        last, added = end, added + len(message)
    return Source(source.path, "".join(parts) + text[last:], source.is_library, line_ends=ends, edition=source.edition)


def _start_of(text: str, end: int) -> int:
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (text[at] in ")]}") - (text[at] in "([{")
        if depth < 0:
            return at + 1
    return 0


def _sides(condition: str) -> tuple[str, str]:
    """Return both sides of a comparison without calls and strings."""
    depth = 0
    for at, char in enumerate(condition):
        depth += (char in "([{") - (char in ")]}")
        if (
            not depth
            and char in "<>=!"
            and condition[at - 1] not in "<>"
            and condition[at : at + 2] not in ("<<", ">>")
        ):
            size = 2 if condition[at + 1] == "=" else 1
            return condition[:at].strip(), condition[at + size :].strip()
    return condition, condition


def _is_literal(text: str) -> bool:
    return text[0].isdigit() or text in ("True", "False") or (text[0] in "-+." and text[1:2].isdigit())
