"""Line tables: which instruction comes from which line.

In: spans. Out: numbered metadata nodes in the `Uses` of what needs them, and inline places. Numbers from 100 on are
ours; a module prints the nodes that its functions use.
"""

from ktc.codegen.constants import quoted
from ktc.codegen.context import Context
from ktc.diag.source import Source, Span
from ktc.ir.nodes import Function

_UNIT, _TYPE, _TYPES = 100, 101, 102
_FIRST_FREE = 110
_KINDS = {"nvidia": "DebugDirectivesOnly"}
"""By vendor: with the other kinds NVIDIA's assembler does not optimise."""


def subprogram(context: Context, function: Function) -> int:
    """Return the number of the function's node."""
    assert function.span is not None
    file = _file(context, function.span.source)
    nodes = context.uses.metadata
    kind = "LineTablesOnly" if not context.target.is_device else _KINDS.get(context.target.vendor, "LineTablesOnly")
    nodes[_UNIT] = (
        f'!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, producer: "ktc", '
        f"isOptimized: true, runtimeVersion: 0, emissionKind: {kind})"
    )
    nodes[_TYPE] = f"!{_TYPE} = !DISubroutineType(types: !{_TYPES})"
    nodes[_TYPES] = f"!{_TYPES} = !{{null}}"
    line = function.span.source.position(function.span.start)[0]
    number = _number(context, ("function", function.symbol))
    nodes[number] = (
        f'!{number} = distinct !DISubprogram(name: "{quoted(function.title.encode())}", scope: !{file}, '
        f"file: !{file}, line: {line}, type: !{_TYPE}, scopeLine: {line}, spFlags: DISPFlagDefinition, "
        f"unit: !{_UNIT})"
    )
    return number


def location(context: Context, function: Function, scope: int, span: Span) -> str:
    """Return a place as metadata that stands inline."""
    line, column = span.source.position(span.start)
    assert function.span is not None
    if span.source is not function.span.source:
        # Expanded from another file: a block of the function in that file.
        file = _file(context, span.source)
        number = _number(context, ("block", scope, file))
        context.uses.metadata[number] = (
            f"!{number} = !DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: 0)"
        )
        scope = number
    return f"!DILocation(line: {line}, column: {column}, scope: !{scope})"


def _file(context: Context, source: Source) -> int:
    number = _number(context, ("file", id(source)))
    folder, _, name = source.path.rpartition("/")
    context.uses.metadata[number] = (
        f'!{number} = !DIFile(filename: "{quoted(name.encode())}", directory: "{quoted(folder.encode())}")'
    )
    return number


def _number(context: Context, key: tuple[object, ...]) -> int:
    return context.numbers.setdefault(key, _FIRST_FREE + len(context.numbers))
