"""The primitives that make lists of types: the values of a variadic parameter."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ktc.elaborate.model.types import ParameterArgument, ParameterPack, PartialTy, StructTy
from ktc.elaborate.model.values import Result
from ktc.elaborate.primitives.reflection import Handler, member
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types import struct_types


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
