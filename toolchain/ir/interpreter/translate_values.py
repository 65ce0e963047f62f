"""Python expressions for IR values; the other half of `ir.translate`.

The common operations on scalars have an expression of their own here, equal to what `ir.ops` says of them (a test
compares the two); all others call the table's function.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from ktc.diag.diagnostic import Bug
from ktc.ir import nodes as ir
from ktc.ir.ops import ROWS
from ktc.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType, size_of

DEEPEST = 30  # nested operations in one Python expression; CPython's parser allows 200 parentheses
_M64 = (1 << 64) - 1


class Environment(Protocol):
    """Gives names that the generated text may use."""

    def bind(self, value: object) -> str:
        """Return a name for any object."""

    def function(self, symbol: str) -> str:
        """Return the name of a function of the unit."""

    def foreign(self, which: str, name: str) -> str:
        """Return the name of the function that runs a C function ("external") or an intrinsic ("intrinsic")."""

    def address(self, name: str) -> int | None:
        """Return the address of a global or function, or None if it has none at compile time."""

    def row(self, op: ir.Op) -> str:
        """Return the name of a function of the plain operands that evaluates `op`."""


def _bits(kind: Type) -> int:
    return kind.bits if isinstance(kind, IntType) else 64


def _masked(form: str) -> Callable[[Type, Type, str, str], str]:
    return lambda kind, out, a, b: f"({a} {form} {b} & {(1 << _bits(kind)) - 1})"


def _plain(form: str) -> Callable[[Type, Type, str, str], str]:
    return lambda kind, out, a, b: f"({a} {form} {b})"


def _signed_compare(form: str) -> Callable[[Type, Type, str, str], str]:
    def write(kind: Type, out: Type, a: str, b: str) -> str:
        # flipping the sign bit maps the signed order to the unsigned one
        sign = 1 << (_bits(kind) - 1)
        return f"({_flip(a, sign)} {form} {_flip(b, sign)})"

    return write


def _flip(text: str, sign: int) -> str:
    return str(int(text) ^ sign) if text.isdigit() else f"({text} ^ {sign})"


def _rounded(form: str) -> Callable[[Type, Type, str, str], str]:
    def write(kind: Type, out: Type, a: str, b: str) -> str:
        assert isinstance(kind, FloatType)
        return f"({a} {form} {b})" if kind.name == "f64" else f"round_{kind.name}({a} {form} {b})"

    return write


def _trunc(kind: Type, out: Type, a: str) -> str:
    return f"({a} & {(1 << _bits(out)) - 1})"


def _sext(kind: Type, out: Type, a: str) -> str:
    sign = 1 << (_bits(kind) - 1)
    return f"(({a} ^ {sign}) - {sign} & {(1 << _bits(out)) - 1})"


def _fptrunc(kind: Type, out: Type, a: str) -> str:
    assert isinstance(out, FloatType)
    return a if out.name == "f64" else f"round_{out.name}({a})"


_BINARY: Mapping[str, Callable[[Type, Type, str, str], str]] = MappingProxyType(
    {
        "add": _masked("+"),
        "sub": _masked("-"),
        "mul": _masked("*"),
        "and": _plain("&"),
        "or": _plain("|"),
        "xor": _plain("^"),
        "fadd": _rounded("+"),
        "fsub": _rounded("-"),
        "fmul": _rounded("*"),
    }
)

_COMPARE: Mapping[str, Callable[[Type, Type, str, str], str]] = MappingProxyType(
    {
        "eq": _plain("=="),
        "ne": _plain("!="),
        "ult": _plain("<"),
        "ule": _plain("<="),
        "ugt": _plain(">"),
        "uge": _plain(">="),
        "slt": _signed_compare("<"),
        "sle": _signed_compare("<="),
        "sgt": _signed_compare(">"),
        "sge": _signed_compare(">="),
        "foeq": _plain("=="),
        "fune": _plain("!="),
        "folt": _plain("<"),
        "fole": _plain("<="),
        "fogt": _plain(">"),
        "foge": _plain(">="),
    }
)

_UNARY: Mapping[str, Callable[[Type, Type, str], str]] = MappingProxyType(
    {
        "neg": lambda kind, out, a: f"(-{a} & {(1 << _bits(kind)) - 1})",
        "not": lambda kind, out, a: f"({a} ^ {(1 << _bits(kind)) - 1})",
        "fneg": lambda kind, out, a: f"(-{a})",
        "trunc": _trunc,
        "zext": lambda kind, out, a: a,
        "sext": _sext,
        "fptrunc": _fptrunc,
        "fpext": lambda kind, out, a: a,
        "ptrtoint": _trunc,
        "inttoptr": _trunc,
        # every space is the same memory here
        "spacecast": lambda kind, out, a: a,
    }
)

_SCALARS = IntType | FloatType | PointerType


class Values:
    """Writes values as Python expressions.

    `spilled`: operations of the statement being written that have a name already, by identity. `binds_numbers`: numbers
    get names too, so that code that differs in nothing else has one text.
    """

    def __init__(self, environment: Environment, binds_numbers: bool = False) -> None:
        self.environment = environment
        self.binds_numbers = binds_numbers
        self.spilled: dict[int, str] = {}

    def texts(self, values: tuple[ir.Value, ...]) -> str:
        """Return several values, separated by commas."""
        return ", ".join([self.text(value) for value in values])

    def text(self, value: ir.Value) -> str:
        """Return a value as a Python expression."""
        match value:
            case ir.Const(kind, plain):
                return self.constant(kind, plain)
            case ir.Temp(number):
                return f"t{number}"
            case ir.Argument(index):
                return f"a{index}"
            case ir.LocalAddress(local):
                return f"L{local.id}"
            case ir.GlobalAddress(name):
                return self.address(name, 0)
            case ir.Op():
                return self.spilled.get(id(value)) or self.operation(value)

    def constant(self, kind: Type, plain: Any) -> str:
        """Return a constant as a Python expression."""
        if isinstance(plain, ir.Address):
            return self.address(plain.name, plain.offset)
        if isinstance(plain, ir.ImageSize):
            return "unsupported('the size of a device image is not known at compile time')"
        if isinstance(plain, tuple) and _has_symbol(plain):
            kinds = member_types(kind)
            return "(" + "".join(self.constant(k, p) + ", " for k, p in zip(kinds, plain, strict=True)) + ")"
        return str(plain) if isinstance(plain, int) and not self.binds_numbers else self.environment.bind(plain)

    def address(self, name: str, offset: int) -> str:
        """Return the address of a global as a Python expression."""
        base = self.environment.address(name)
        if base is None:
            return f"unsupported({f'{name} has no address at compile time'!r})"
        return self.environment.bind(base + offset & _M64)

    def zero(self, kind: Type) -> str:
        """Return the text of a variable's value before it is set."""
        return "0" if isinstance(kind, IntType | PointerType) else self.environment.bind(zero(kind))

    def condition(self, value: ir.Value) -> str:
        """Return an i1 as a Python condition."""
        if isinstance(value, ir.Op) and id(value) not in self.spilled:
            if value.name == "not":
                return f"not {self.condition(value.args[0])}"
            compare = _COMPARE.get(value.name)
            if compare is not None and isinstance(value.args[0].type, _SCALARS):
                a, b = value.args
                return compare(a.type, value.type, self.text(a), self.text(b))
        return self.text(value)

    def operation(self, op: ir.Op) -> str:
        """Return an operation as a Python expression."""
        name, args, kind = op.name, op.args, op.type
        first = args[0].type if args else kind
        if isinstance(first, _SCALARS):
            if (binary := _BINARY.get(name)) is not None:
                return binary(first, kind, self.text(args[0]), self.text(args[1]))
            if name in _COMPARE:
                return f"(1 if {self.condition(op)} else 0)"
            if (unary := _UNARY.get(name)) is not None:
                return unary(first, kind, self.text(args[0]))
        match op:
            case ir.Op("select", (mask, yes, no)) if isinstance(mask.type, IntType):
                return f"({self.text(yes)} if {self.condition(mask)} else {self.text(no)})"
            case ir.Op("make"):
                return "(" + "".join(self.text(arg) + ", " for arg in args) + ")"
            case ir.Op("get", (whole,), _, at):
                return f"{self.text(whole)}[{at}]"
            case ir.Op("field", (pointer,), _, (StructType() as struct, int(index))):
                return f"({self.text(pointer)} + {struct.offsets[index]} & {_M64})"
            case ir.Op("offset", (pointer, index)):
                return self.offset(op, pointer, index)
            case ir.Op("shl" | "lshr", (a, ir.Const(IntType(bits), int(amount)))) if amount < bits:
                shift = f"{self.text(a)} >> {amount}" if name == "lshr" else f"{self.text(a)} << {amount}"
                return f"({shift})" if name == "lshr" else f"({shift} & {(1 << bits) - 1})"
            case _:
                return f"{self.environment.row(op)}({self.texts(args)})"

    def offset(self, op: ir.Op, pointer: ir.Value, index: ir.Value) -> str:
        """Return `pointer + index * size` as a Python expression."""
        size = size_of(op.attr)  # type: ignore[arg-type]
        sign = 1 << (_bits(index.type) - 1)
        if isinstance(index, ir.Const) and isinstance(index.value, int):
            distance = ((index.value ^ sign) - sign) * size
            return f"({self.text(pointer)} + {distance} & {_M64})"
        if _bits(index.type) == 64:
            # arithmetic modulo 2**64 needs no sign
            return f"({self.text(pointer)} + {self.text(index)} * {size} & {_M64})"
        return f"({self.text(pointer)} + (({self.text(index)} ^ {sign}) - {sign}) * {size} & {_M64})"


def _has_symbol(plain: Any) -> bool:
    return any(map(_has_symbol, plain)) if isinstance(plain, tuple) else isinstance(plain, ir.Address | ir.ImageSize)


def member_types(kind: Type) -> tuple[Type, ...]:
    """Return the types of the parts of a vector, array or struct."""
    match kind:
        case VectorType(element, count) | ArrayType(element, count):
            return (element,) * count
        case StructType(fields):
            return fields
        case _:
            raise Bug(f"{kind} has no parts", "ir.interpret")


def zero(kind: Type) -> Any:
    """Return the plain value whose bytes are all zero."""
    match kind:
        case IntType() | PointerType():
            return 0
        case FloatType():
            return 0.0
        case _:
            return tuple(zero(part) for part in member_types(kind))


def evaluator(op: ir.Op) -> Callable[..., Any]:
    """Return a function of the plain operands of `op`."""
    row = ROWS[op.name]
    types = tuple(arg.type for arg in op.args)
    kind, result, attr = types[0] if types else op.type, op.type, op.attr
    if row.special is not None:
        special = row.special
        return lambda *values: special(types, values, result, attr)
    scalar = row.scalar
    assert scalar is not None
    if isinstance(kind, VectorType):
        element = kind.element
        out = result.element if isinstance(result, VectorType) else result
        return lambda *values: tuple([scalar(element, out, *lanes) for lanes in zip(*values, strict=True)])
    return lambda *values: scalar(kind, result, *values)
