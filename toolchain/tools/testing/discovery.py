"""Tests in source files: functions `test_*`, and programs in docstrings.

Input: a parsed module. Output: `Case`s, in the order of the file. A docstring's program is a fenced block of the
language `mojo` or `kpy`; in it, `%#` starts a line that is run and not shown.
"""

import re
from collections.abc import Iterator

from ktc.base.editions import Edition
from ktc.base.records import record
from ktc.syntax import ast

PREFIX = "test_"
_BLOCK = re.compile(r"^([ \t]*)```(?:mojo|kpy)[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
_HIDDEN = re.compile(r"^([ \t]*)%#[ ]?", re.MULTILINE)
_DECLARES = re.compile(r"(?:async\s+)?(?:fn|def|struct|trait|alias|from|import|@)\b|@")


@record
class Case:
    """One test.

    Args:
        name: its name in the file: a function's name, or `doctest:LINE`.
        line: where it starts.
        program: of a docstring, as a module with the function `name_of_entry` in it; "" for a function.
        problem: why it cannot be run.
    """

    name: str
    line: int
    program: str = ""
    problem: str = ""


def functions(module: ast.Module) -> list[Case]:
    """Return the test functions of a module."""
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDecl) and node.name.startswith(PREFIX):
            needs = [one.name for one in node.args if one.default is None and one.kind not in ("star", "starstar")]
            problem = ""
            if needs and any(needs):
                problem = f"a test takes no arguments; this one takes '{needs[0]}'"
            elif any(one.default is None for one in node.params):
                problem = "a test takes no parameters"
            line = module.source.position(node.name_start)[0]
            found.append(Case(node.name, line, problem=problem))
    return found


def doctests(text: str, imports: str, edition: Edition = Edition.Y2025) -> Iterator[Case]:
    """Give the programs of a text's docstrings.

    Args:
        imports: the line that makes the module's own names known to them.
        edition: of the text.
    """
    head = "def run():\n" if edition is Edition.Y2025 else "def run() raises:\n"
    for doc in _DOCSTRING.finditer(text):
        for block in _BLOCK.finditer(doc[1]):
            start = doc.start(1) + block.start(2)
            line = text.count("\n", 0, start) + 1
            yield Case(f"doctest:{line}", line, _program(block[2], len(block[1].expandtabs()), line, imports, head))


def _program(text: str, indent: int, line: int, imports: str, run: str) -> str:
    """Return a module whose function `run` runs the text of a block; lines keep their numbers."""
    lines = [one[indent:] if not one[:indent].strip() else one for one in _HIDDEN.sub(r"\1", text).split("\n")]
    declared, inside, in_declaration = [], [], False
    for one in lines:
        is_top = bool(one) and not one[0].isspace() and one[0] not in ")]}"
        if is_top and not one.startswith("#"):
            in_declaration = bool(_DECLARES.match(one))
        declared.append(one if in_declaration else "")
        inside.append("" if in_declaration or not one.strip() else f"    {one}")
    if not any(one.strip() and not one.strip().startswith("#") for one in inside):
        has_main = any(re.match(r"(?:fn|def) main\b", one) for one in lines)
        return _padded(declared, line, imports) + run + ("    main()\n" if has_main else "    pass\n")
    if not any(one for one in declared):
        head = "\n" * (line - 3) if line > 2 else ""
        return f"{head}{imports}\n{run}" + "\n".join(inside) + "\n"
    # Declarations stand at their own lines; the statements come after them.
    return _padded(declared, line, imports) + run + "\n".join(inside) + "\n"


def _padded(lines: list[str], line: int, imports: str) -> str:
    return "\n" * max(0, line - 2) + imports + "\n" + "\n".join(lines) + "\n"
