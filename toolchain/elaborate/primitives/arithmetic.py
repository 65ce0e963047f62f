"""The primitives that compute on numbers: which operation of the IR each is for signed, unsigned, float and bool."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ktc.diag.codes import Code
from ktc.elaborate.builder import ir_values
from ktc.elaborate.model.types import ConstValue, ParameterPack, PrimTy
from ktc.elaborate.model.values import PackValue, Result, RValue
from ktc.elaborate.primitives.float8 import narrowed, narrowed_exponent, widened, widened_exponent
from ktc.elaborate.primitives.use import Use
from ktc.elaborate.types import primitive_types
from ktc.elaborate.types.primitive_types import BOOL_CODE, FLOAT32_CODE, comptime_int
from ktc.ir import nodes, types
from ktc.ir.small_floats import EXPONENT, FORMATS

Handler = Callable[[Use], Result]


_BY_KIND: Mapping[str, tuple[int, dict[str, str]]] = MappingProxyType(
    {
        "pop.add": (2, {"s": "add", "u": "add", "f": "fadd"}),
        "pop.sub": (2, {"s": "sub", "u": "sub", "f": "fsub"}),
        "pop.mul": (2, {"s": "mul", "u": "mul", "f": "fmul"}),
        "pop.div": (2, {"s": "sdiv", "u": "udiv", "f": "fdiv"}),
        "pop.rem": (2, {"s": "srem", "u": "urem", "f": "frem"}),
        "pop.neg": (1, {"s": "neg", "u": "neg", "f": "fneg"}),
        "pop.abs": (1, {"s": "iabs", "u": "", "f": "fabs"}),
        "pop.not": (1, {"s": "not", "u": "not"}),
        "pop.and": (2, {"s": "and", "u": "and"}),
        "pop.or": (2, {"s": "or", "u": "or"}),
        "pop.xor": (2, {"s": "xor", "u": "xor"}),
        "pop.min": (2, {"s": "smin", "u": "umin", "f": "fmin"}),
        "pop.max": (2, {"s": "smax", "u": "umax", "f": "fmax"}),
        "pop.fma": (3, {"f": "fma"}),
        "pop.floor": (1, {"f": "floor"}),
        "pop.ceil": (1, {"f": "ceil"}),
        "pop.trunc": (1, {"f": "trunc_f"}),
        "pop.round_even": (1, {"f": "roundeven"}),
        "pop.round_away": (1, {"f": "round_half_away"}),
        "pop.sqrt": (1, {"f": "sqrt"}),
        "pop.copysign": (2, {"f": "copysign"}),
        "pop.ctpop": (1, {"s": "ctpop", "u": "ctpop"}),
        "pop.ctlz": (1, {"s": "ctlz", "u": "ctlz"}),
        "pop.cttz": (1, {"s": "cttz", "u": "cttz"}),
        "pop.bswap": (1, {"s": "bswap", "u": "bswap"}),
        "pop.bitreverse": (1, {"s": "bitreverse", "u": "bitreverse"}),
        "pop.mulhi": (2, {"s": "smulhi", "u": "umulhi"}),
        "pop.add_sat": (2, {"s": "sadd_sat", "u": "uadd_sat"}),
        "pop.sub_sat": (2, {"s": "ssub_sat", "u": "usub_sat"}),
    }
)
"""Operation -> (number of operands, kind -> operation of the IR). "" keeps the operand; bool counts as "u", floats of
one byte as "f": they are computed in float32."""


_SHIFTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"pop.shl": {"s": "shl", "u": "shl"}, "pop.shr": {"s": "ashr", "u": "lshr"}}
)


_PREDICATES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "eq": {"s": "eq", "u": "eq", "f": "foeq"},
        "ne": {"s": "ne", "u": "ne", "f": "fune"},
        "lt": {"s": "slt", "u": "ult", "f": "folt"},
        "le": {"s": "sle", "u": "ule", "f": "fole"},
        "gt": {"s": "sgt", "u": "ugt", "f": "fogt"},
        "ge": {"s": "sge", "u": "uge", "f": "foge"},
    }
)


PREDICATES = tuple(_PREDICATES)
"""The words that the attribute `pred` of every comparison takes."""


_REDUCTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "add": {"s": "reduce_add", "u": "reduce_add", "f": "reduce_fadd"},
        "mul": {"s": "reduce_mul", "u": "reduce_mul", "f": "reduce_fmul"},
        "and": {"s": "reduce_and", "u": "reduce_and"},
        "or": {"s": "reduce_or", "u": "reduce_or"},
        "xor": {"s": "reduce_xor", "u": "reduce_xor"},
        "min": {"s": "reduce_smin", "u": "reduce_umin", "f": "reduce_fmin"},
        "max": {"s": "reduce_smax", "u": "reduce_umax", "f": "reduce_fmax"},
    }
)


_CONVERTED = ("s", "u", "f", "b")
"""The kinds between which there are conversions."""


_BYTES = frozenset((*FORMATS, EXPONENT))
"""The kinds of one byte that are converted by float32."""


def kind_of(use: Use, prim: PrimTy, row: Mapping[str, str]) -> str:
    """Return the entry of a row for a type's kind."""
    found = row.get("u" if prim.kind == "b" else "f" if prim.kind in FORMATS else prim.kind)
    if found is None:
        use.check_numbers(prim)
        use.wrong_kind(prim)
    return found


def _element(prim: PrimTy) -> "types.IntType | types.FloatType":
    ir = prim.ir.element if isinstance(prim.ir, types.VectorType) else prim.ir
    assert isinstance(ir, types.IntType | types.FloatType)
    return ir


def _by_kind(use: Use) -> Result:
    count, row = _BY_KIND[use.name]
    prim, values = use.same(count)
    name = kind_of(use, prim, row)
    if not name or (name == "bswap" and _element(prim).bits <= 8):
        return RValue(prim, values[0])
    if prim.kind in FORMATS:
        return RValue(prim, _rounded(use, use.op(name, [_wide(use, prim, value) for value in values]), prim))
    return RValue(prim, use.op(name, values))


def _shift(use: Use) -> Result:
    """Shift by a count modulo the width, the same on every target; LLVM leaves other counts undefined."""
    prim, (value, count) = use.same(2)
    name = kind_of(use, prim, _SHIFTS[use.name])
    bits = _element(prim).bits
    if "KTC_CHECK_arithmetic" in use.elab.comptime.defines and not isinstance(count, nodes.Const):
        outside = use.op("uge", (count, _in_each_lane(count.type, bits)))
        outside = use.op("reduce_or", (outside,)) if prim.lanes > 1 else outside
        use.body.let(nodes.CallIntrinsic("ktc.check.shift", (outside,), types.VOID), types.VOID)
    return RValue(prim, use.op(name, (value, use.op("and", (count, _in_each_lane(count.type, bits - 1))))))


def _in_each_lane(kind: types.Type, value: int) -> nodes.Const:
    return nodes.Const(kind, (value,) * kind.lanes if isinstance(kind, types.VectorType) else value)


def _wide(use: Use, prim: PrimTy, value: nodes.Value) -> nodes.Value:
    """Return floats of one byte as float32, and others as they are."""
    if prim.kind == EXPONENT:
        return widened_exponent(use, value, prim.lanes)
    return widened(use, FORMATS[prim.kind], value, prim.lanes) if prim.kind in FORMATS else value


def _rounded(use: Use, value: nodes.Value, prim: PrimTy) -> nodes.Value:
    """Return the float32 result of an operation as the floats of one byte that its operands were."""
    return narrowed(use, FORMATS[prim.kind], value, prim.lanes, saturate=False)


def _compare(use: Use) -> Result:
    pred = use.one_of("pred", PREDICATES)
    prim, values = use.same()
    row = _PREDICATES[pred]
    if isinstance(prim.ir, types.PointerType):
        return RValue(primitive_types.prim(use.elab, "i1", ()), use.op(row["u"], values))
    name = row["f"] if prim.kind == EXPONENT else kind_of(use, prim, row)
    result = (
        primitive_types.prim(use.elab, "!pop.simd", (prim.lanes, BOOL_CODE))
        if prim.lanes > 1
        else primitive_types.prim(use.elab, "i1", ())
    )
    return RValue(result, use.op(name, [_wide(use, prim, value) for value in values]))


def _select(use: Use) -> Result:
    mask, condition = use.operand(0)
    if mask.kind != "b":
        use.mismatch(f"chooses by 'i1' or bool lanes, not '{mask}'")
    first, second = use.val(1), use.val(2)
    ty = use.prim(first.ty) or first.ty
    return RValue(
        ty, use.op("select", (condition, ir_values.rvalue(use.body, first), ir_values.rvalue(use.body, second)))
    )


def _zero(kind: types.Type) -> nodes.Const:
    element = kind.element if isinstance(kind, types.VectorType) else kind
    zero = 0.0 if isinstance(element, types.FloatType) else 0
    return nodes.Const(kind, (zero,) * kind.lanes if isinstance(kind, types.VectorType) else zero)


def convert(use: Use, value: nodes.Value, origin: PrimTy, target: PrimTy) -> nodes.Value:
    """Return a number or a vector of numbers converted to another primitive type with as many lanes."""
    if origin.lanes > 1 == target.lanes and target.ir == types.BOOL:
        text = f"{origin.lanes} lanes give no single truth value; compare lane by lane: 'a.lt(b)', 'a.eq(b)', ..."
        use.fail(Code.UNSATISFIED_CONSTRAINT, text)
    if not _BYTES.isdisjoint((origin.kind, target.kind)):
        return _by_float32(use, value, origin, target)
    if origin.kind not in _CONVERTED or target.kind not in _CONVERTED or origin.lanes != target.lanes or not target.ir:
        use.check_numbers(origin)
        use.check_numbers(target)
        use.mismatch(f"cannot convert '{origin}' to '{target}'")
    before, after, expected = _element(origin), _element(target), target.ir
    match origin.kind, target.kind:
        case ("b", "b"):
            return value
        case ("f", "b"):
            return use.op("fune", (value, _zero(value.type)))
        case (_, "b"):
            return use.op("ne", (value, _zero(value.type)))
        case ("f", "f"):
            return _between_floats(use, value, before, target)
        case ("f", kind):
            _check_wide(use, after)
            return use.op("fptosi" if kind == "s" else "fptoui", (value,), expected)
        case (kind, "f"):
            _check_wide(use, before)
            return use.op("sitofp" if kind == "s" else "uitofp", (value,), expected)
    if before.bits == after.bits:
        return value
    wider = "sext" if origin.kind == "s" else "zext"
    return use.op("trunc" if after.bits < before.bits else wider, (value,), expected)


def _by_float32(use: Use, value: nodes.Value, origin: PrimTy, target: PrimTy) -> nodes.Value:
    """Convert from or to floats of one byte."""
    if origin.kind == target.kind and origin.lanes == target.lanes:
        return value
    middle = primitive_types.prim(use.elab, "!pop.simd", (origin.lanes, FLOAT32_CODE))
    value = convert(use, value, origin, middle) if origin.kind not in _BYTES else _wide(use, origin, value)
    if target.kind not in _BYTES or target.lanes != middle.lanes:
        return convert(use, value, middle, target)
    if target.kind == EXPONENT:
        return narrowed_exponent(use, value, target.lanes)
    return narrowed(use, FORMATS[target.kind], value, target.lanes, saturate=True)


def _check_wide(use: Use, whole: "types.IntType | types.FloatType") -> None:
    """Report a conversion between floats and numbers of 128 or 256 bits, which no GPU's back end has."""
    target = use.body.target
    if whole.bits > 64 and not target.has_wide_casts:
        text = f"{target.name} has no conversion between floats and numbers of {whole.bits} bits"
        use.fail(Code.UNSUPPORTED_ON_TARGET, text)


def _between_floats(
    use: Use, value: nodes.Value, before: "types.IntType | types.FloatType", target: PrimTy
) -> nodes.Value:
    after, expected = _element(target), target.ir
    if before == after:
        return value
    if before.bits == after.bits:
        # f16 and bf16: f32 holds both exactly, so there is one rounding
        wide: types.Type = types.VectorType(types.F32, target.lanes) if target.lanes > 1 else types.F32
        value = use.op("fpext", (value,), wide)
        return use.op("fptrunc", (value,), expected)
    return use.op("fptrunc" if after.bits < before.bits else "fpext", (value,), expected)


def _cast(use: Use) -> Result:
    ty, target = use.prim_of()
    origin, value = use.operand(0)
    return RValue(ty, convert(use, value, origin, target))


def _bitcast(use: Use) -> Result:
    ty, target = use.prim_of()
    _, value = use.operand(0)
    return RValue(ty, use.op("bitcast", (value,), target.ir))


def _splat(use: Use) -> Result:
    ty, target = use.prim_of()
    _, value = use.operand(0)
    return RValue(ty, use.op("splat", (value,), target.ir))


def _extract(use: Use) -> Result:
    prim, value = use.operand(0)
    at = use.word(1)
    if prim.lanes == 1:
        return RValue(prim, value)
    return RValue(use.simd(prim, 1), use.op("extract", (value, at)))


def _insert(use: Use) -> Result:
    prim, value = use.operand(0)
    _, lane = use.operand(1)
    at = use.word(2)
    if prim.lanes > 1:
        return RValue(prim, use.op("insert", (value, lane, at)))
    if lane.type != value.type:
        use.mismatch(f"the new lane is of another type than '{prim}'")
    return RValue(prim, lane)


def _shuffle(use: Use) -> Result:
    ty, target = use.prim_of()
    prim, (first, second) = use.same()
    mask = tuple(_lanes(use, use.attr("mask")))
    if len(mask) != target.lanes:
        use.mismatch(f"{len(mask)} lanes are listed and the result has {target.lanes}")
    bad = [lane for lane in mask if not 0 <= lane < 2 * prim.lanes]
    if bad:
        use.mismatch(f"there is no lane {bad[0]}")
    if prim.lanes > 1:
        return RValue(ty, use.op("shuffle", (first, second), target.ir, mask))
    if len(mask) == 1:
        return RValue(ty, second if mask[0] else first)
    value = use.op("splat", (first,), target.ir)
    for at, lane in enumerate(mask):
        if lane:
            value = use.op("insert", (value, second, nodes.Const(types.I64, at)))
    return RValue(ty, value)


def _lanes(use: Use, mask: object) -> list[int]:
    match mask:
        case ParameterPack(items) | PackValue(items) | tuple(items) | list(items):
            return [lane for item in items for lane in _lanes(use, item)]
        case ConstValue(_, tuple(items)) | RValue(_, nodes.Const(_, tuple(items))):
            return [lane for item in items for lane in _lanes(use, item)]
    try:
        return [comptime_int(use.elab, mask)]
    except ValueError as error:
        use.mismatch(f"attribute 'mask': {error}")


def _reduce(use: Use) -> Result:
    how = use.one_of("kind", tuple(_REDUCTIONS))
    prim, value = use.operand(0)
    name = kind_of(use, prim, _REDUCTIONS[how])
    if prim.lanes == 1:
        return RValue(prim, value)
    one = use.simd(prim, 1)
    if prim.kind in FORMATS:
        return RValue(one, _rounded(use, use.op(name, (_wide(use, prim, value),)), one))
    return RValue(one, use.op(name, (value,)))


# operation -> (what does it, number of operands, attributes)
ARITHMETIC: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {name: (_by_kind, count, ()) for name, (count, _) in _BY_KIND.items()}
    | {name: (_shift, 2, ()) for name in _SHIFTS}
    | {
        "pop.cmp": (_compare, 2, ("pred",)),
        "pop.select": (_select, 3, ()),
        "pop.cast": (_cast, 1, ("_type",)),
        "pop.bitcast": (_bitcast, 1, ("_type",)),
        "pop.simd.splat": (_splat, 1, ("_type",)),
        "pop.simd.extract": (_extract, 2, ()),
        "pop.simd.insert": (_insert, 3, ()),
        "pop.simd.shuffle": (_shuffle, 2, ("mask", "_type")),
        "pop.simd.reduce": (_reduce, 1, ("kind",)),
    }
)
