"""Numbers that SPIR-V does not have, as others: integers of odd widths (LLVM's optimiser makes `i33`), and bfloat.

Input: lines of a function, all vectors of such numbers in lanes. Output: lines with integers of 8 to 64 bits. An odd
integer lies in the next wider one, whose upper bits mean nothing: an instruction that looks at them clears or copies
the sign first. LLVM's back end only renames the type and would let them count. A bfloat is an `i16`; arithmetic is
float's.
"""

import re

from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.spirv.syntax import called, instruction, unsupported

_KNOWN = (1, 8, 16, 32, 64)
_ODD = re.compile(r"(?<![\w.%@])i(?!1\b|8\b|16\b|32\b|64\b)(\d+)\b")
_BFLOAT = re.compile(r"\bbfloat\b|\bbf16\b")
_BITS = re.compile(r"0xR([0-9A-F]{4})")
_ARITHMETIC = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_SIGNED = frozenset({"sdiv", "srem"})
_LOW = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl"})
_WIDEST = 64


class Numbers:
    """The lines that are made."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def new(self, text: str) -> str:
        """Write an instruction; returns its value."""
        self.count += 1
        self.lines.append(f"  %ktc.n{self.count} = {text}")
        return f"%ktc.n{self.count}"

    def give(self, name: str, text: str) -> None:
        """Write the last instruction of several."""
        self.lines.append(f"  {name} = {text}")


def known_numbers(lines: list[str]) -> list[str]:
    """Return the lines with numbers that SPIR-V has."""
    made = Numbers()
    for line in lines:
        found = instruction(line)
        if found is not None and _BFLOAT.search(line):
            _bfloat(made, found, line)
        elif found is not None and _ODD.search(line) and found.op != "getelementptr":
            _odd(made, found, line)
        else:
            made.lines.append(line)
    return [in_types(line) for line in made.lines]


def in_types(line: str) -> str:
    """Return a line with the types' names and the constants of bfloat as they are in the end."""
    if "bfloat" in line:
        line = _BITS.sub(lambda found: str(int(found[1], 16)), line)
        line = re.sub(r"\bbfloat\b", "i16", line)
    return _ODD.sub(lambda found: f"i{_wider(int(found[1]))}", line)


def _wider(bits: int) -> int:
    if bits > _WIDEST:
        raise unsupported(f"i{bits}")
    return next(known for known in _KNOWN[1:] if known >= bits)


# ---- integers of odd widths ---------------------------------------------------------------------------------


def _bits(kind: str) -> int:
    return int(kind[1:])


def _is_odd(kind: str) -> bool:
    return _ODD.fullmatch(kind) is not None


def _clean(made: Numbers, kind: str, value: str, signed: bool) -> str:
    """Return a value of an odd type in its wider one, its upper bits 0 or the sign."""
    if not _is_odd(kind):
        return value
    bits, wider = _bits(kind), _wider(_bits(kind))
    if value[0] != "%":
        if value in ("poison", "undef"):
            return value
        number = int({"true": 1, "false": 0}.get(value, value)) & ((1 << bits) - 1)
        return str(number - (1 << bits) if signed and number >> (bits - 1) else number)
    if not signed:
        return made.new(f"and i{wider} {value}, {(1 << bits) - 1}")
    moved = made.new(f"shl i{wider} {value}, {wider - bits}")
    return made.new(f"ashr i{wider} {moved}, {wider - bits}")


def _odd(made: Numbers, found: Instruction, line: str) -> None:
    op = found.op
    if op in ("phi", "select", "freeze", "ret", "extractvalue"):
        made.lines.append(line)
    elif op in ("trunc", "zext", "sext", "uitofp", "sitofp", "fptoui", "fptosi"):
        _cast(made, found)
    elif op == "icmp":
        predicate, kind = found.predicate, found.operands[0].type
        a, b = (_clean(made, kind, value, predicate[0] == "s") for value in found.values)
        made.give(found.name, f"icmp {predicate} i{_wider(_bits(kind))} {a}, {b}")
    elif op == "call":
        _call(made, found)
    elif op == "switch":
        _switch(made, found)
    elif op in _LOW or op in _SIGNED or op in ("lshr", "ashr", "udiv", "urem"):
        _binary(made, found)
    else:
        raise unsupported(line)


def _switch(made: Numbers, found: Instruction) -> None:
    kind = found.operands[0].type
    wider = f"i{_wider(_bits(kind))}"
    clean = _clean(made, kind, found.values[0], signed=False)
    cases = [f"    {wider} {_clean(made, kind, value, signed=False)}, label {block}" for value, block in found.cases]
    head = f"  switch {wider} {clean}, label {found.targets[0]} ["
    made.lines.append("\n".join([head, *cases, f"  ]{found.attachments}"]))


def _binary(made: Numbers, found: Instruction) -> None:
    kind, (left, right) = found.type, found.values
    wider = f"i{_wider(_bits(kind))}"
    if found.op not in _LOW:
        left = _clean(made, kind, left, found.op in _SIGNED or found.op == "ashr")
    if found.op not in _LOW or found.op == "shl":
        right = _clean(made, kind, right, found.op in _SIGNED)
    made.give(found.name, f"{found.op} {wider} {left}, {right}")


def _cast(made: Numbers, found: Instruction) -> None:
    ((kind, value, _),), result = found.operands, found.type
    if found.op in ("fptoui", "fptosi"):
        made.give(found.name, f"{found.op} {kind} {value} to i{_wider(_bits(result))}")
        return
    if found.op != "trunc":
        value = _clean(made, kind, value, found.op[0] == "s")
    have = f"i{_wider(_bits(kind))}" if _is_odd(kind) else kind
    want = f"i{_wider(_bits(result))}" if _is_odd(result) else result
    if have == want:
        made.give(found.name, f"or {have} {value}, 0")
    else:
        made.give(found.name, f"{found.op} {have} {value} to {want}")


def _call(made: Numbers, found: Instruction) -> None:
    """The intrinsics that LLVM's optimiser uses for any width."""
    kind, name, given = called(found)
    known = re.fullmatch(r"@llvm\.(umin|umax|smin|smax|abs|ctpop)\.i\d+", name)
    if known is None:
        raise unsupported(found.body)
    wider = f"i{_wider(_bits(kind))}"
    words = [
        f"{wider} {_clean(made, one, value, known[1] in ('smin', 'smax', 'abs'))}" if one == kind else f"{one} {value}"
        for one, value in given
    ]
    made.give(found.name, f"call {wider} @llvm.{known[1]}.{wider}({', '.join(words)})")


# ---- bfloat -------------------------------------------------------------------------------------------------


def _bfloat(made: Numbers, found: Instruction, line: str) -> None:
    op = found.op
    if op in ("phi", "select", "freeze", "load", "store", "getelementptr", "alloca", "bitcast"):
        made.lines.append(line)
        return
    if op in _ARITHMETIC:
        a, b = (_extended(made, value) for value in found.values)
        _truncated(made, found.name, made.new(f"{op} {found.flags}float {a}, {b}"))
    elif op == "fneg":
        made.give(found.name, f"xor i16 {_number(found.values[0])}, 32768")
    elif op == "fcmp":
        a, b = (_extended(made, value) for value in found.values)
        made.give(found.name, f"fcmp {found.flags}{found.predicate} float {a}, {b}")
    elif op == "call":
        _float_call(made, found)
    else:
        _float_cast(made, found)


def _number(value: str) -> str:
    return _BITS.sub(lambda found: str(int(found[1], 16)), value)


def _extended(made: Numbers, value: str) -> str:
    wide = made.new(f"zext i16 {_number(value)} to i32")
    return made.new(f"bitcast i32 {made.new(f'shl i32 {wide}, 16')} to float")


def _truncated(made: Numbers, name: str, value: str) -> None:
    """Round to nearest even; a nan stays one."""
    bits = made.new(f"bitcast float {value} to i32")
    upper = made.new(f"lshr i32 {bits}, 16")
    odd = made.new(f"and i32 {upper}, 1")
    raised = made.new(f"add i32 {made.new(f'add i32 {bits}, 32767')}, {odd}")
    rounded = made.new(f"lshr i32 {raised}, 16")
    is_nan = made.new(f"fcmp uno float {value}, {value}")
    quiet = made.new(f"or i32 {upper}, 64")
    made.give(name, f"trunc i32 {made.new(f'select i1 {is_nan}, i32 {quiet}, i32 {rounded}')} to i16")


def _float_cast(made: Numbers, found: Instruction) -> None:
    ((kind, value, _),), result = found.operands, found.type
    if kind == "bfloat":
        wide = _extended(made, value)
        if found.op == "fpext" and result == "float":
            made.give(found.name, f"select i1 true, float {wide}, float {wide}")
        else:
            made.give(found.name, f"{found.op} float {wide} to {result}")
        return
    if kind == "double":
        value = _to_odd(made, value)
    elif kind != "float":
        value = made.new(f"{found.op if found.op != 'fptrunc' else 'fpext'} {kind} {value} to float")
    _truncated(made, found.name, value)


def _to_odd(made: Numbers, value: str) -> str:
    """Return a double as a float whose last bit is set if it is not exact, so that it can be rounded once more."""
    near = made.new(f"fptrunc double {value} to float")
    back = made.new(f"fpext float {near} to double")
    sizes = [made.new(f"call double @llvm.fabs.f64(double {one})") for one in (back, value)]
    over = made.new(f"zext i1 {made.new(f'fcmp ogt double {sizes[0]}, {sizes[1]}')} to i32")
    inexact = made.new(f"zext i1 {made.new(f'fcmp one double {back}, {value}')} to i32")
    lower = made.new(f"sub i32 {made.new(f'bitcast float {near} to i32')}, {over}")
    return made.new(f"bitcast i32 {made.new(f'or i32 {lower}, {inexact}')} to float")


def _float_call(made: Numbers, found: Instruction) -> None:
    """An intrinsic, as float's."""
    kind, name, given = called(found)
    if not name.startswith("@llvm."):
        raise unsupported(found.body)
    words = [f"float {_extended(made, value)}" if one == "bfloat" else f"{one} {value}" for one, value in given]
    as_float = re.sub(r"\bbf16\b", "f32", name)
    result = made.new(f"call {found.flags}{'float' if kind == 'bfloat' else kind} {as_float}({', '.join(words)})")
    if kind == "bfloat":
        _truncated(made, found.name, result)
    else:
        made.give(found.name, f"select i1 true, {kind} {result}, {kind} {result}")
