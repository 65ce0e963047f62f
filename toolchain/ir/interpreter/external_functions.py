"""C functions and LLVM intrinsics in the interpreter: two closed tables.

Input: memory, argument types, plain arguments and the result's type. Output: a plain value, or None for void. Other
functions cannot run at compile time.
"""

import math
import operator
import re
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.ir import ops
from ktc.ir.arithmetic import ROUND, signed
from ktc.ir.interpreter.memory import Failure, Memory
from ktc.ir.nodes import INTERPRETED, Plain
from ktc.ir.small_floats import FORMATS, SmallFloat, decode, encode
from ktc.ir.types import FloatType, IntType, StructType, Type, VectorType

Arguments = tuple[Any, ...]
"""Plain values of a call; the declaration says which kinds they have."""

Foreign = Callable[[Memory, tuple[Type, ...], Arguments, Type], Plain | None]

# ---- C functions ---------------------------------------------------------------------------------------


def _malloc(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    return memory.allocate(args[0], heap=True)


def _calloc(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    return memory.allocate(args[0] * args[1], heap=True)


def _aligned_alloc(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    return memory.allocate(args[1], args[0], heap=True)


def _windows_aligned_malloc(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    return memory.allocate(args[0], args[1], heap=True)


def _posix_memalign(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    place, align, size = args
    memory.write(IntType(64), place, memory.allocate(size, align, heap=True))
    return 0


def _realloc(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    old, size = args
    new = memory.allocate(size, heap=True)
    if old:
        block, _ = memory.check(old, 0)
        memory.write_bytes(new, bytes(block[:size]))
        memory.free(old)
    return new


def _free(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> None:
    memory.free(args[0])


def _memcpy(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    target, origin, size = args
    memory.write_bytes(target, memory.read_bytes(origin, size))
    return target  # type: ignore[no-any-return]


def _memset(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    target, byte, size = args
    if size:
        block, offset = memory.writable(target, size)
        block[offset : offset + size] = bytes((byte & 255,)) * size
    return target  # type: ignore[no-any-return]


def _order(a: bytes, b: bytes, result: Type) -> int:
    assert isinstance(result, IntType)
    return ((a > b) - (a < b)) & ((1 << result.bits) - 1)


def _memcmp(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    a, b, size = args
    return _order(memory.read_bytes(a, size), memory.read_bytes(b, size), result)


def _strcmp(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    return _order(memory.c_string(args[0]), memory.c_string(args[1]), result)


def _strlen(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    return len(memory.c_string(args[0]))


_CONVERSION = re.compile(rb"%([-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|z|j|t)?([diuxXcsfFeEgG%])")


def _snprintf(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
    """The conversions of numbers, characters and C strings; `%a`, `%p`, `%n` and `*` are not done."""
    target, size, form = args[0], args[1], memory.c_string(args[2])
    values = iter(zip(types[3:], args[3:], strict=True))

    def convert(match: re.Match[bytes]) -> bytes:
        flags, letter = match.groups()
        if letter == b"%":
            return b"%"
        kind, value = next(values)
        if letter == b"s":
            value = memory.c_string(value)
        elif letter == b"c":
            value &= 255
        elif letter in b"di" and isinstance(kind, IntType):
            value = signed(kind, value)
        text: bytes = b"%%%b%b" % (flags, letter) % value
        return text

    if b"%" in _CONVERSION.sub(b"", form):
        raise Failure("unsupported", f"the format '{form.decode(errors='replace')}' is not done at compile time")
    text = _CONVERSION.sub(convert, form)
    if size:
        memory.write_bytes(target, text[: size - 1] + b"\0")
    return len(text)


def _ends(message: str) -> Foreign:
    def run(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> None:
        raise Failure("trap", message)

    return run


_FAILED_ASSERTION = -2
"""The number of a file that `debug_assert` gives at compile time, see `builtin/debug_assert.kpy`."""


def _write(memory: Memory, _: tuple[Type, ...], args: Arguments, result: Type) -> int:
    """Write the output of a program that runs at compile time to the standard error of the compiler."""
    descriptor, address, size = args
    if signed(IntType(32), descriptor) == _FAILED_ASSERTION:
        raise Failure("trap", memory.read_bytes(address, size).decode(errors="replace"))
    if descriptor not in (1, 2):
        raise Failure("unsupported", "files cannot be written at compile time")
    if memory.is_quiet:
        memory.unprinted += 1
        return int(size)
    text = memory.read_bytes(address, size).decode(errors="replace")
    sys.stderr.write(text)
    return int(size)


def _uncaught(memory: Memory, _: tuple[Type, ...], args: Arguments, result: Type) -> None:
    """An uncaught error ends an evaluation."""
    address, size = args
    raise Failure("trap", f"an error is raised: {memory.read_bytes(address, size).decode(errors='replace')}")


def _math(function: Callable[..., float]) -> Foreign:
    """A function of floats, rounded to the result's type; its domain errors give NaN, its overflows infinity."""

    def one(out: FloatType, *args: float) -> float:
        try:
            return ROUND[out.name](function(*args))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    def run(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> Plain | None:
        if isinstance(result, VectorType) and isinstance(result.element, FloatType):
            kind = result.element
            return tuple(one(kind, *lane) for lane in zip(*args, strict=True))
        assert isinstance(result, FloatType)
        return one(result, *args)

    return run


def _log(base: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: -math.inf if value == 0.0 else base(value)


def _pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except ValueError:
        # C: a pole at zero, NaN for a negative base
        if a == 0.0:
            odd = b == math.trunc(b) and math.fmod(b, 2.0) != 0.0
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan
    except OverflowError:
        odd = b == math.trunc(b) and math.fmod(b, 2.0) != 0.0
        return -math.inf if a < 0.0 and odd else math.inf


_FUNCTIONS: Mapping[str, Callable[..., float]] = MappingProxyType(
    {
        "sin": math.sin,
        "cos": math.cos,
        "tan": math.tan,
        "asin": math.asin,
        "acos": math.acos,
        "atan": math.atan,
        "atan2": math.atan2,
        "sinh": lambda x: math.copysign(math.inf, x) if abs(x) > 711.0 else math.sinh(x),
        "cosh": math.cosh,
        "tanh": math.tanh,
        "exp": math.exp,
        "exp2": lambda x: _pow(2.0, x),
        "exp10": lambda x: _pow(10.0, x),
        "expm1": math.expm1,
        "log": _log(math.log),
        "log2": _log(math.log2),
        "log10": _log(math.log10),
        "log1p": lambda x: -math.inf if x == -1.0 else math.log1p(x),
        "pow": _pow,
        "cbrt": math.cbrt,
        "hypot": math.hypot,
        "erf": math.erf,
        "erfc": math.erfc,
        "tgamma": math.gamma,
        "lgamma": math.lgamma,
    }
)


def _operation(name: str, arity: int) -> Foreign:
    """Return a function that runs the operation `name` of `ir.ops`; operands after `arity` are flags."""

    def run(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> Plain | None:
        return ops.evaluate(name, types[:arity], args[:arity], result)

    return run


# C functions that are operations of the table, each for double and float
_C_OPERATIONS = {
    "sqrt": ("sqrt", 1),
    "fabs": ("fabs", 1),
    "floor": ("floor", 1),
    "ceil": ("ceil", 1),
    "trunc": ("trunc_f", 1),
    "round": ("round_half_away", 1),
    "rint": ("roundeven", 1),
    "copysign": ("copysign", 2),
    "fmin": ("fmin", 2),
    "fmax": ("fmax", 2),
    "fmod": ("frem", 2),
    "fma": ("fma", 3),
}

_C_MATH = {name + suffix: _math(run) for name, run in _FUNCTIONS.items() for suffix in ("", "f")}

EXTERNALS: Mapping[str, Foreign] = MappingProxyType(
    {
        **_C_MATH,
        **{name + suffix: _operation(*op) for name, op in _C_OPERATIONS.items() for suffix in ("", "f")},
        "malloc": _malloc,
        "calloc": _calloc,
        "realloc": _realloc,
        "aligned_alloc": _aligned_alloc,
        "_aligned_malloc": _windows_aligned_malloc,
        "_aligned_free": _free,
        "posix_memalign": _posix_memalign,
        "free": _free,
        "memcpy": _memcpy,
        "memmove": _memcpy,
        "memset": _memset,
        "memcmp": _memcmp,
        "strcmp": _strcmp,
        "strlen": _strlen,
        "snprintf": _snprintf,
        "write": _write,
        "ktc_uncaught": _uncaught,
        "abort": _ends("abort is called"),
        "exit": _ends("exit is called"),
        "_exit": _ends("exit is called"),
    }
)
"""C functions that can run at compile time."""

# ---- intrinsics ----------------------------------------------------------------------------------------


def _overflow(name: str, sign: bool) -> Foreign:
    """{value, whether it wrapped}."""
    steps: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
    step = steps[name]

    def run(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> Plain | None:
        kind = types[0]
        if not isinstance(kind, IntType) or not isinstance(result, StructType):
            raise Failure("unsupported", "overflow checks on vectors cannot run at compile time")
        a, b = (signed(kind, arg) if sign else arg for arg in args)
        exact = step(a, b)
        value = exact & ((1 << kind.bits) - 1)
        return value, int((signed(kind, value) if sign else value) != exact)

    return run


def _nothing(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> None:
    return None


def _first(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> Plain | None:
    first: Plain = args[0]
    return first


def _powi(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> Plain | None:
    kind = types[1]
    assert isinstance(kind, IntType)
    power = float(signed(kind, args[1]))
    exponents = (power,) * len(args[0]) if isinstance(args[0], tuple) else power
    return _math(_pow)(memory, types, (args[0], exponents), result)


def _narrow_pair(form: SmallFloat) -> Foreign:
    """NVIDIA's two floats to two floats of one byte; the first is the upper byte."""

    def run(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> int:
        return encode(form, args[0], saturate=True) << 8 | encode(form, args[1], saturate=True)

    return run


def _widen_pair(form: SmallFloat) -> Foreign:
    """NVIDIA's two floats of one byte to a vector of two half floats."""

    def run(memory: Memory, types: tuple[Type, ...], args: Arguments, result: Type) -> tuple[float, float]:
        return decode(form, args[0] & 255), decode(form, args[0] >> 8)

    return run


_PAIRS = {form.pair: form for form in FORMATS.values() if form.pair}

_OPERATIONS = {row.llvm: _operation(row.name, row.arity) for row in ops.ROWS.values() if row.kind == "intrinsic"}

INTRINSICS: Mapping[str, Foreign] = MappingProxyType(
    {
        **{f"llvm.{name}": _math(run) for name, run in _FUNCTIONS.items()},
        **_OPERATIONS,
        **{
            f"llvm.{'s' if sign else 'u'}{name}.with.overflow": _overflow(name, sign)
            for name in ("add", "sub", "mul")
            for sign in (True, False)
        },
        **{f"llvm.nvvm.ff.to.{pair}.rn": _narrow_pair(form) for pair, form in _PAIRS.items()},
        **{f"llvm.nvvm.{pair}.to.f16x2.rn": _widen_pair(form) for pair, form in _PAIRS.items()},
        "ktc.check.shift": _nothing,
        INTERPRETED: lambda memory, types, args, result: 1,
        "llvm.powi": _powi,
        "llvm.fmuladd": _operation("fma", 3),
        "llvm.rint": _operation("roundeven", 1),
        "llvm.nearbyint": _operation("roundeven", 1),
        "llvm.expect": _first,
        "llvm.trap": _ends("a trap is executed"),
        "llvm.debugtrap": _ends("a trap is executed"),
        "llvm.assume": _nothing,
        "llvm.lifetime.start": _nothing,
        "llvm.lifetime.end": _nothing,
        "llvm.prefetch": _nothing,
    }
)
"""LLVM intrinsics that can run at compile time, by their name without the type suffixes."""


def intrinsic(name: str) -> Foreign | None:
    """Return a function that runs the intrinsic of this full name (`llvm.sqrt.v4f32`), or None."""
    while name:
        found = INTRINSICS.get(name)
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return None
