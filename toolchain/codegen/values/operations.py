"""Pure values as LLVM instructions.

Input: IR values. Output: lines appended to `lines`, and the operand's text. An operation that occurs twice as the same
object is written once where the first writing reaches the second (`open_scope`, `close_scope`).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from ktc.codegen.context import Context
from ktc.codegen.values import casts
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import Argument, Const, GlobalAddress, Local, LocalAddress, Op, Temp, Value
from ktc.ir.ops import ROWS, Row
from ktc.ir.types import ArrayType, IntType, PointerType, StructType, Type, VectorType, align_of

_FUSED = frozenset({"fadd", "fsub", "fmul", "fdiv", "fneg", "frem"})
_EMPTY = "zeroinitializer"


class Operations:
    """Writes values of one function."""

    def __init__(self, context: Context, symbol: str) -> None:
        self.context = context
        self.types = context.types
        self.symbol = symbol
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.temps: dict[int, str] = {}
        self._locals: dict[int, str] = {}
        self._count = 0
        self._known: dict[int, str] = {}
        self._trail: list[int] = []

    # ---- names and scopes ----------------------------------------------------------------------------

    def new(self, instruction: str) -> str:
        """Write an instruction and return the name of its result."""
        self._count = count = self._count + 1
        self.lines.append(f"  %v{count} = {instruction}")
        return f"%v{count}"

    def open_scope(self) -> int:
        """Begin a part that may not be run; give the result to `close_scope`."""
        return len(self._trail)

    def close_scope(self, mark: int) -> None:
        """Forget what was written since `open_scope`: it does not reach further."""
        for key in self._trail[mark:]:
            del self._known[key]
        del self._trail[mark:]

    # ---- values ----------------------------------------------------------------------------------------

    def value(self, value: Value) -> str:
        """Return the operand's text, writing what computes it."""
        kind = value.__class__
        if kind is Temp:
            return self.temps[value.id]  # type: ignore[union-attr]
        if kind is Const:
            return self.context.constants.value(value.type, value.value)  # type: ignore[union-attr]
        if kind is Op:
            key = id(value)
            text = self._known.get(key)
            if text is None:
                text = self._known[key] = self._operation(cast(Op, value))
                self._trail.append(key)
            return text
        if kind is Argument:
            empty = self.types.is_empty(value.type)
            return _EMPTY if empty else f"%a{value.index}"  # type: ignore[union-attr]
        if kind is LocalAddress:
            return self.local(value.local)  # type: ignore[union-attr]
        return self._global(cast(GlobalAddress, value))

    def typed(self, value: Value) -> str:
        """Return the operand after its type."""
        return f"{self.types.value(value.type)} {self.value(value)}"

    def local(self, local: Local) -> str:
        """Return the generic address of a local, giving it a stack slot at the first use."""
        name = self._locals.get(local.id)
        if name is not None:
            return name
        name = self._locals[local.id] = f"%l{local.id}"
        kind = "i8" if self.types.is_empty(local.type) else self.types.memory(local.type)
        align = local.align or align_of(local.type)
        space = self.context.target.alloca_space
        if space:
            self.allocas.append(f"  {name}.slot = alloca {kind}, align {align}, addrspace({space})")
            self.allocas.append(f"  {name} = addrspacecast ptr addrspace({space}) {name}.slot to ptr")
        else:
            self.allocas.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def room(self, kind: Type, align: int) -> str:
        """Return the address of a new stack slot of the host."""
        name = f"%room{len(self.allocas)}"
        self.allocas.append(f"  {name} = alloca {self.types.memory(kind)}, align {align}")
        return name

    def to_memory(self, text: str, kind: Type) -> str:
        """Return a value in memory form."""
        have, want = self.types.value(kind), self.types.memory(kind)
        if have == want:
            return text
        if text == _EMPTY:
            return text
        cast_name = "ptrtoint" if isinstance(kind, PointerType) else "zext"
        return self.new(f"{cast_name} {have} {text} to {want}")

    def from_memory(self, text: str, kind: Type) -> str:
        """Return a value from its form in memory."""
        want, have = self.types.value(kind), self.types.memory(kind)
        if have == want:
            return text
        cast_name = "inttoptr" if isinstance(kind, PointerType) else "trunc"
        return self.new(f"{cast_name} {have} {text} to {want}")

    def _global(self, value: GlobalAddress) -> str:
        offset = self.context.trailing.offsets.get(value.name)
        if offset is None:
            return self.context.refer(value.name, value.space)
        return self.new(f"getelementptr inbounds i8, ptr %shared, i64 {offset}") if offset else "%shared"

    def _operation(self, op: Op) -> str:
        row = ROWS[op.name]
        kind = row.kind
        if kind == "binary":
            left, right = op.args
            flags = self.context.contract if op.name in _FUSED else ""
            return self.new(f"{row.llvm} {flags}{self.typed(left)}, {self.value(right)}")
        if kind in ("icmp", "fcmp"):
            left, right = op.args
            return self.new(f"{kind} {row.llvm} {self.typed(left)}, {self.value(right)}")
        special = _SPECIAL.get(op.name)
        if special is not None:
            return special(self, op)
        if kind == "cast":
            return self._cast(row.llvm, op)
        if kind == "intrinsic":
            return self._intrinsic(row, op)
        if kind == "unary":
            return self.new(f"{row.llvm} {self.context.contract}{self.typed(op.args[0])}")
        raise Bug(f"no code for operation '{op.name}'", "codegen")

    def _cast(self, instruction: str, op: Op) -> str:
        (arg,) = op.args
        if self.types.value(arg.type) == self.types.value(op.type):
            return self.value(arg)
        if instruction == "fptrunc" and casts.flushes_subnormals(self.context.target, op):
            return casts.to_bfloat(op, self.value(arg), self.types, self.new)
        return self.new(f"{instruction} {self.typed(arg)} to {self.types.value(op.type)}")

    def _intrinsic(self, row: Row, op: Op) -> str:
        if op.name.startswith("reduce_") and not isinstance(op.args[0].type, VectorType):
            return self.value(op.args[0])
        if not self.context.target.has_vector_intrinsics:
            if row.llvm in _PLAIN_CASTS:
                return self._cast(_PLAIN_CASTS[row.llvm], op)
            if op.name.startswith("reduce_"):
                return self.reduce_by_halves(op)
        if row.llvm in _PLAIN_CASTS and casts.has_target_function(self.context.target, op):
            value, target = self.value(op.args[0]), self.context.target
            return casts.by_target_function(_PLAIN_CASTS[row.llvm], op, value, target, self.types, self.new)
        if row.llvm in _PLAIN_CASTS and casts.is_lane_by_lane(self.context.target, op):
            return casts.bounded(_PLAIN_CASTS[row.llvm], op, self.value(op.args[0]), self.types, self.new)
        parts = [self.types.suffix(op.type if which == "result" else op.args[0].type) for which in row.suffixes]
        args = ", ".join([*map(self.typed, op.args), *row.extra])
        return self.new(f"call {self.types.value(op.type)} @{row.llvm}.{'.'.join(parts)}({args})")

    # ---- operations with a shape of their own --------------------------------------------------------------

    def negate(self, op: Op) -> str:
        """0 - x."""
        return self.new(f"sub {self.types.value(op.type)} {_zero(op.type)}, {self.value(op.args[0])}")

    def invert(self, op: Op) -> str:
        """Every bit flipped."""
        if isinstance(op.type, VectorType):
            ones = f"splat ({self.types.value(op.type.element)} -1)"
        else:
            ones = "true" if op.type == IntType(1) else "-1"
        return self.new(f"xor {self.typed(op.args[0])}, {ones}")

    def multiply_high(self, op: Op) -> str:
        """The upper half of a product, through integers twice as wide."""
        extend = "sext" if op.name == "smulhi" else "zext"
        element = op.type.element if isinstance(op.type, VectorType) else op.type
        bits = cast(IntType, element).bits
        have = self.types.value(op.type)
        if self.context.target.multiply_high and bits == 64:
            name = self.context.target.multiply_high.format("s" if extend == "sext" else "u")
            self.context.uses.intrinsics[name] = f"declare i64 @{name}(i64, i64) #{PURE_DECLARATION}"
            return self.new(f"call i64 @{name}({self.typed(op.args[0])}, {self.typed(op.args[1])})")
        lanes = op.type.lanes if isinstance(op.type, VectorType) else 0
        wide = f"<{lanes} x i{2 * bits}>" if lanes else f"i{2 * bits}"
        shift = f"splat (i{2 * bits} {bits})" if lanes else str(bits)
        left, right = (self.new(f"{extend} {self.typed(arg)} to {wide}") for arg in op.args)
        product = self.new(f"mul {wide} {left}, {right}")
        high = self.new(f"lshr {wide} {product}, {shift}")
        return self.new(f"trunc {wide} {high} to {have}")

    def select(self, op: Op) -> str:
        """One of two values."""
        if self.types.is_empty(op.type):
            return _EMPTY
        chosen = "select " + ", ".join(map(self.typed, op.args))
        if op.attr == "unpredictable":
            self.context.uses.metadata[0] = "!0 = !{}"
            chosen += ", !unpredictable !0"
        return self.new(chosen)

    def splat(self, op: Op) -> str:
        """A scalar in every lane."""
        (arg,) = op.args
        if not isinstance(op.type, VectorType):
            return self.value(arg)
        kind, lanes = self.types.value(op.type), op.type.lanes
        first = self.new(f"insertelement {kind} poison, {self.typed(arg)}, i64 0")
        return self.new(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def extract(self, op: Op) -> str:
        """One lane."""
        if not isinstance(op.args[0].type, VectorType):
            return self.value(op.args[0])
        return self.new(f"extractelement {self.typed(op.args[0])}, {self.typed(op.args[1])}")

    def insert(self, op: Op) -> str:
        """A vector with one lane replaced."""
        if not isinstance(op.type, VectorType):
            return self.value(op.args[1])
        return self.new("insertelement " + ", ".join(map(self.typed, op.args)))

    def shuffle(self, op: Op) -> str:
        """Lanes of two vectors."""
        left, right = op.args
        lanes = cast("tuple[int, ...]", op.attr)
        if not isinstance(left.type, VectorType):
            parts = [self.value(left), self.value(right)]
            if len(lanes) == 1:
                return parts[lanes[0]]
            kind, text = self.types.value(op.type), "poison"
            for at, lane in enumerate(lanes):
                text = self.new(f"insertelement {kind} {text}, {self.types.value(left.type)} {parts[lane]}, i64 {at}")
            return text
        if not isinstance(op.type, VectorType):
            which, lane = divmod(lanes[0], left.type.lanes)
            return self.new(f"extractelement {self.typed(op.args[which])}, i64 {lane}")
        mask = ", ".join([f"i32 {lane}" for lane in lanes])
        return self.new(f"shufflevector {self.typed(left)}, {self.typed(right)}, <{len(lanes)} x i32> <{mask}>")

    def reduce_by_halves(self, op: Op) -> str:
        """v[0:n/2] op v[n/2:n] until one lane is left."""
        kind = op.args[0].type
        text = self.value(op.args[0])
        if not isinstance(kind, VectorType):
            return text
        name, lanes = ROWS[op.name].llvm.replace("vector.reduce.", ""), kind.lanes
        while lanes > 1:
            have, half = self.types.value(VectorType(kind.element, lanes)), lanes // 2
            if half == 1:
                low, high = (self.new(f"extractelement {have} {text}, i64 {lane}") for lane in (0, 1))
            else:
                low, high = (
                    self.new(
                        f"shufflevector {have} {text}, {have} poison, <{half} x i32> "
                        f"<{', '.join([f'i32 {lane}' for lane in range(start, start + half)])}>"
                    )
                    for start in (0, half)
                )
            part: Type = VectorType(kind.element, half) if half > 1 else kind.element
            text = self._combine(name, part, low, high)
            lanes = half
        return text

    def _combine(self, name: str, kind: Type, left: str, right: str) -> str:
        have = self.types.value(kind)
        if name.startswith("llvm.") and name.rsplit(".", 1)[1] not in ("add", "mul", "and", "or", "xor"):
            return self.new(f"call {have} @{name}.{self.types.suffix(kind)}({have} {left}, {have} {right})")
        flags = self.context.contract if name in _FUSED else ""
        return self.new(f"{name.removeprefix('llvm.')} {flags}{have} {left}, {right}")

    def make(self, op: Op) -> str:
        """A struct or array of its members; the constant ones come as one constant."""
        kind = op.type
        if self.types.is_empty(kind):
            return _EMPTY
        have = self.types.value(kind)
        padded = isinstance(kind, StructType) and self.types.members(kind) is not None
        text = "poison"
        if not padded and any(arg.__class__ is Const for arg in op.args):
            parts = []
            for arg in op.args:
                member = self.types.memory(arg.type)
                if isinstance(arg, Const):
                    parts.append(f"{member} {self.context.constants.memory(arg.type, arg.value)}")
                else:
                    parts.append(f"{member} poison")
            start, end = "[]" if isinstance(kind, ArrayType) else "{}"
            text = f"{start} {', '.join(parts)} {end}"
        for index, arg in enumerate(op.args):
            if padded or arg.__class__ is not Const:
                text = self._put(have, text, arg, self.types.member(kind, index))
        return text

    def _put(self, have: str, text: str, member: Value, at: int) -> str:
        if self.types.is_empty(member.type):
            return text
        held = self.to_memory(self.value(member), member.type)
        return self.new(f"insertvalue {have} {text}, {self.types.memory(member.type)} {held}, {at}")

    def get(self, op: Op) -> str:
        """One member."""
        if self.types.is_empty(op.type):
            return _EMPTY
        at = self.types.member(op.args[0].type, cast(int, op.attr))
        return self.from_memory(self.new(f"extractvalue {self.typed(op.args[0])}, {at}"), op.type)

    def put(self, op: Op) -> str:
        """An aggregate with one member replaced."""
        aggregate, member = op.args
        at = self.types.member(op.type, cast(int, op.attr))
        return self._put(self.types.value(op.type), self.value(aggregate), member, at)

    def field(self, op: Op) -> str:
        """The address of a field."""
        kind, index = cast("tuple[StructType, int]", op.attr)
        if kind.offsets[index] == 0:
            return self.value(op.args[0])
        at = self.types.member(kind, index)
        return self.new(f"getelementptr inbounds {self.types.memory(kind)}, {self.typed(op.args[0])}, i32 0, i32 {at}")

    def offset(self, op: Op) -> str:
        """The address of an element."""
        pointer, index = op.args
        element = self.types.memory(cast(Type, op.attr))
        return self.new(f"getelementptr {element}, {self.typed(pointer)}, {self.typed(index)}")


def _zero(kind: Type) -> str:
    return _EMPTY if isinstance(kind, VectorType) else "0"


PURE_DECLARATION = 8
"""Number of the attribute group of declared functions without an effect."""

_PLAIN_CASTS = {"llvm.fptosi.sat": "fptosi", "llvm.fptoui.sat": "fptoui"}
"""AIR's readers know no saturating cast; the hardware's own saturates."""

_SPECIAL: Mapping[str, Callable[[Operations, Op], str]] = MappingProxyType(
    {
        "neg": Operations.negate,
        "not": Operations.invert,
        "umulhi": Operations.multiply_high,
        "smulhi": Operations.multiply_high,
        "select": Operations.select,
        "splat": Operations.splat,
        "extract": Operations.extract,
        "insert": Operations.insert,
        "shuffle": Operations.shuffle,
        "reduce_fadd": Operations.reduce_by_halves,
        "reduce_fmul": Operations.reduce_by_halves,
        "reduce_fmin": Operations.reduce_by_halves,
        "reduce_fmax": Operations.reduce_by_halves,
        "make": Operations.make,
        "get": Operations.get,
        "set": Operations.put,
        "field": Operations.field,
        "offset": Operations.offset,
    }
)
