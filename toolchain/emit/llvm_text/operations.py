"""The operands of each operation, and the type of its result."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from ktc.emit.llvm_text import operands
from ktc.emit.llvm_text.operands import Call, Operand, operand, typed_list
from ktc.emit.llvm_text.scanning import counted, members, take_type, type_end

CASTS = frozenset({
    "trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint", "ptrtoaddr",
    "inttoptr", "bitcast", "addrspacecast",
})  # fmt: skip
BINARY = frozenset({
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor", "fadd", "fsub",
    "fmul", "fdiv", "frem",
})  # fmt: skip
CALLS = frozenset({"call", "invoke", "callbr"})
TERMINATORS = frozenset({
    "br", "switch", "ret", "unreachable", "indirectbr", "invoke", "callbr", "resume", "catchswitch", "catchret",
    "cleanupret",
})  # fmt: skip


class Parsed(Protocol):
    """An instruction, as far as it is asked here."""

    op: str

    @property
    def body(self) -> str: ...

    @property
    def parts(self) -> list[str]: ...

    @property
    def accessed(self) -> list[str]: ...

    @property
    def indices(self) -> list[str]: ...

    @property
    def incoming(self) -> list[tuple[str, str]]: ...

    @property
    def operands(self) -> tuple[Operand, ...]: ...

    @property
    def call(self) -> Call: ...

    @property
    def type(self) -> str: ...


def operands_of(one: Parsed) -> tuple[Operand, ...]:
    """Return the operands of an instruction."""
    return _OPERANDS.get(one.op, _typed)(one)


def type_of(one: Parsed) -> str:
    """Return the type of an instruction's result."""
    return _RESULTS.get(one.op, _first_type)(one)


# ---- operands, by operation ------------------------------------------------------------------------------------


def _typed(one: Parsed) -> tuple[Operand, ...]:
    return typed_list(one.body)


def _compared(one: Parsed) -> tuple[Operand, ...]:
    return typed_list(one.body.partition(" ")[2])


def _cast(one: Parsed) -> tuple[Operand, ...]:
    return (operand(one.body.rpartition(" to ")[0]),)


def _phi(one: Parsed) -> tuple[Operand, ...]:
    kind = one.type
    return tuple([Operand(kind, value) for value, _ in one.incoming])


def _accessed(one: Parsed) -> tuple[Operand, ...]:
    places = {"load": slice(1, 2), "store": slice(0, 2), "cmpxchg": slice(0, 3), "atomicrmw": slice(0, 2)}
    parts = one.accessed[places[one.op]]
    if one.op == "atomicrmw":
        parts[0] = parts[0].partition(" ")[2]
    found = [operand(part) for part in parts]
    return tuple([Operand(kind, operands.without_order(value)) for kind, value, _ in found])


def _allocated(one: Parsed) -> tuple[Operand, ...]:
    return tuple([operand(part) for part in one.accessed[1:] if part[0] == "i" and " " in part])


def _first(count: int) -> Callable[[Parsed], tuple[Operand, ...]]:
    return lambda one: tuple([operand(part) for part in one.parts[:count]])


def _stepped(one: Parsed) -> tuple[Operand, ...]:
    return tuple([operand(part) for part in one.parts[1:]])


def _branched(one: Parsed) -> tuple[Operand, ...]:
    return (operand(one.parts[0]),) if one.op != "br" or len(one.parts) > 1 else ()


def _returned(one: Parsed) -> tuple[Operand, ...]:
    return (operand(one.body),) if one.body != "void" else ()


def _none(_: Parsed) -> tuple[Operand, ...]:
    return ()


_OPERANDS: Mapping[str, Callable[[Parsed], tuple[Operand, ...]]] = MappingProxyType({
    **dict.fromkeys(CASTS, _cast), **dict.fromkeys(CALLS, lambda one: one.call.arguments), "icmp": _compared,
    "fcmp": _compared, "phi": _phi, "load": _accessed, "store": _accessed, "cmpxchg": _accessed,
    "atomicrmw": _accessed, "alloca": _allocated, "getelementptr": _stepped, "extractvalue": _first(1),
    "insertvalue": _first(2), "va_arg": _first(1), "br": _branched, "switch": _branched, "indirectbr": _branched,
    "ret": _returned, "fence": _none, "unreachable": _none, "landingpad": _none,
})  # fmt: skip


# ---- types of results ------------------------------------------------------------------------------------------


def _first_type(one: Parsed) -> str:
    return one.body[: type_end(one.body)]


def _compared_type(one: Parsed) -> str:
    _, _, compared = one.body.partition(" ")
    return f"{compared[: type_end(compared)].rpartition(' x ')[0]} x i1>" if compared[0] == "<" else "i1"


def _stepped_type(one: Parsed) -> str:
    if "<" not in one.body:
        return take_type(one.parts[1])[0]
    base, *indices = one.operands
    vector = next((index.type for index in indices if index.type[0] == "<"), "")
    return f"{vector.rpartition(' x ')[0]} x {base.type}>" if vector and base.type[0] != "<" else base.type


def _member_type(one: Parsed) -> str:
    kind = one.operands[0].type
    for index in one.indices:
        if kind[:1] in ("%", ""):
            return ""
        kind = counted(kind)[1] or members(kind)[int(index)]
    return kind


def _shuffled_type(one: Parsed) -> str:
    vector, _, mask = one.operands
    return f"{mask.type.rpartition(' x ')[0]} x {counted(vector.type)[1]}>"


def _slot_type(one: Parsed) -> str:
    space = next((part for part in one.accessed[1:] if part.startswith("addrspace(")), "")
    return f"ptr {space}".rstrip()


def _void(_: Parsed) -> str:
    return "void"


_RESULTS: Mapping[str, Callable[[Parsed], str]] = MappingProxyType({
    **dict.fromkeys(CASTS, lambda one: one.body.rpartition(" to ")[2]),
    **dict.fromkeys(CALLS, lambda one: operands.call_type(one.body)),
    **dict.fromkeys(TERMINATORS - CALLS, _void), "store": _void, "fence": _void,
    "icmp": _compared_type, "fcmp": _compared_type,
    "load": lambda one: one.accessed[0], "getelementptr": _stepped_type, "alloca": _slot_type,
    "extractvalue": _member_type, "extractelement": lambda one: counted(one.operands[0].type)[1],
    "shufflevector": _shuffled_type, "select": lambda one: one.operands[1].type,
    "cmpxchg": lambda one: f"{{ {one.operands[1].type}, i1 }}", "atomicrmw": lambda one: one.operands[1].type,
    "va_arg": lambda one: one.parts[1],
})  # fmt: skip
