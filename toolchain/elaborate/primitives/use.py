"""The elaborator as primitives see it: two protocols, and `Use`, one use of an operation.

Input: the attributes and operands of one use. Output: them again, checked and unwrapped; what does not fit is reported.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from ktc.base.records import record
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Bug
from ktc.diag.source import Span
from ktc.elaborate.builder import ir_values
from ktc.elaborate.model.declarations import Ty
from ktc.elaborate.model.elaboration import Body, Elaboration
from ktc.elaborate.model.types import ConstValue, FunctionValue, ParameterArgument, ParameterPack, PrimTy
from ktc.elaborate.model.values import Place, Result, RValue, Val
from ktc.elaborate.tree.operator_names import operator_of
from ktc.elaborate.types import primitive_types, struct_types, type_printer
from ktc.elaborate.types.primitive_types import STRING, comptime_bool, comptime_int, constant_of
from ktc.ir import nodes, ops, types
from ktc.ir.small_floats import EXPONENT
from ktc.targets.target import Target


def comptime_str(body: Body, value: Result) -> str:
    """Return the text of a constant: `!kgen.string`, or a library value that stands for one.

    Raises:
        ValueError: it is none.
    """
    ty, data = constant_of(body.elab, value)
    if isinstance(data, str):
        return data
    if ty is not None and struct_types.ir_type(body.elab, ty) == STRING:
        return ir_values.string_of_const(body, nodes.Const(STRING, data))
    if isinstance(data, tuple) and len(data) == 3 and isinstance(data[1], int):  # a `String`: address, length, capacity
        return ir_values.string_of_const(body, nodes.Const(STRING, data[:2]))
    raise ValueError(
        f"'{type_printer.type_name(body.elab, ty)}' is not a text" if ty is not None else "this is not a text"
    )


@record
class Use:
    """One use of a primitive operation."""

    body: Body
    name: str
    attrs: Mapping[str, ParameterArgument]
    args: Sequence[Result]
    span: Span | None

    @property
    def elab(self) -> Elaboration:
        """The elaborator of the whole program."""
        return self.body.elab

    def fail(self, code: Code, message: str) -> NoReturn:
        """Report that this use is wrong and give up the statement."""
        self.body.fail(code, message, self.span)

    def mismatch(self, reason: str) -> NoReturn:
        """Report an operand or attribute of a wrong type."""
        self.fail(Code.TYPE_MISMATCH, f"primitive operation '{self.name}': {reason}")

    def wrong_kind(self, prim: PrimTy) -> NoReturn:
        """Report operands of a kind that the operation is not for; in a method of the library's the method is named."""
        at = self.body.frame.instance
        if at is None or at.self_ty is None or self.span is None or not self.span.source.is_library:
            self.mismatch(f"does not take operands of type '{prim}'")
        said = operator_of(at.fn.name) or at.fn.title
        text = f"{said} is not for values of type '{type_printer.type_name(self.elab, at.self_ty)}'"
        self.elab.fail(Code.TYPE_MISMATCH, text, None, "", at)  # at the call; where the library finds it says no more

    def check_numbers(self, prim: PrimTy) -> None:
        """Report a type whose values are bytes that no operation, or no arithmetic, knows as numbers."""
        if prim.kind == "e3m4":
            text = "there are no conversions and no arithmetic for 'DType.float8_e3m4'; its values are bytes to move"
            self.fail(Code.TYPE_MISMATCH, text)
        if prim.kind == EXPONENT:
            text = "there is no arithmetic for 'DType.float8_e8m0fnu'; its values are exponents: cast them to a float"
            self.fail(Code.TYPE_MISMATCH, text)

    # ---- attributes --------------------------------------------------------------------------------

    def attr(self, key: str) -> ParameterArgument:
        """Return an attribute that must be there."""
        if key not in self.attrs:
            self.fail(Code.MISSING_ARGUMENT, f"primitive operation '{self.name}' needs the attribute '{key}'")
        return self.attrs[key]

    def type_of(self, key: str = "_type") -> Ty:
        """Return an attribute that is a type."""
        value = self.attr(key)
        if not isinstance(value, Ty):
            self.mismatch(f"attribute '{key}' must be a type")
        return value

    def prim_of(self, key: str = "_type") -> tuple[Ty, PrimTy]:
        """Return an attribute that is a type, and the primitive that it is or stands for."""
        ty = self.type_of(key)
        prim = self.prim(ty)
        if prim is None or prim.ir is None:
            self.mismatch(f"'{type_printer.type_name(self.elab, ty)}' is not a primitive type with values at run time")
        return ty, prim

    def number(self, key: str, default: int | None = None) -> int:
        """Return an attribute that is a whole number."""
        if default is not None and key not in self.attrs:
            return default
        try:
            return comptime_int(self.elab, self.attr(key))
        except ValueError as error:
            self._not_constant(key, error)

    def text(self, key: str, default: str | None = None) -> str:
        """Return an attribute that is a text."""
        if default is not None and key not in self.attrs:
            return default
        try:
            return comptime_str(self.body, self.attr(key))
        except ValueError as error:
            self._not_constant(key, error)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return an attribute that is a truth value."""
        if default is not None and key not in self.attrs:
            return default
        try:
            return comptime_bool(self.elab, self.attr(key))
        except ValueError as error:
            self._not_constant(key, error)

    def one_of(self, key: str, choices: Mapping[str, str] | Sequence[str], default: str | None = None) -> str:
        """Return an attribute that is one of some words."""
        word = self.text(key, default)
        if word not in choices:
            self.mismatch(f"attribute '{key}' is '{word}', not one of {', '.join(choices)}")
        return word

    def function(self) -> FunctionValue:
        """Return the attribute `func`."""
        value = self.attr("func")
        if not isinstance(value, FunctionValue):
            self.fail(Code.NOT_CALLABLE, "a function is expected here")
        return value

    def target(self, key: str = "target") -> Target:
        """Return an attribute that is a target."""
        value = self.attr(key)
        if not isinstance(value, ConstValue) or not isinstance(value.data, Target):
            self.mismatch(f"attribute '{key}' must be a target that is known at compile time")
        return value.data

    def items(self, key: str) -> tuple[ParameterArgument, ...]:
        """Return an attribute that is the values of a variadic parameter."""
        value = self.attr(key)
        if not isinstance(value, ParameterPack):
            self.mismatch(f"attribute '{key}' must be a variadic parameter")
        return value.items

    def _not_constant(self, key: str, error: ValueError) -> NoReturn:
        self.fail(Code.NON_CONSTANT_VALUE, f"attribute '{key}' of primitive operation '{self.name}': {error}")

    # ---- operands ----------------------------------------------------------------------------------

    def prim(self, ty: Ty) -> PrimTy | None:
        """Return the primitive that a type is or stands for."""
        return ty if isinstance(ty, PrimTy) else struct_types.base_prim(self.elab, ty)

    def val(self, at: int) -> Val:
        """Return an operand, which must be a value."""
        value = self.args[at]
        if not isinstance(value, RValue | Place | ConstValue):
            self.mismatch(f"operand {at + 1} is not a value")
        return value

    def operand(self, at: int) -> tuple[PrimTy, nodes.Value]:
        """Return an operand's primitive type and its IR value."""
        value = self.val(at)
        prim = self.prim(value.ty)
        if prim is None or prim.ir is None:
            self.mismatch(
                f"operand {at + 1} has the type '{type_printer.type_name(self.elab, value.ty)}', not a primitive one"
            )
        return prim, ir_values.rvalue(self.body, value)

    def same(self, count: int = 2) -> tuple[PrimTy, list[nodes.Value]]:
        """Return all operands, which must have one type."""
        prim, first = self.operand(0)
        values = [first]
        for at in range(1, count):
            other, value = self.operand(at)
            if other is not prim and (other.ir != prim.ir or other.kind != prim.kind):
                self.mismatch(f"operands of types '{prim}' and '{other}'")
            values.append(value)
        return prim, values

    def pointer(self, at: int) -> nodes.Value:
        """Return an operand that is an address."""
        prim, value = self.operand(at)
        if not isinstance(prim.ir, types.PointerType):
            self.mismatch(f"operand {at + 1} has the type '{prim}', not a pointer")
        return value

    def word(self, at: int) -> nodes.Value:
        """Return an operand that is a whole number, as 64 bits."""
        prim, value = self.operand(at)
        if not isinstance(prim.ir, types.IntType) or prim.kind == "b":
            self.mismatch(f"operand {at + 1} has the type '{prim}', not 'index'")
        if prim.ir.bits == 64:
            return value
        narrow = "sext" if prim.kind == "s" else "zext"
        return self.op("trunc" if prim.ir.bits > 64 else narrow, (value,), types.I64)

    def scalars(self, start: int, *more: type) -> tuple[nodes.Value, ...]:
        """Return the operands from `start` on: numbers and addresses, each of any type, and what `more` allows."""
        allowed = (types.IntType, types.FloatType, types.PointerType, *more)
        values = []
        for at in range(start, len(self.args)):
            value = ir_values.rvalue(self.body, self.val(at))
            if not isinstance(value.type, allowed):
                self.mismatch(f"operand {at + 1} is neither a number nor an address")
            values.append(value)
        return tuple(values)

    # ---- results -----------------------------------------------------------------------------------

    def op(
        self, name: str, args: Sequence[nodes.Value], type: types.Type | None = None, attr: object = None
    ) -> nodes.Value:
        """Build a pure operation of the IR; operands that do not fit are the source's mistake here."""
        try:
            return ops.build(name, tuple(args), type, attr)
        except Bug as bug:
            self.mismatch(str(bug))

    def simd(self, prim: PrimTy, lanes: int) -> PrimTy:
        """Return the vector type with these lanes of `prim`'s element."""
        if prim.lanes == lanes:
            return prim
        return primitive_types.prim(self.elab, "!pop.simd", (lanes, prim.args[1]))

    def index(self, value: int) -> RValue:
        """Return a constant of type `index`."""
        return RValue(primitive_types.prim(self.elab, "index", ()), nodes.Const(types.I64, value & (1 << 64) - 1))

    def truth(self, value: bool) -> RValue:
        """Return a constant of type `i1`."""
        return RValue(primitive_types.prim(self.elab, "i1", ()), nodes.Const(types.BOOL, int(value)))

    def string(self, text: str) -> ConstValue:
        """Return a constant of type `!kgen.string`."""
        return ConstValue(primitive_types.prim(self.elab, "!kgen.string", ()), text)

    def address(self, value: nodes.Value) -> RValue:
        """Return an address in its space."""
        assert isinstance(value.type, types.PointerType)
        space = value.type.space
        return RValue(primitive_types.prim(self.elab, "!kgen.pointer", (space,) if space else ()), value)

    def nothing(self) -> RValue:
        """Return the result of an operation without one."""
        return RValue(primitive_types.prim(self.elab, "!kgen.none", ()), nodes.Const(types.UNIT, ()))

    def literal(self, value: "int | Fraction | float") -> ConstValue:
        """Return an exact number, a whole one if it is an `int`."""
        name = "!kgen.int_literal" if isinstance(value, int) else "!kgen.float_literal"
        return ConstValue(primitive_types.prim(self.elab, name, ()), value)
