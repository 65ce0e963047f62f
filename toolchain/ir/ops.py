"""The table of pure operations, and `build`, which makes an `Op` or folds it to a constant.

A row holds all that is known of one operation: its type rule, its value on plain scalars, and how LLVM spells it.
Scalar rows work on vectors element by element. No operation reads memory or has an effect.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.base.records import record
from ktc.ir import arithmetic as ints
from ktc.ir import float_arithmetic as floats
from ktc.ir import op_rules as rules
from ktc.ir.nodes import Const, Op, Plain, Value
from ktc.ir.op_folds import SIMPLIFIERS, Simplifier
from ktc.ir.op_special import EVALUATORS, Evaluator, compare_addresses, has_symbol
from ktc.ir.types import PointerType, Type, VectorType

Rule = Callable[[str, tuple[Type, ...], object, Type | None], Type]


@record
class Row:
    """One operation.

    Args:
        arity: number of operands; -1 for any.
        kind: how to write it in LLVM: "binary", "unary", "cast", "icmp", "fcmp", "intrinsic" or "special".
        llvm: the instruction, predicate or intrinsic's name (without the type suffixes).
        rule: operand types, attribute and wanted type to the result's type.
        scalar: (operand's scalar type, result's scalar type, *plain scalars) to a plain scalar; None for specials.
        special: evaluation of what is not element-wise: (operand types, plain values, result type, attribute).
        simplify: removes it on some operands that are not all constant; None if there is nothing to remove.
        total: False if some operands have no defined result (division by zero, wide shifts, lanes out of range).
        suffixes: whose types an intrinsic's name ends with: "result" or "operand", in order.
        extra: further operands that LLVM's intrinsic wants, as text.
    """

    name: str
    arity: int
    kind: str
    llvm: str
    rule: Rule
    scalar: Callable[..., Any] | None = None
    special: Evaluator | None = None
    simplify: Simplifier | None = None
    total: bool = True
    suffixes: tuple[str, ...] = ("result",)
    extra: tuple[str, ...] = ()


def _row(  # the columns of the table
    name: str, arity: int, kind: str, llvm: str, rule: Rule, scalar: Callable[..., Any], **more: Any
) -> Row:
    return Row(name, arity, kind, llvm, rule, scalar, None, SIMPLIFIERS.get(name), **more)


def _special(name: str, arity: int, llvm: str, rule: Rule, kind: str = "special", **more: Any) -> Row:
    return Row(name, arity, kind, llvm, rule, None, EVALUATORS[name], SIMPLIFIERS.get(name), **more)


_ROWS: tuple[Row, ...] = (
    # integers
    _row("add", 2, "binary", "add", rules.ints, ints.add),
    _row("sub", 2, "binary", "sub", rules.ints, ints.sub),
    _row("mul", 2, "binary", "mul", rules.ints, ints.mul),
    _row("sdiv", 2, "binary", "sdiv", rules.ints, ints.sdiv, total=False),
    _row("udiv", 2, "binary", "udiv", rules.ints, ints.udiv, total=False),
    _row("srem", 2, "binary", "srem", rules.ints, ints.srem, total=False),
    _row("urem", 2, "binary", "urem", rules.ints, ints.urem, total=False),
    _row("and", 2, "binary", "and", rules.ints, ints.bit_and),
    _row("or", 2, "binary", "or", rules.ints, ints.bit_or),
    _row("xor", 2, "binary", "xor", rules.ints, ints.bit_xor),
    _row("shl", 2, "binary", "shl", rules.ints, ints.shl, total=False),
    _row("lshr", 2, "binary", "lshr", rules.ints, ints.lshr, total=False),
    _row("ashr", 2, "binary", "ashr", rules.ints, ints.ashr, total=False),
    _row("neg", 1, "special", "sub", rules.ints, ints.neg),
    _row("not", 1, "special", "xor", rules.ints, ints.bit_not),
    _row("smin", 2, "intrinsic", "llvm.smin", rules.ints, ints.smin),
    _row("smax", 2, "intrinsic", "llvm.smax", rules.ints, ints.smax),
    _row("umin", 2, "intrinsic", "llvm.umin", rules.ints, ints.umin),
    _row("umax", 2, "intrinsic", "llvm.umax", rules.ints, ints.umax),
    _row("iabs", 1, "intrinsic", "llvm.abs", rules.ints, ints.iabs, extra=("i1 false",)),
    _row("ctpop", 1, "intrinsic", "llvm.ctpop", rules.ints, ints.ctpop),
    _row("ctlz", 1, "intrinsic", "llvm.ctlz", rules.ints, ints.ctlz, extra=("i1 false",)),
    _row("cttz", 1, "intrinsic", "llvm.cttz", rules.ints, ints.cttz, extra=("i1 false",)),
    _row("bswap", 1, "intrinsic", "llvm.bswap", rules.ints, ints.bswap),
    _row("bitreverse", 1, "intrinsic", "llvm.bitreverse", rules.ints, ints.bitreverse),
    _row("fshl", 3, "intrinsic", "llvm.fshl", rules.ints, ints.fshl),
    _row("sadd_sat", 2, "intrinsic", "llvm.sadd.sat", rules.ints, ints.sadd_sat),
    _row("uadd_sat", 2, "intrinsic", "llvm.uadd.sat", rules.ints, ints.uadd_sat),
    _row("ssub_sat", 2, "intrinsic", "llvm.ssub.sat", rules.ints, ints.ssub_sat),
    _row("usub_sat", 2, "intrinsic", "llvm.usub.sat", rules.ints, ints.usub_sat),
    _row("umulhi", 2, "special", "zext mul lshr trunc", rules.ints, ints.umulhi),
    _row("smulhi", 2, "special", "sext mul lshr trunc", rules.ints, ints.smulhi),
    # floats
    _row("fadd", 2, "binary", "fadd", rules.floats, floats.fadd),
    _row("fsub", 2, "binary", "fsub", rules.floats, floats.fsub),
    _row("fmul", 2, "binary", "fmul", rules.floats, floats.fmul),
    _row("fdiv", 2, "binary", "fdiv", rules.floats, floats.fdiv),
    _row("frem", 2, "binary", "frem", rules.floats, floats.frem),
    _row("fneg", 1, "unary", "fneg", rules.floats, floats.fneg),
    _row("fma", 3, "intrinsic", "llvm.fma", rules.floats, floats.fma),
    _row("fmin", 2, "intrinsic", "llvm.minnum", rules.floats, floats.fmin),
    _row("fmax", 2, "intrinsic", "llvm.maxnum", rules.floats, floats.fmax),
    _row("fabs", 1, "intrinsic", "llvm.fabs", rules.floats, floats.fabs),
    _row("floor", 1, "intrinsic", "llvm.floor", rules.floats, floats.floor),
    _row("ceil", 1, "intrinsic", "llvm.ceil", rules.floats, floats.ceil),
    _row("trunc_f", 1, "intrinsic", "llvm.trunc", rules.floats, floats.trunc_f),
    _row("roundeven", 1, "intrinsic", "llvm.roundeven", rules.floats, floats.roundeven),
    _row("round_half_away", 1, "intrinsic", "llvm.round", rules.floats, floats.round_half_away),
    _row("sqrt", 1, "intrinsic", "llvm.sqrt", rules.floats, floats.sqrt),
    _row("copysign", 2, "intrinsic", "llvm.copysign", rules.floats, floats.copysign),
    # comparisons
    _row("eq", 2, "icmp", "eq", rules.compare, ints.eq),
    _row("ne", 2, "icmp", "ne", rules.compare, ints.ne),
    _row("slt", 2, "icmp", "slt", rules.compare_signed, ints.slt),
    _row("sle", 2, "icmp", "sle", rules.compare_signed, ints.sle),
    _row("sgt", 2, "icmp", "sgt", rules.compare_signed, ints.sgt),
    _row("sge", 2, "icmp", "sge", rules.compare_signed, ints.sge),
    _row("ult", 2, "icmp", "ult", rules.compare, ints.lt),
    _row("ule", 2, "icmp", "ule", rules.compare, ints.le),
    _row("ugt", 2, "icmp", "ugt", rules.compare, ints.gt),
    _row("uge", 2, "icmp", "uge", rules.compare, ints.ge),
    _row("foeq", 2, "fcmp", "oeq", rules.compare_floats, ints.foeq),
    _row("fune", 2, "fcmp", "une", rules.compare_floats, ints.fune),
    _row("folt", 2, "fcmp", "olt", rules.compare_floats, ints.lt),
    _row("fole", 2, "fcmp", "ole", rules.compare_floats, ints.le),
    _row("fogt", 2, "fcmp", "ogt", rules.compare_floats, ints.gt),
    _row("foge", 2, "fcmp", "oge", rules.compare_floats, ints.ge),
    _row("fuo", 2, "fcmp", "uno", rules.compare_floats, ints.fuo),
    # casts
    _row("trunc", 1, "cast", "trunc", rules.cast, floats.trunc),
    _row("zext", 1, "cast", "zext", rules.cast, floats.zext),
    _row("sext", 1, "cast", "sext", rules.cast, floats.sext),
    _row("fptrunc", 1, "cast", "fptrunc", rules.cast, floats.fptrunc),
    _row("fpext", 1, "cast", "fpext", rules.cast, floats.fpext),
    _row("sitofp", 1, "cast", "sitofp", rules.cast, floats.sitofp),
    _row("uitofp", 1, "cast", "uitofp", rules.cast, floats.uitofp),
    _row("fptosi", 1, "intrinsic", "llvm.fptosi.sat", rules.cast, floats.fptosi, suffixes=("result", "operand")),
    _row("fptoui", 1, "intrinsic", "llvm.fptoui.sat", rules.cast, floats.fptoui, suffixes=("result", "operand")),
    _special("bitcast", 1, "bitcast", rules.bitcast, "cast"),
    _special("ptrtoint", 1, "ptrtoint", rules.cast, "cast"),
    _special("inttoptr", 1, "inttoptr", rules.cast, "cast"),
    _special("spacecast", 1, "addrspacecast", rules.cast, "cast"),
    # vectors
    _special("select", 3, "select", rules.select),
    _special("splat", 1, "insertelement shufflevector", rules.splat),
    _special("extract", 2, "extractelement", rules.extract, total=False),
    _special("insert", 3, "insertelement", rules.insert, total=False),
    _special("shuffle", 2, "shufflevector", rules.shuffle),
    _special("reduce_add", 1, "llvm.vector.reduce.add", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_mul", 1, "llvm.vector.reduce.mul", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_and", 1, "llvm.vector.reduce.and", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_or", 1, "llvm.vector.reduce.or", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_xor", 1, "llvm.vector.reduce.xor", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_smin", 1, "llvm.vector.reduce.smin", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_smax", 1, "llvm.vector.reduce.smax", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_umin", 1, "llvm.vector.reduce.umin", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    _special("reduce_umax", 1, "llvm.vector.reduce.umax", rules.reduce_ints, "intrinsic", suffixes=("operand",)),
    # floats are not associative, so the order is part of the operation: v[0:n/2] op v[n/2:n] until one is left
    _special("reduce_fadd", 1, "fadd", rules.reduce_floats),
    _special("reduce_fmul", 1, "fmul", rules.reduce_floats),
    _special("reduce_fmin", 1, "llvm.minnum", rules.reduce_floats),
    _special("reduce_fmax", 1, "llvm.maxnum", rules.reduce_floats),
    # aggregates and pointers
    _special("make", -1, "insertvalue", rules.make),
    _special("get", 1, "extractvalue", rules.get),
    _special("set", 2, "insertvalue", rules.put),
    _special("field", 1, "getelementptr", rules.field),
    _special("offset", 2, "getelementptr", rules.offset),
)

ROWS: Mapping[str, Row] = MappingProxyType({row.name: row for row in _ROWS})
"""Every operation by its name."""


def evaluate(
    name: str, types: tuple[Type, ...], values: tuple[Plain, ...], result: Type, attr: object = None
) -> Plain | None:
    """Return the plain value of an operation on plain values, or None if only the linker could know it."""
    row = ROWS[name]
    if row.special is not None:
        return row.special(types, values, result, attr)
    scalar = row.scalar
    assert scalar is not None
    kind = types[0]
    if isinstance(kind, VectorType):
        out = result.element if isinstance(result, VectorType) else result
        element = kind.element
        lanes: Iterable[tuple[Plain, ...]] = zip(*values, strict=True)
        if any(map(has_symbol, values)):
            return None
        return tuple(scalar(element, out, *lane) for lane in lanes)
    for value in values:
        if value.__class__ is not int and value.__class__ is not float:
            # an address or image size; two addresses in one global can still be compared
            return compare_addresses(name, values) if row.kind == "icmp" and isinstance(kind, PointerType) else None
    value = scalar(kind, result, *values)
    return value  # type: ignore[no-any-return]


def build(name: str, args: tuple[Value, ...] | list[Value], type: Type | None = None, attr: object = None) -> Value:
    """Return the value of an operation: a constant or an operand where that is known, else an `Op`.

    Args:
        type: the result's type; needed by casts, `splat` and `make` of an array, else it follows from the operands.
        attr: see `Op`.

    Raises:
        Bug: the operands do not fit the operation.
    """
    row = ROWS[name]
    args = tuple(args)
    if len(args) != row.arity and row.arity >= 0:
        raise rules.mismatch(name, tuple(arg.type for arg in args), f"needs {row.arity} operands")
    types = tuple([arg.type for arg in args])
    type = row.rule(name, types, attr, type)
    for arg in args:
        if arg.__class__ is not Const:
            break
    else:
        value = evaluate(name, types, tuple([arg.value for arg in args]), type, attr)  # type: ignore[union-attr]
        if value is not None:
            return Const(type, value)
    simplify = row.simplify
    if simplify is not None:
        simple = simplify(args, type, attr)
        if simple is not None:
            return simple
    return Op(name, args, type, attr)
