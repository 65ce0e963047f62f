"""The primitives as packages spell them: attributes, types and operations of the reference's dialects.

Input: the text after `__mlir_attr`, `__mlir_type` and `__mlir_op`. Output: the primitive of the closed tables
that it means. A text that means none of them is reported by its name.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ktc.diag.codes import Code
from ktc.diag.source import Span
from ktc.elaborate.comptime import evaluation
from ktc.elaborate.model.elaboration import Body
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.types import ConstValue, Opaque, ParameterArgument, PrimTy, UnboundParameter
from ktc.elaborate.model.values import Result, RValue
from ktc.elaborate.primitives.arithmetic import Handler, convert
from ktc.elaborate.primitives.memory import load, store
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types import primitive_types
from ktc.ir import nodes, types
from ktc.syntax import ast

_NUMBER = re.compile(r"(-?\d+)(?:\s*:\s*([\w!.<>]+))?")
_TEXT = re.compile(r'"(.*)"(?:\s*:\s*!kgen\.string)?')
_WORD = re.compile(r"#[\w.]+<\w+ (\w+)>")
_VECTOR = re.compile(r"!pop\.(?:scalar<(\w+)>|simd<(\d+), ?(\w+)>)")
_BUILTIN_VECTOR = re.compile(r"vector<(\d+) ?x ?(\w+)>")
_LLVM_POINTER = re.compile(r"!llvm\.ptr(?:<(\d+)>)?")
_DTYPE = re.compile(r"#kgen\.dtype\.constant<(\w+)>(?:\s*:\s*!kgen\.dtype)?")
_COMPOSED = re.compile(r"(!pop\.array|!pop\.simd|!pop\.scalar|!kgen\.pointer)<([^<>,]+)(?:, *([^<>,]+))?>")
_HOLE = "$"

_ELEMENTS: Mapping[str, int] = MappingProxyType(
    {
        "bool": 1, "si8": 2, "ui8": 3, "si16": 4, "ui16": 5, "si32": 6, "ui32": 7, "si64": 8, "ui64": 9, "si128": 10,
        "ui128": 11, "si256": 12, "ui256": 13, "f16": 16, "bf16": 17, "f32": 18, "f64": 19, "index": 24, "uindex": 25,
    }
)  # fmt: skip
"""Elements of vectors with their dtype codes."""

_BUILTIN_ELEMENTS: Mapping[str, str] = MappingProxyType({"i8": "si8", "i16": "si16", "i32": "si32", "i64": "si64"})
"""Elements of builtin vectors that are spelled otherwise."""

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "!pop.int_literal": "!kgen.int_literal",
        "!pop.float_literal": "!kgen.float_literal",
        "!pop.string": "!kgen.string",
        "none": "!kgen.none",
    }
)


def type_named(body: Body, name: str, span: Span) -> PrimTy:
    """Return the primitive type of a name as it stands after `__mlir_type`; report what is none."""
    plain = _TYPES.get(name, name)
    args: tuple[int, ...] = ()
    vector = _VECTOR.fullmatch(name)
    if vector is not None and (vector[1] or vector[3]) in _ELEMENTS:
        plain, args = "!pop.simd", (int(vector[2] or 1), _ELEMENTS[vector[1] or vector[3]])
    elif (vector := _BUILTIN_VECTOR.fullmatch(name)) and _BUILTIN_ELEMENTS.get(vector[2], vector[2]) in _ELEMENTS:
        plain, args = "!pop.simd", (int(vector[1]), _ELEMENTS[_BUILTIN_ELEMENTS.get(vector[2], vector[2])])
    elif (pointer := _LLVM_POINTER.fullmatch(name)) is not None:
        plain, args = "!kgen.pointer", (int(pointer[1]),) if pointer[1] else ()
    elif name.startswith("!kgen.pointer<"):
        plain = "!kgen.pointer"
    try:
        return primitive_types.prim(body.elab, plain, args)
    except ValueError as reason:
        body.fail(Code.UNDEFINED_NAME, str(reason), span)


def composed_type(body: Body, node: ast.Subscript) -> PrimTy:
    """Return the type of ``__mlir_type[`!pop.array<`, n, `, `, T, `>`]``: names in backquotes are text."""
    text, values, span = "", list[ParameterArgument](), body.at(node)
    for arg in node.args:
        if isinstance(arg, ast.Name) and not arg.id.isidentifier():
            text += arg.id
        else:
            text += _HOLE
            values.append(evaluation.param_arg(body, arg))
    if any(isinstance(one, (UnboundParameter, Opaque)) or getattr(one, "symbolic", False) for one in values):
        raise Symbolic
    if not values:
        return type_named(body, text, span)
    found = _COMPOSED.fullmatch(text)
    if found is None:
        body.fail(Code.UNDEFINED_NAME, f"there is no primitive type '{text}'", span)
    given = iter(values)
    parts = [
        next(given) if one.strip() == _HOLE else _written(body, one.strip(), span) for one in found.groups()[1:] if one
    ]
    name = found[1]
    if name == "!pop.scalar":
        name, parts = "!pop.simd", [1, *parts]
    elif name == "!kgen.pointer":
        parts = parts[1:]
    try:
        return primitive_types.prim(body.elab, name, tuple(parts))
    except ValueError as reason:
        body.fail(Code.TYPE_MISMATCH, str(reason), span)


def _written(body: Body, part: str, span: Span) -> int | PrimTy:
    if part.isdigit():
        return int(part)
    return _ELEMENTS[part] if part in _ELEMENTS else type_named(body, part, span)


def attribute(body: Body, name: str, span: Span) -> Result:
    """Return the value of an attribute as it stands after `__mlir_attr`; report what is none."""
    if name in ("true", "false"):
        return ConstValue(primitive_types.prim(body.elab, "i1"), int(name == "true"))
    if (number := _NUMBER.fullmatch(name)) is not None:
        ty = type_named(body, number[2] or "index", span)
        if isinstance(ty.ir, types.IntType):
            return ConstValue(ty, int(number[1]) & (1 << ty.ir.bits) - 1)
        if ty.name == "!kgen.int_literal":
            return ConstValue(ty, int(number[1]))
    if (text := _TEXT.fullmatch(name) or _WORD.fullmatch(name)) is not None:
        return ConstValue(primitive_types.prim(body.elab, "!kgen.string"), text[1])
    if (kind := _DTYPE.fullmatch(name)) is not None and kind[1] in _ELEMENTS:
        return ConstValue(primitive_types.prim(body.elab, "!pop.simd", (1, _ELEMENTS["ui8"])), _ELEMENTS[kind[1]])
    if name.startswith("[#llvm.alias_scope"):  # says which accesses do not overlap: without it the code is right too
        return ConstValue(primitive_types.prim(body.elab, "!kgen.string"), name)
    if name == "unit":
        return ConstValue(primitive_types.prim(body.elab, "!kgen.none"), ())
    body.fail(Code.UNDEFINED_NAME, f"there is no primitive attribute '{name}'", span)


_INDEX: Mapping[str, str] = MappingProxyType(
    {
        "add": "add", "sub": "sub", "mul": "mul", "divs": "sdiv", "divu": "udiv", "rems": "srem", "remu": "urem",
        "and": "and", "or": "or", "xor": "xor", "shl": "shl", "shrs": "ashr", "shru": "lshr", "maxs": "smax",
        "maxu": "umax", "mins": "smin", "minu": "umin",
    }
)  # fmt: skip
"""Operations of the dialect `index`, with those of the IR."""

_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _index(use: Use) -> Result:
    prim, values = use.same()
    return RValue(prim, use.op(_INDEX[use.name.removeprefix("index.")], values))


def _compare(use: Use) -> Result:
    pred = use.one_of("pred", _PREDICATES)
    _, values = use.same()
    return RValue(primitive_types.prim(use.elab, "i1"), use.op(pred, values))


def _rounded_division(use: Use) -> Result:
    """Divide, rounding towards minus or plus infinity."""
    prim, (left, right) = use.same()
    quotient, rest = use.op("sdiv", (left, right)), use.op("srem", (left, right))
    zero = nodes.Const(types.I64, 0)
    differ = use.op("slt", (use.op("xor", (rest, right)), zero))
    if use.name == "index.ceildivs":
        differ = use.op("xor", (differ, nodes.Const(types.BOOL, 1)))
    fix = use.op("and", (use.op("ne", (rest, zero)), differ))
    step = use.op("zext", (fix,), types.I64)
    return RValue(prim, use.op("sub" if use.name == "index.floordivs" else "add", (quotient, step)))


def _constant(use: Use) -> Result:
    kind = "i1" if use.name == "index.bool.constant" else "index"
    return ConstValue(primitive_types.prim(use.elab, kind), use.number("value") & (1 << 64) - 1)


def _cast(use: Use) -> Result:
    ty, target = use.prim_of()
    origin, value = use.operand(0)
    if origin.ir == target.ir:
        return RValue(ty, value)
    return RValue(ty, convert(use, value, origin, target))


_SCOPES = ("alias_scopes", "noalias_scopes")

SPELLED: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {f"index.{name}": (_index, 2, ()) for name in _INDEX}
    | {
        "index.cmp": (_compare, 2, ("pred",)),
        "index.floordivs": (_rounded_division, 2, ()),
        "index.ceildivs": (_rounded_division, 2, ()),
        "index.constant": (_constant, 0, ("value",)),
        "index.bool.constant": (_constant, 0, ("value",)),
        "index.casts": (_cast, 1, ("_type",)),
        "index.castu": (_cast, 1, ("_type",)),
        "pop.cast_to_builtin": (_cast, 1, ("_type",)),
        "pop.cast_from_builtin": (_cast, 1, ("_type",)),
        "builtin.unrealized_conversion_cast": (_cast, 1, ("_type",)),
        "llvm.load": (load, 1, ("_type", "alignment", "volatile", "invariant", *_SCOPES)),
        "llvm.store": (store, 2, ("alignment", "volatile", *_SCOPES)),
    }
)
"""Operations that have no counterpart of the same form in the other tables."""

SAME: Mapping[str, str] = MappingProxyType(
    {
        "pop.simd.extractelement": "pop.simd.extract",
        "pop.simd.insertelement": "pop.simd.insert",
        "pop.pointer_to_index": "pop.ptr_to_int",
        "pop.index_to_pointer": "pop.int_to_ptr",
        "pop.simd.and": "pop.and",
        "pop.simd.or": "pop.or",
        "pop.simd.xor": "pop.xor",
    }
)
"""Operations that are called otherwise in the other tables."""
