"""Calls of C functions with structs by value.

Input: a call and where it is written. Output: lines in which structs are passed and returned as C's convention says.
"""

from ktc.codegen.foreign import c_abi
from ktc.codegen.values.operations import Operations
from ktc.ir.nodes import Value
from ktc.ir.types import BOOL, I64, ArrayType, StructType, Type, align_of, size_of


def has_aggregates(args: tuple[Value, ...], kind: Type) -> bool:
    """Return whether a call passes or returns a struct."""
    return isinstance(kind, StructType | ArrayType) or any(isinstance(one.type, StructType | ArrayType) for one in args)


class AggregateCall:
    """One call of a C function: the operands, and the place of the result.

    Attributes:
        passed: the arguments with types and attributes. kinds: the types alone, for a declaration.
        result: the LLVM type of the result. counts: of each argument of the program, how many it becomes.
    """

    def __init__(self, body: Operations, args: tuple[Value, ...], kind: Type) -> None:
        self._body, self._kind = body, kind
        triple = body.context.target.triple
        self._by_address = isinstance(kind, StructType | ArrayType) and c_abi.in_memory(kind, triple)
        self._convention = c_abi.Convention(triple, self._by_address)
        self.passed: list[str] = []
        self.kinds: list[str] = []
        self.counts: list[int] = []
        self._place = ""
        if self._by_address:
            self._place = self._room(kind)
            mark = f"ptr sret({body.types.memory(kind)}) align {align_of(kind)}"
            self.passed.append(f"{mark} {self._place}")
            self.kinds.append(mark)
        for one in args:
            before = len(self.passed)
            if not body.types.is_empty(one.type):
                self._argument(one)
            self.counts.append(len(self.passed) - before)
        self.result = self._result_type()

    def _room(self, kind: Type) -> str:
        body = self._body
        words = ArrayType(I64, (size_of(kind) + 7) // 8)
        return body.room(words, max(align_of(kind), 8))

    def _argument(self, value: Value) -> None:
        body, kind = self._body, value.type
        passed = self._convention.argument(kind)
        if passed.is_scalar:
            word = f"{body.types.value(kind)}{' zeroext' if kind == BOOL else ''}"
            self.kinds.append(word)
            self.passed.append(f"{word} {body.value(value)}")
            return
        place = self._room(kind)
        text = body.value(value)
        body.lines.append(f"  store {body.types.memory(kind)} {text}, ptr {place}, align {align_of(kind)}")
        if not passed.pieces:
            mark = "ptr"
            if passed.is_on_stack:
                mark = f"ptr byval({body.types.memory(kind)}) align {c_abi.alignment(kind)}"
            self.kinds.append(mark)
            self.passed.append(f"{mark} {place}")
            return
        pieces = ((0, passed.group),) if passed.group else passed.pieces
        for offset, word in pieces:
            at = body.new(f"getelementptr i8, ptr {place}, i64 {offset}") if offset else place
            self.kinds.append(word)
            self.passed.append(f"{word} {body.new(f'load {word}, ptr {at}, align 8')}")

    def _result_type(self) -> str:
        kind = self._kind
        if not isinstance(kind, StructType | ArrayType):
            return "" if self._body.types.is_empty(kind) else self._body.types.value(kind)
        return "void" if self._by_address else self._convention.result(kind).group

    def taken(self, call: str) -> str:
        """Write the call; return the result as the program has it."""
        body, kind = self._body, self._kind
        if self._by_address:
            body.lines.append(f"  {call}")
            return body.new(f"load {body.types.memory(kind)}, ptr {self._place}, align {align_of(kind)}")
        place = self._room(kind)
        body.lines.append(f"  store {self.result} {body.new(call)}, ptr {place}, align 8")
        return body.new(f"load {body.types.memory(kind)}, ptr {place}, align {align_of(kind)}")
