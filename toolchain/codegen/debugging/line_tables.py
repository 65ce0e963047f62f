"""Line tables: which instruction comes from which line. `variables` adds what a full description has.

Input: spans. Output: numbered metadata nodes in the `Uses` of what needs them, and inline places. Numbers from 100 on
are ours; a module prints the nodes that its functions use.
"""

from ktc.codegen.context import Context, Uses
from ktc.codegen.values.constants import quoted
from ktc.diag.source import Source, Span
from ktc.ir.nodes import Function
from ktc.targets.checked import UNCHECKED

_UNIT, _TYPE, _TYPES = 100, 101, 102
_FIRST_FREE = 110
_BYTES = ("utf-8", "surrogateescape")
"""A path's bytes, whatever encoding Python took the file system for."""


def is_described(context: Context, function: Function) -> bool:
    """Return whether a function has line tables: when LLVM inlines another one, its code has the caller's position."""
    return context.debug > 0 and function.span is not None and function.traced


def subprogram(context: Context, function: Function, signature: int = 0, kind_of: str = "function") -> int:
    """Return the number of the function's node.

    Args:
        signature: number of the node of its type, if variables are described too.
        kind_of: "function", or "wrapper" for code of ours around it.
    """
    assert function.span is not None
    file = _file(context, function.span.source)
    nodes = context.uses.metadata
    kind = "FullDebug" if describes_variables(context) else context.target.line_tables
    whole = _whole(context, function.span.source)
    nodes[_UNIT] = (
        f'!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{whole}, producer: "ktc", '
        f"isOptimized: true, runtimeVersion: 0, emissionKind: {kind})"
    )
    nodes[_TYPE] = f"!{_TYPE} = !DISubroutineType(types: !{_TYPES})"
    nodes[_TYPES] = f"!{_TYPES} = !{{null}}"
    line = function.span.source.position(function.span.start)[0]
    number = number_of(context, (kind_of, function.symbol))
    flags = "" if kind_of == "function" else "flags: DIFlagArtificial, "
    note = f', annotations: !{{!{{!"{UNCHECKED}", !""}}}}' if function.unchecked and context.target.checks else ""
    nodes[number] = (
        f'!{number} = distinct !DISubprogram(name: "{quoted(function.title.encode())}", scope: !{file}, '
        f"file: !{file}, line: {line}, type: !{signature or _TYPE}, scopeLine: {line}, {flags}"
        f"spFlags: DISPFlagDefinition, unit: !{_UNIT}{note})"
    )
    context.file_of[number] = file
    return number


def wrapped(context: Context, function: Function, text: str) -> tuple[str, dict[int, str]]:
    """Give code of ours around a function its place, and return the nodes that this needs.

    LLVM forgets the places of what it expands into a function that has none.
    """
    if not is_described(context, function):
        return text, {}
    assert function.span is not None
    context.uses = uses = Uses()
    scope = subprogram(context, function, 0, "wrapper")
    at = location(context, function, scope, function.span)
    head, _, body = text.partition(" {\n")
    lines = [f"{line}, !dbg {at}" if " call " in line else line for line in body.split("\n")]
    return f"{head} !dbg !{scope} {{\n" + "\n".join(lines), uses.metadata


def describes_variables(context: Context) -> bool:
    """Return whether variables are wanted: of code for a processor; for a GPU `-g2` gives line tables too."""
    return context.debug > 1 and context.target.describes_variables


def location(context: Context, function: Function, scope: int, span: Span) -> str:
    """Return a place as metadata that stands inline."""
    line, column = span.source.position(span.start)
    assert function.span is not None
    if span.source is not function.span.source:
        # Expanded from another file: a block of the function in that file.
        file = _file(context, span.source)
        number = number_of(context, ("block", scope, file))
        context.uses.metadata[number] = (
            f"!{number} = !DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: 0)"
        )
        scope = number
    return f"!DILocation(line: {line}, column: {column}, scope: !{scope})"


def _file(context: Context, source: Source) -> int:
    number = number_of(context, ("file", id(source)))
    folder, _, name = source.path.rpartition("/")
    file, place = quoted(name.encode(*_BYTES)), quoted(folder.encode(*_BYTES))
    context.uses.metadata[number] = f'!{number} = !DIFile(filename: "{file}", directory: "{place}")'
    return number


def _whole(context: Context, source: Source) -> int:
    """Return the node of a unit's file, without a folder: tools put that before all paths that are relative."""
    number = number_of(context, ("whole", id(source)))
    path = quoted(source.path.encode(*_BYTES))
    context.uses.metadata[number] = f'!{number} = !DIFile(filename: "{path}", directory: "")'
    return number


def numbered(context: Context, key: tuple[object, ...], text: str) -> int:
    """Return the number of a node, which is written where it is used."""
    number = number_of(context, key)
    context.uses.metadata[number] = f"!{number} = {text}"
    return number


def number_of(context: Context, key: tuple[object, ...]) -> int:
    return context.numbers.setdefault(key, _FIRST_FREE + len(context.numbers))
