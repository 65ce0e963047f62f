"""The primitives about the fields of structs, their names, types and places, and about lists of types."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from ktc.diag.codes import Code
from ktc.elaborate.builder import materialization, place_operations
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ParameterArgument, ParameterPack, PartialTy, StructTy
from ktc.elaborate.model.values import Place, Result
from ktc.elaborate.primitives.reflection import Handler, member
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types import struct_types, type_printer
from ktc.ir import types


def _fields(use: Use) -> list[tuple[str, Ty]]:
    ty = use.type_of("type")
    if not isinstance(ty, StructTy):
        return []
    if ty.symbolic:
        raise Symbolic
    return list(struct_types.fields_of(use.elab, ty))


def _field(use: Use) -> tuple[str, Ty]:
    fields, index = _fields(use), use.number("index")
    if not 0 <= index < len(fields):
        name = type_printer.type_name(use.elab, use.type_of("type"))
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"'{name}' has no field {index}: it has {len(fields)}, counted from 0")
    return fields[index]


def _count(use: Use) -> Result:
    return use.index(len(_fields(use)))


def _name(use: Use) -> Result:
    return use.string(_field(use)[0])


def _type(use: Use) -> Result:
    return _field(use)[1]


def _get(use: Use) -> Result:
    value = use.val(0)
    place = value if isinstance(value, Place) else materialization.as_place(use.body, value)
    return place_operations.field(use.body, place, _field(use)[0])


def _offset(use: Use) -> Result:
    ty = use.type_of("type")
    name = _field(use)[0]
    assert isinstance(ty, StructTy)
    slot, whole = struct_types.slot_of(use.elab, ty, name)[1], struct_types.ir_type(use.elab, ty)
    return use.index(whole.offsets[slot] if slot > 0 and isinstance(whole, types.StructType) else 0)


def _base_name(use: Use) -> Result:
    ty = use.type_of("type")
    return use.string(ty.info.name if isinstance(ty, StructTy) else type_printer.type_name(use.elab, ty))


def _is_struct(use: Use) -> Result:
    return use.truth(isinstance(use.type_of("type"), StructTy))


FIELDS: Mapping[str, tuple[Callable[[Use], Result], int, tuple[str, ...]]] = MappingProxyType(
    {
        "kgen.field.count": (_count, 0, ("type",)),
        "kgen.field.name": (_name, 0, ("type", "index")),
        "kgen.field.type": (_type, 0, ("type", "index")),
        "kgen.field.offset": (_offset, 0, ("type", "index")),
        "kgen.field.get": (_get, 1, ("type", "index")),
        "kgen.type_base_name": (_base_name, 0, ("type",)),
        "kgen.is_struct": (_is_struct, 0, ("type",)),
    }
)


# ---- lists of types: the values of a variadic parameter ----


def _types_repeat(use: Use) -> Result:
    return ParameterPack((use.type_of("type"),) * use.number("count"))


def _types_each(use: Use) -> Result:
    made = use.attr("of")
    if not isinstance(made, PartialTy) or len(made.params) != 1:
        use.mismatch("attribute 'of' must be a struct with one parameter, which is not given")
    return ParameterPack(
        tuple(struct_types.struct_type(use.elab, made.info, (value,)) for value in use.items("values"))
    )


def _types_concat(use: Use) -> Result:
    return ParameterPack(use.items("a") + use.items("b"))


def _types_reverse(use: Use) -> Result:
    return ParameterPack(use.items("types")[::-1])


def _types_replace(use: Use) -> Result:
    types = use.items("types")
    index = member(use, len(types))
    return ParameterPack((*types[:index], use.type_of("type"), *types[index + 1 :]))


def _types_leaves(use: Use) -> Result:
    made = use.attr("of")
    if not isinstance(made, PartialTy):
        use.mismatch("attribute 'of' must be a struct with one parameter, which is not given")
    return ParameterPack(tuple(_leaves(use.items("types"), made)))


def _leaves(types: tuple[ParameterArgument, ...], branch: PartialTy) -> Iterator[ParameterArgument]:
    """Give the types that are not instances of a struct, and those among the parameters of its instances."""
    for ty in types:
        pack = ty.params[0] if isinstance(ty, StructTy) and ty.info is branch.info else None
        if isinstance(pack, ParameterPack):
            yield from _leaves(pack.items, branch)
        else:
            yield ty


# operation -> (what does it, number of operands, attributes)
TYPE_LISTS: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {
        "kgen.types.repeat": (_types_repeat, 0, ("type", "count")),
        "kgen.types.each": (_types_each, 0, ("of", "values")),
        "kgen.types.concat": (_types_concat, 0, ("a", "b")),
        "kgen.types.reverse": (_types_reverse, 0, ("types",)),
        "kgen.types.replace": (_types_replace, 0, ("types", "index", "type")),
        "kgen.types.leaves": (_types_leaves, 0, ("types", "of")),
    }
)
