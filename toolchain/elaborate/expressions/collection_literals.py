"""Collection literals: lists, sets and dictionaries.

Input: the nodes of a collection literal and, if known, the expected type. Output: a value. As the argument of a call it
stays a `CollectionLiteral` until the function is chosen, because the declared type of the argument decides its type.
"""

from functools import partial

from ktc.base.editions import Edition
from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.calls import call_lowering, conversions, overload_resolution
from ktc.elaborate.calls.overload_resolution import CONVERSION, DISPLAY
from ktc.elaborate.calls.writeback import fetched
from ktc.elaborate.closures import function_pointers
from ktc.elaborate.expressions import literals, operands
from ktc.elaborate.generics import parameter_binding
from ktc.elaborate.model.declarations import StructInfo, Ty
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.errors import Mismatch
from ktc.elaborate.model.instance import UnresolvedCall
from ktc.elaborate.model.types import ConstValue, FunctionTy, FunctionValue, ParameterArgument, StructTy
from ktc.elaborate.model.values import Arg, CollectionLiteral, PackValue, Place, Result, RValue, Val
from ktc.elaborate.types import struct_members, struct_types, well_known
from ktc.syntax import ast

FLAGS = {
    "List": "__list_literal__",
    "Set": "__set_literal__",
    "Dict": "__dict_literal__",
    "Slice": "__slice_literal__",
}


def argument_or_literal(body: Body, node: ast.Expr) -> Arg:
    """Elaborate one argument of a call; a collection literal keeps no type until the function is chosen."""
    match node:
        case ast.ListLit(items=items):
            return Arg(_literal(body, "List", items, (), node), body.at(node))
        case ast.SetLit(items=items):
            return Arg(_literal(body, "Set", items, (), node, node.keywords), body.at(node))
        case ast.DictLit(items=pairs):
            literal = _literal(body, "Dict", tuple(k for k, _ in pairs), tuple(v for _, v in pairs), node)
            return Arg(literal, body.at(node))
    return operands.arg(body, node)


def index_or_literal(body: Body, base: Result, node: ast.Expr) -> Arg:
    """Elaborate an index; a slice of a type that is not the library's may become what its method takes."""
    ty = getattr(base, "ty", None)
    if not isinstance(node, ast.Slice) or not isinstance(ty, StructTy):
        return argument_or_literal(body, node)
    if body.frame.module.edition is Edition.Y2026 and _tells_steps_apart(body, ty):
        return Arg(literals.stepped_or_not(body, node), body.at(node))
    if ty.info.module.is_library:
        return operands.arg(body, node)
    literal = CollectionLiteral("Slice", tuple(literals.slice_parts(body, node)), (), node, None)
    own = well_known.library_type(body.elab, "Slice")
    inits = struct_members.method_set(body.elab, own, "__init__")
    assert inits is not None
    call = UnresolvedCall(FunctionValue(inits, (), (), own), literal.items, (), body.at(node))
    if overload_resolution.choose(body, call, quiet=True):
        literal.ty = own
    return Arg(literal, body.at(node))


def _tells_steps_apart(body: Body, ty: StructTy) -> bool:
    """Return whether a type has a `__getitem__` for the library's slices without a step."""
    getter = struct_members.method_set(body.elab, ty, "__getitem__")
    for fn in getter.functions if getter is not None else ():
        for arg in fn.node.args:
            if isinstance(arg.type, ast.Name) and arg.type.id == "ContiguousSlice":
                own = fn.module.scope.names.get(arg.type.id)
                return not isinstance(own, StructInfo) or own.module.is_library
    return False


def operand_or_literal(body: Body, node: ast.Expr) -> Result:
    """Elaborate the right operand of an operator; the operator's method decides the type of a collection literal."""
    if isinstance(node, (ast.ListLit, ast.SetLit, ast.DictLit)):
        return argument_or_literal(body, node).value
    return body.api.expr(body, node)


def literal_like(body: Body, literal: CollectionLiteral, other: object) -> Val:
    """Build a collection literal that is an operand: of the other operand's type, if possible."""
    expected = getattr(other, "ty", None)
    fits = isinstance(expected, Ty) and collection_cost(body, literal, expected) is not None
    return build_collection(body, literal, expected if fits else None)


def _literal(
    body: Body, name: str, keys: tuple[ast.Expr, ...], values: tuple[ast.Expr, ...], node: ast.Expr,
    keywords: tuple[ast.Keyword, ...] = (),
) -> CollectionLiteral:  # fmt: skip
    first = operands.first_operand(
        body, values, partial(operands.all_operands, body, keys, partial(argument_or_literal, body))
    )
    second = operands.all_operands(body, values, partial(argument_or_literal, body))
    for arg in (*first, *second):
        arg.value = fetched(body, arg.value)
    literal = CollectionLiteral(name, tuple(first), tuple(second), node, None)
    if keywords:
        literal.keywords = tuple(operands.operand(body, item, partial(keyword, body)) for item in keywords)
        return literal
    kinds = [_common_element(body, part) for part in ([first, second] if name == "Dict" else [first])]
    if None not in kinds:
        try:
            literal.ty = _own_type(body, literal, tuple(kinds))
        except Mismatch as reason:
            literal.mismatch = reason  # another collection may be expected
    return literal


def _own_type(body: Body, literal: CollectionLiteral, kinds: tuple[Ty | None, ...]) -> StructTy:
    """Return the type of a collection literal that no other is expected of: in edition 2026 `[1, 2]` is an array."""
    if literal.name == "List" and literal.items and body.frame.module.edition is Edition.Y2026:
        count = ConstValue(well_known.library_type(body.elab, "Int"), len(literal.items))
        return parameter_binding.library_struct(body.elab, "InlineArray", (*kinds, count))
    return parameter_binding.library_struct(body.elab, literal.name, kinds)


def collection_literal(
    body: Body, node: ast.ListLit | ast.SetLit, items: tuple[ast.Expr, ...], name: str, expected: Ty | None
) -> Val:
    """Make a list or a set."""
    keywords = node.keywords if isinstance(node, ast.SetLit) else ()
    return build_collection(body, _literal(body, name, items, (), node, keywords), expected)


def literal_of(body: Body, node: ast.ListLit | ast.SetLit | ast.DictLit, name: str) -> Val:
    """Make a collection of the library whose elements' types only the literal says: `var x: List = [1, 2]`."""
    literal = argument_or_literal(body, node).value
    assert isinstance(literal, CollectionLiteral)
    if literal.name != name or literal.ty is None or literal.keywords:
        return build_collection(body, literal, None)
    kinds = literal.ty.params if isinstance(literal.ty, StructTy) else ()
    ty = parameter_binding.library_struct(body.elab, name, kinds[: 2 if name == "Dict" else 1])
    return build_collection(body, literal, ty)


def dict_of(body: Body, node: ast.DictLit, items: tuple[tuple[ast.Expr, ast.Expr], ...], expected: Ty | None) -> Val:
    """Make a dictionary; `{}` makes a value of the expected type."""
    literal = _literal(body, "Dict", tuple(key for key, _ in items), tuple(value for _, value in items), node)
    return build_collection(body, literal, expected)


def collection_cost(body: Body, late: CollectionLiteral | ast.Expr, expected: Ty) -> int | None:
    """Return the cost of converting a collection literal to `expected`; None if it cannot be converted."""
    literal = late if isinstance(late, CollectionLiteral) else argument_or_literal(body, late).value
    assert isinstance(literal, CollectionLiteral)
    if literal.ty is expected:
        return 0
    if not isinstance(expected, StructTy) or expected.symbolic:
        return None
    if literal.name == "Slice" and not _has_literal_constructor(body, expected, FLAGS["Slice"]):
        implicit = literal.ty is not None and overload_resolution.conversion(body, literal.ty, expected) is not None
        return CONVERSION if implicit else None
    wants = None if literal.keywords else _element_types(body, literal, expected)
    if wants is not None:
        parts = (literal.items, literal.values) if literal.name == "Dict" else (literal.items,)
        fits = all(_is_convertible(body, arg, kind) for part, kind in zip(parts, wants, strict=True) for arg in part)
        return DISPLAY if fits else None
    if not literal.keywords and _has_literal_constructor(body, expected, FLAGS[literal.name]):
        lanes = _lanes(expected)
        fits = lanes in (None, len(literal.items)) and (literal.name == "Dict" or _is_taken(body, literal, expected))
        return DISPLAY if fits else None
    if literal.ty is not None and overload_resolution.conversion(body, literal.ty, expected) is not None:
        return CONVERSION
    if literal.values or (literal.name == "List" and not literal.items):
        return None
    inits = struct_members.method_set(body.elab, expected, "__init__")
    if expected.info.fieldwise and literal.name == "Set" and _fits_fields(body, literal, expected):
        return CONVERSION
    if inits is None or literal.name == "List":
        return None
    constructor = FunctionValue(inits, (), (), expected)
    call = UnresolvedCall(constructor, literal.items, literal.keywords, body.at(literal.node))
    found = overload_resolution.choose(body, call, quiet=True)
    return None if found is None else CONVERSION


def _is_convertible(body: Body, arg: Arg, expected: ParameterArgument) -> bool:
    value = arg.value
    if not isinstance(expected, Ty):
        return False
    if isinstance(value, CollectionLiteral):  # a number is not meant by '[1]' inside of another
        is_number = isinstance(expected, StructTy) and _lanes(expected) == 1
        return not is_number and collection_cost(body, value, expected) is not None
    if isinstance(value, FunctionValue):
        return isinstance(expected, FunctionTy)
    return (
        isinstance(value, (RValue, Place, ConstValue))
        and overload_resolution.conversion(body, value.ty, expected) is not None
    )


def _fits_fields(body: Body, literal: CollectionLiteral, expected: StructTy) -> bool:
    """Whether a collection literal gives each field of a struct marked with `@fieldwise_init` a value."""
    fields = dict(struct_types.fields_of(body.elab, expected))
    given = dict(zip(fields, literal.items, strict=False)) | {arg.name: arg for arg in literal.keywords}
    if len(literal.items) + len(literal.keywords) != len(fields) or given.keys() != fields.keys():
        return False
    return all(_is_convertible(body, arg, fields[name]) for name, arg in given.items())


def _element_types(body: Body, literal: CollectionLiteral, expected: Ty | None) -> tuple[ParameterArgument, ...] | None:
    """Return the types of the elements if the collection literal's own collection is expected."""
    if isinstance(expected, StructTy) and expected.info.name == literal.name and expected.info.module.is_library:
        return expected.params[: 2 if literal.name == "Dict" else 1]
    if expected is literal.ty and isinstance(expected, StructTy):  # an array
        return expected.params[:1]
    return None


def _has_literal_constructor(body: Body, expected: StructTy, flag: str) -> bool:
    """Return whether a constructor of a type takes collection literals."""
    inits = struct_members.method_set(body.elab, expected, "__init__")
    return inits is not None and any(a.name == flag for f in inits.functions for a in f.node.args)


def _is_taken(body: Body, literal: CollectionLiteral, expected: StructTy) -> bool:
    """Return whether a constructor of a type takes the elements of a collection literal."""
    span, flagged = body.at(literal.node), []
    if literal.name != "Slice":  # its flag always has a default value
        nothing = RValue(_flag_type(body, expected, FLAGS[literal.name]), None)  # type: ignore[arg-type]
        flagged = [Arg(nothing, span, FLAGS[literal.name])]
    inits = struct_members.method_set(body.elab, expected, "__init__")
    if inits is None:
        return False
    call = UnresolvedCall(FunctionValue(inits, (), (), expected), literal.items, flagged, span)
    return bool(overload_resolution.choose(body, call, quiet=True))


def _lanes(expected: StructTy) -> int | None:
    """Return the number of lanes of a vector type, which a literal of it must match; None for other types."""
    if expected.info.name != "SIMD" or not expected.info.module.is_library:
        return None
    size = expected.params[1]
    return size.data if isinstance(size, ConstValue) and isinstance(size.data, int) else None


def build_collection(body: Body, literal: CollectionLiteral, expected: Ty | None) -> Val:
    """Build a collection literal: of the expected type if possible, else of its own."""
    span = body.at(literal.node)
    if literal.keywords:
        if isinstance(expected, StructTy) and not expected.symbolic:
            return call_lowering.call(body, expected, list(literal.items), list(literal.keywords), span)
        body.fail(Code.CANNOT_INFER_PARAMETER, "the type that '{... = ...}' constructs is not known here", span)
    wants = _element_types(body, literal, expected) if literal.name != "Slice" else None
    if wants is None and isinstance(expected, StructTy) and not expected.symbolic:
        if _has_literal_constructor(body, expected, FLAGS[literal.name]):
            if (lanes := _lanes(expected)) is not None and lanes != len(literal.items):
                expected_name = "a number" if lanes == 1 else f"a vector of {lanes}"
                text = f"a list of {len(literal.items)} elements does not make {expected_name}"
                body.fail(Code.TYPE_MISMATCH, text, body.at(literal.node))
            return call_lowering.call(body, expected, *_literal_args(body, literal, expected))
        implicit = literal.ty is not None and overload_resolution.conversion(body, literal.ty, expected) is not None
        is_empty = literal.name == "Dict" and not literal.items
        if not implicit and not literal.values and (literal.name == "Set" or is_empty):
            return call_lowering.call(body, expected, list(literal.items), [], span)
    if literal.name == "Slice":
        return call_lowering.call(body, well_known.library_type(body.elab, "Slice"), list(literal.items), [], span)
    if wants is not None and all(isinstance(kind, Ty) for kind in wants):
        ty = expected
    else:
        ty = _of_constants(body, literal) or literal.ty
        if ty is None:
            _no_element(body, literal)
        assert isinstance(ty, StructTy)
        wants = _element_types(body, literal, ty)
    kinds = [kind for kind in wants or () if isinstance(kind, Ty)]
    items = [Arg(conversions.convert(body, a.value, kinds[0], a.span), a.span) for a in literal.items]
    values = [Arg(conversions.convert(body, a.value, kinds[1], a.span), a.span) for a in literal.values]
    if literal.name == "Dict":
        parts = []
        for part, kind in ((items, kinds[0]), (values, kinds[1])):
            made = call_lowering.call(
                body, parameter_binding.library_struct(body.elab, "List", (kind,)), *_list_args(body, literal, part)
            )
            parts.append(Arg(made, span))
        return call_lowering.call(body, ty, parts, [_flag(body, literal, FLAGS["Dict"])], span)
    return call_lowering.call(body, ty, items, [_flag(body, literal, FLAGS[literal.name])], span)


def _of_constants(body: Body, literal: CollectionLiteral) -> Ty | None:
    """Return the type of a list or set of several literals without an expected type, in edition 2025."""
    if body.frame.module.edition is Edition.Y2026:
        return None
    kinds = {arg.value.ty: None for arg in literal.items if isinstance(arg.value, ConstValue)}
    if len(kinds) < 2 or literal.values or not all(isinstance(arg.value, ConstValue) for arg in literal.items):
        return None
    elements = {well_known.materialized(body.elab, kind, True): None for kind in kinds}
    plain = {well_known.materialized(body.elab, kind, False): None for kind in kinds}
    if len(elements) > 1 or len(plain) > 1 or elements == plain:
        return None
    return parameter_binding.library_struct(body.elab, literal.name, tuple(elements))


def _literal_args(body: Body, literal: CollectionLiteral, expected: StructTy) -> tuple[list[Arg], list[Arg], Span]:
    """Return the arguments for a constructor that takes a collection literal."""
    items, values = literal.items, literal.values
    if literal.name == "Slice":  # its flag always has a default value, '()' or 'None'
        return list(items), [], body.at(literal.node)
    flag = _flag(body, literal, FLAGS[literal.name], expected)
    if literal.name != "Dict":
        return list(items), [flag], body.at(literal.node)
    lists = [CollectionLiteral("List", part, (), literal.node, None) for part in (items, values)]
    for made in lists:
        kind = _common_element(body, list(made.items))
        made.ty = None if kind is None else parameter_binding.library_struct(body.elab, "List", (kind,))
    return [Arg(made, body.at(literal.node)) for made in lists], [flag], body.at(literal.node)


def _list_args(body: Body, literal: CollectionLiteral, items: list[Arg]) -> tuple[list[Arg], list[Arg], Span]:
    return items, [_flag(body, literal, FLAGS["List"])], body.at(literal.node)


def _flag(body: Body, literal: CollectionLiteral, name: str, expected: StructTy | None = None) -> Arg:
    span = body.at(literal.node)
    return Arg(call_lowering.call(body, _flag_type(body, expected, name), [], [], span), span, name)


def _flag_type(body: Body, expected: StructTy | None, flag: str) -> StructTy:
    """Return the type of a literal's flag: an empty tuple, or `NoneType` where a constructor declares that."""
    inits = struct_members.method_set(body.elab, expected, "__init__") if expected is not None else None
    for fn in inits.functions if inits is not None else ():
        declared = next((arg.type for arg in fn.node.args if arg.name == flag), None)
        if isinstance(declared, ast.Name) and declared.id == "NoneType":
            none = well_known.library_type(body.elab, "NoneType")
            assert isinstance(none, StructTy)
            return none
    return well_known.tuple_type(body.elab, ())


def _common_element(body: Body, args: list[Arg]) -> Ty | None:
    """Return the type to which all elements convert, if there is one."""
    kinds: list[Ty] = []
    for arg in args:
        value = arg.value
        if isinstance(value, CollectionLiteral):
            if value.ty is not None:
                kinds.append(value.ty)
        elif isinstance(value, FunctionValue):
            thin = function_pointers.thin_type(body.elab, value)
            if thin is None:
                return None
            kinds.append(thin)
        elif isinstance(value, (RValue, Place, ConstValue)):
            kinds.append(well_known.materialized(body.elab, value.ty, False))
        else:
            return None
    for kind in dict.fromkeys(kinds):
        if all(_is_convertible(body, arg, kind) for arg in args):
            return kind
    return None


def _no_element(body: Body, literal: CollectionLiteral) -> None:
    name, span = literal.name.lower(), body.at(literal.node)
    if literal.mismatch is not None:
        body.fail(literal.mismatch.code, literal.mismatch.message, span, literal.mismatch.help())
    if not literal.items:
        help = (
            "give the variable a type: 'var name: List[Int] = []'"
            if name == "list"
            else "write 'Dict[String, Int]()', with the types of its keys and values"
        )
        body.fail(
            Code.CANNOT_INFER_PARAMETER, f"the type of the elements of this empty {name} is not known", span, help
        )
    if any(isinstance(a.value, PackValue) or not hasattr(a.value, "ty") for a in (*literal.items, *literal.values)):
        body.fail(Code.TYPE_MISMATCH, "a value is expected here", span)
    help = "a tuple '(…)', or elements of a type 'Variant[…]', can be of several types"
    body.fail(Code.TYPE_MISMATCH, f"the elements of this {name} have no common type", span, help)


def keyword(body: Body, node: ast.Keyword, base: Result = None) -> Arg:
    """Elaborate a keyword argument, of a subscript of `base` if that is given."""
    found = argument_or_literal(body, node.value) if base is None else index_or_literal(body, base, node.value)
    found.name = node.name
    found.span = body.at(node)
    return found
