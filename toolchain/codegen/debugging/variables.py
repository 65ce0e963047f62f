"""Variables for a debugger: the names, types and places of a function's arguments and locals.

Input: names and types of the IR. Output: metadata nodes beside those of `line_tables`, and debug records for a
function. Types come from the unit's descriptions. Where there is none (a closure's environment), the IR's type is
shown: a struct with its fields by number.
"""

from collections.abc import Sequence

from ktc.codegen.context import Context
from ktc.codegen.debugging import described_types
from ktc.codegen.debugging.line_tables import location, numbered
from ktc.codegen.values.constants import quoted
from ktc.diag.source import Span
from ktc.ir.nodes import Function, Local
from ktc.ir.types import (
    ADDRESS_OF,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    align_of,
    size_of,
)  # fmt: skip

_FLOATS = {"f16": "Float16", "bf16": "BFloat16", "f32": "Float32", "f64": "Float64"}
_OURS = frozenset({"arguments", "chain", "moved", "result", "slot"})
"""Names of temporaries, unless they stand in the program too."""
_WORD = 64


def subroutine(context: Context, function: Function) -> int:
    """Return the number of the node of a function's type."""
    arguments = [_argument(context, function, index) for index in range(len(function.params))]
    members = [_reference(context, function.result), *arguments]
    listed = numbered(context, ("signature", tuple(members)), f"!{{{', '.join(members)}}}")
    return numbered(context, ("subroutine", listed), f"!DISubroutineType(types: !{listed})")


def records(
    context: Context, function: Function, scope: int, arguments: Sequence[int], slots: Sequence[tuple[Local, str]]
) -> list[str]:
    """Return the lines that describe a function's variables; they follow its stack slots.

    Args:
        arguments: indices of those that are there. slots: each local with the name of its address.
    """
    assert function.span is not None
    types, lines = context.types, []
    line = function.span.source.position(function.span.start)[0]
    at = location(context, function, scope, function.span)
    for index in arguments:
        name, kind = function.params[index]
        held = types.value(kind)
        lines.append(f"  %a{index}.slot = alloca {held}, align {align_of(kind)}")
        lines.append(f"  store {held} %a{index}, ptr %a{index}.slot, align {align_of(kind)}, !dbg {at}")
        node = _variable(context, scope, name, _argument(context, function, index), line, index + 1)
        lines.append(f"    #dbg_declare(ptr %a{index}.slot, !{node}, !DIExpression(), {at})")
    for local, address in slots:
        span: Span | None = local.span
        if span is None or span.source is not function.span.source or not local.name.isidentifier():
            continue
        if local.name in _OURS and not span.source.text.startswith(local.name, span.start):
            continue
        place = location(context, function, scope, span)
        shown = described_types.reference(context, local.described) or _reference(context, local.type)
        node = _variable(context, scope, local.name, shown, span.source.position(span.start)[0], 0, local.id)
        lines.append(f"    #dbg_declare(ptr {address}, !{node}, !DIExpression(), {place})")
    return lines


def _argument(context: Context, function: Function, index: int) -> str:
    """Return `!N` of an argument's type; what is passed by its address is a reference."""
    key = function.described.get(index, "")
    shown = described_types.reference(context, key.removeprefix(ADDRESS_OF))
    if not shown:
        return _reference(context, function.params[index][1])
    if not key.startswith(ADDRESS_OF):
        return shown
    text = f"!DIDerivedType(tag: DW_TAG_reference_type, baseType: {shown}, size: {_WORD})"
    return f"!{numbered(context, ('reference', shown), text)}"


def _variable(context: Context, scope: int, name: str, shown: str, line: int, arg: int, number: int = -1) -> int:
    which = f"arg: {arg}, " if arg else ""
    text = (
        f'!DILocalVariable(name: "{quoted(name.encode())}", {which}scope: !{scope}, file: !{context.file_of[scope]}, '
        f"line: {line}, type: {shown})"
    )
    return numbered(context, ("variable", scope, name, arg, number), text)


def _reference(context: Context, kind: Type) -> str:
    """Return `!N` of a type, or `null`."""
    text = _type(context, kind)
    return f"!{numbered(context, ('type', kind), text)}" if text else "null"


def _type(context: Context, kind: Type) -> str:
    bits = 8 * size_of(kind)
    match kind:
        case IntType(1):
            return '!DIBasicType(name: "Bool", size: 8, encoding: DW_ATE_boolean)'
        case IntType(width):
            name = "Int" if width == _WORD else f"Int{width}"
            return f'!DIBasicType(name: "{name}", size: {bits}, encoding: DW_ATE_signed)'
        case FloatType(name):
            return f'!DIBasicType(name: "{_FLOATS.get(name, name)}", size: {bits}, encoding: DW_ATE_float)'
        case PointerType():
            return f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: {_WORD})"
        case VectorType(element, lanes):
            return _array(context, element, lanes, bits, ", flags: DIFlagVector")
        case ArrayType(element, count):
            return _array(context, element, count, bits, "")
        case StructType(fields):
            members = [
                numbered(
                    context, ("member", kind, index),
                    f'!DIDerivedType(tag: DW_TAG_member, name: "_{index}", baseType: {_reference(context, field)}, '
                    f"size: {8 * size_of(field)}, offset: {8 * kind.offsets[index]})",
                )
                for index, field in enumerate(fields) if size_of(field)
            ]  # fmt: skip
            listed = numbered(context, ("members", kind), "!{" + ", ".join(f"!{member}" for member in members) + "}")
            return f"!DICompositeType(tag: DW_TAG_structure_type, size: {bits}, elements: !{listed})"
    return ""


def _array(context: Context, element: Type, count: int, bits: int, flags: str) -> str:
    bounds = numbered(context, ("bounds", count), f"!DISubrange(count: {count})")
    listed = numbered(context, ("bounds of", count), f"!{{!{bounds}}}")
    base = _reference(context, element)
    return f"!DICompositeType(tag: DW_TAG_array_type, baseType: {base}, size: {bits}{flags}, elements: !{listed})"
