"""Descriptions of the language's own types as debug metadata.

Input: keys of `Unit.described`. Output: numbered nodes. Those that a type needs are the same for all functions, so they
are written once for a unit and added to the uses of each function that has such a variable.
"""

from ktc.codegen.context import Context
from ktc.codegen.debugging.line_tables import number_of, numbered
from ktc.codegen.values.constants import quoted
from ktc.ir.types import ArrayType, DescribedType, VectorType, size_of

_WORD = 64


def reference(context: Context, key: str) -> str:
    """Return `!N` of a described type; "" where there is no description."""
    if key not in context.unit.described:
        return ""
    if key not in context.described:
        around = context.uses.metadata
        context.uses.metadata = {}
        _write(context, key)
        context.uses.metadata, context.described[key] = around, context.uses.metadata
    context.uses.metadata.update(context.described[key])
    return _name(context, key)


def _name(context: Context, key: str) -> str:
    return f"!{number_of(context, ('described', key))}" if key else "null"


def _write(context: Context, start: str) -> None:
    """Write the nodes of a type and of all that it leads to; types may lead back to themselves."""
    work, done = [start], set[str]()
    while work:
        key = work.pop()
        if key in done or key not in context.unit.described:
            continue
        done.add(key)
        kind = context.unit.described[key]
        numbered(context, ("described", key), _text(context, key, kind))
        work += [kind.target, *(field for _, _, field in kind.fields)]


def _text(context: Context, key: str, kind: DescribedType) -> str:
    bits, name = 8 * size_of(kind.kind), f'name: "{quoted(kind.name.encode())}", '
    match kind.form, kind.kind:
        case "pointer", _:
            return f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {_target(context, kind)}, size: {_WORD})"
        case ("array", ArrayType(count=count)) | ("vector", VectorType(lanes=count)):
            flags = ", flags: DIFlagVector" if kind.form == "vector" else ""
            bounds = numbered(context, ("bounds", count), f"!DISubrange(count: {count})")
            listed = numbered(context, ("bounds of", count), f"!{{!{bounds}}}")
            target = _target(context, kind)
            return (
                f"!DICompositeType(tag: DW_TAG_array_type, baseType: {target}, size: {bits}{flags}, "
                f"elements: !{listed})"
            )
        case (("array" | "vector" | "struct"), _):
            members = [_member(context, key, kind, index) for index in range(len(kind.fields))]
            listed = numbered(context, ("described members", key), f"!{{{', '.join(members)}}}")
            return f"!DICompositeType(tag: DW_TAG_structure_type, {name}size: {bits}, elements: !{listed})"
    return f"!DIBasicType({name}size: {bits}, encoding: DW_ATE_{kind.form})"


def _target(context: Context, kind: DescribedType) -> str:
    return _name(context, kind.target if kind.target in context.unit.described else "")


def _member(context: Context, key: str, kind: DescribedType, index: int) -> str:
    name, offset, field = kind.fields[index]
    size = size_of(context.unit.described[field].kind)
    node = numbered(
        context, ("described member", key, index),
        f'!DIDerivedType(tag: DW_TAG_member, name: "{name}", baseType: {_name(context, field)}, '
        f"size: {8 * size}, offset: {8 * offset})",
    )  # fmt: skip
    return f"!{node}"
