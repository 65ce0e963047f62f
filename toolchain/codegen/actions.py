"""Right-hand sides that touch memory, call, or have an effect.

Input: an action and the `Operations` of its function. Output: lines, and the text of what the action gives.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ktc.codegen import block_atomics
from ktc.codegen.context import SHARED_SPACE
from ktc.codegen.entries import coroutine_kernels
from ktc.codegen.foreign.c_calls import AggregateCall, has_aggregates
from ktc.codegen.values.constants import quoted, symbol
from ktc.codegen.values.operations import PURE_DECLARATION, Operations
from ktc.codegen.values.types import alignment
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import (
    INTERPRETED,
    AtomicRmw,
    Call,
    CallExternal,
    CallIndirect,
    CallIntrinsic,
    CompareExchange,
    Fence,
    InlineAsm,
    Load,
    MemCopy,
    MemSet,
    Store,
    Value,
)
from ktc.ir.types import BOOL, ArrayType, FloatType, PointerType, StructType, Type, VoidType, size_of
from ktc.targets.checked import REFERENCE
from ktc.targets.cpu import EXCHANGED, GROUP_RECORD

_EMPTY = "zeroinitializer"
EXTERNAL_DECLARATION = 7
"""Number of the attribute group of declared functions."""
MARKED = "convergent noduplicate nounwind willreturn"
"""Attributes of a call at which a kernel will be cut: code before it stays before it."""
ASM_CALL = 9
"""Number of the attribute group of inline assembly with an effect."""

_ORDERINGS = {"relaxed": "monotonic"}
_ATOMIC_NAMES = {"smin": "min", "smax": "max"}
_FENCES_AROUND = {
    "monotonic": ("", ""),
    "acquire": ("", "acquire"),
    "release": ("release", ""),
    "acq_rel": ("release", "acquire"),
    "seq_cst": ("seq_cst", "acquire"),
}
"""The fences before and after a relaxed change, in place of its own order.
Source: Lustig and others, "A Formal Analysis of the NVIDIA PTX Memory Consistency Model", 2019, table 1."""
_FLOAT_ATOMICS = frozenset({"fadd", "fmin", "fmax"})


def _load(body: Operations, action: Load) -> str:
    kind = action.type
    if body.types.is_empty(kind):
        return _EMPTY
    volatile = "volatile " if action.volatile else ""
    align = alignment(kind, action.align)
    invariant = ""
    if action.invariant:
        body.context.uses.metadata[0] = "!0 = !{}"
        invariant = ", !invariant.load !0"
    text = body.new(
        f"load {volatile}{body.types.memory(kind)}, {body.typed(action.pointer)}, align {align}{invariant}"
        f"{access(body, action.pointer)}"
    )
    return body.from_memory(text, kind)


def store(body: Operations, statement: Store) -> None:
    """Write a store."""
    kind = statement.value.type
    if body.types.is_empty(kind):
        return
    held = body.to_memory(body.value(statement.value), kind)
    volatile = "volatile " if statement.volatile else ""
    body.lines.append(
        f"  store {volatile}{body.types.memory(kind)} {held}, {body.typed(statement.pointer)}, "
        f"align {alignment(kind, statement.align)}{access(body, statement.pointer)}"
    )


def access(body: Operations, pointer: Value) -> str:
    """Return the metadata of an access that other threads of a block cannot depend on."""
    accesses = body.context.private_accesses
    if accesses is None or accesses.may_be_local(body.symbol, pointer):
        return ""
    return ", !llvm.access.group !1"


def copy(body: Operations, statement: MemCopy) -> None:
    """Write a memcpy or memmove."""
    to, origin = statement.target.type, statement.origin.type
    name = "memmove" if statement.may_overlap else "memcpy"
    kinds = f"{body.types.suffix(to)}.{body.types.suffix(origin)}.i64"
    body.lines.append(
        f"  call void @llvm.{name}.{kinds}({body.types.value(to)} align {statement.align} "
        f"{body.value(statement.target)}, {body.types.value(origin)} align {statement.align} "
        f"{body.value(statement.origin)}, {body.typed(statement.size)}, i1 false)"
    )


def fill(body: Operations, statement: MemSet) -> None:
    """Write a memset."""
    to = statement.target.type
    body.lines.append(
        f"  call void @llvm.memset.{body.types.suffix(to)}.i64({body.types.value(to)} align {statement.align} "
        f"{body.value(statement.target)}, {body.typed(statement.byte)}, {body.typed(statement.size)}, i1 false)"
    )


# ---- calls ----------------------------------------------------------------------------------------------


def result(body: Operations, kind: Type) -> str:
    """Return the result type of a call, with its attributes."""
    if body.types.is_empty(kind):
        return "void"
    return f"zeroext {body.types.value(kind)}" if kind == BOOL else body.types.value(kind)


def _arguments(
    body: Operations, args: tuple[Value, ...], references: Mapping[int, Type] = MappingProxyType({})
) -> list[str]:
    texts = []
    for at, arg in enumerate(args):
        kind = arg.type
        if body.types.is_empty(kind):
            continue
        attribute = " zeroext" if kind == BOOL else ""
        if at in references:
            attribute = f' "{REFERENCE}"="{size_of(references[at])}"'
        texts.append(f"{body.types.value(kind)}{attribute} {body.value(arg)}")
    return texts


def _finish(body: Operations, kind: Type, call: str) -> str:
    if isinstance(kind, VoidType) or body.types.is_empty(kind):
        body.lines.append(f"  {call}")
        return _EMPTY
    return body.new(call)


def _call(body: Operations, action: Call) -> str:
    context = body.context
    context.use(action.function)
    references = context.unit.functions[action.function].references if context.target.checks else {}
    args = [*_arguments(body, action.args, references), *context.trailing.parameters(action.function)]
    name = symbol(context.body_name(action.function))
    return _finish(body, action.type, f"call {result(body, action.type)} {name}({', '.join(args)})")


def _call_external(body: Operations, action: CallExternal) -> str:
    context = body.context
    if has_aggregates(action.args, action.type):
        return _call_with_aggregates(body, action, symbol(action.symbol))
    args = _arguments(body, action.args)
    kinds = [body.types.value(arg.type) for arg in action.args if not body.types.is_empty(arg.type)]
    back = result(body, action.type)
    signature = ""
    if 0 <= action.fixed_args < len(args):
        kinds[action.fixed_args :] = ["..."]
        signature = f" ({', '.join(kinds)})"
    if action.symbol in context.unit.functions or context.is_exported(action.symbol):
        context.use(action.symbol)
    else:
        declared = f"declare {back} {symbol(action.symbol)}({', '.join(kinds)}) #{EXTERNAL_DECLARATION}"
        context.uses.externals[action.symbol] = declared
    return _finish(body, action.type, f"call {back}{signature} {symbol(action.symbol)}({', '.join(args)})")


def _call_with_aggregates(body: Operations, action: CallExternal | CallIndirect, callee: str) -> str:
    made = AggregateCall(body, action.args, action.type)
    back, signature = made.result or "void", ""
    if isinstance(action, CallExternal):
        kinds = made.kinds
        if 0 <= action.fixed_args < len(action.args):
            kinds = [*kinds[: len(kinds) - sum(made.counts[action.fixed_args :])], "..."]
            signature = f" ({', '.join(kinds)})"
        if not body.context.is_exported(action.symbol):
            declared = f"declare {back} {callee}({', '.join(kinds)}) #{EXTERNAL_DECLARATION}"
            body.context.uses.externals[action.symbol] = declared
        else:
            body.context.use(action.symbol)
    call = f"call {back}{signature} {callee}({', '.join(made.passed)})"
    if isinstance(action.type, StructType | ArrayType):
        return made.taken(call)
    return _finish(body, action.type, call)


def _call_indirect(body: Operations, action: CallIndirect) -> str:
    if action.is_c and has_aggregates(action.args, action.type):
        return _call_with_aggregates(body, action, body.value(action.pointer))
    pointer = body.value(action.pointer)
    args = _arguments(body, action.args)
    return _finish(body, action.type, f"call {result(body, action.type)} {pointer}({', '.join(args)})")


def _call_intrinsic(body: Operations, action: CallIntrinsic) -> str:
    context = body.context
    if action.name == INTERPRETED:
        return "false"
    slot = context.target.system_values.get(action.name)
    if slot is not None:
        return f"%s{slot}"
    if action.name in context.target.blocking_intrinsics and not context.marks:
        if action.name == EXCHANGED:
            return coroutine_kernels.exchanged(body, action)
        if action.name == GROUP_RECORD:
            return coroutine_kernels.RECORD
    args = ", ".join([body.typed(arg) for arg in action.args])
    raw = body.types.raw(action.type)
    if not action.name.startswith("llvm."):
        kinds = ", ".join([body.types.value(arg.type) for arg in action.args])
        group = PURE_DECLARATION if action.pure else EXTERNAL_DECLARATION
        effects = MARKED if action.name in context.target.blocking_intrinsics else f"#{group}"
        context.uses.intrinsics[action.name] = f"declare {raw} {symbol(action.name)}({kinds}) {effects}"
    return _from_raw(body, action.type, _finish(body, action.type, f"call {raw} {symbol(action.name)}({args})"))


def _inline_asm(body: Operations, action: InlineAsm) -> str:
    args = ", ".join([part for arg in action.args for part in _registers(body, arg)])
    effect, group = ("", "") if action.pure else (" sideeffect", f" #{ASM_CALL}")
    text, constraints = quoted(action.text.encode()), quoted(action.constraints.encode())
    kind = action.type
    if isinstance(kind, ArrayType) and kind.count > 1:
        kind = StructType((kind.element,) * kind.count)
    raw = body.types.raw(kind.element if isinstance(kind, ArrayType) else kind)
    call = f'call {raw} asm{effect} "{text}", "{constraints}"({args}){group}'
    if isinstance(action.type, ArrayType):
        return _array_of(body, action.type, raw, body.new(call))
    return _from_raw(body, kind, _finish(body, kind, call))


def _registers(body: Operations, value: Value) -> list[str]:
    """Return the operands of inline assembly that a value is: an array stands for its elements."""
    if not isinstance(value.type, ArrayType):
        return [body.typed(value)]
    whole, element = body.typed(value), body.types.value(value.type.element)
    return [f"{element} {body.new(f'extractvalue {whole}, {at}')}" for at in range(value.type.count)]


def _array_of(body: Operations, kind: ArrayType, raw: str, parts: str) -> str:
    """Give the registers that inline assembly gave the form of an array."""
    made, whole, element = "poison", body.types.value(kind), body.types.value(kind.element)
    for at in range(kind.count):
        part = parts if kind.count == 1 else body.new(f"extractvalue {raw} {parts}, {at}")
        made = body.new(f"insertvalue {whole} {made}, {element} {part}, {at}")
    return made


def _from_raw(body: Operations, kind: Type, text: str) -> str:
    """Give a struct that LLVM made the IR's form: bools in it are bytes."""
    raw = body.types.raw(kind)
    if not isinstance(kind, StructType) or raw == body.types.value(kind) or body.types.is_empty(kind):
        return text
    made = "poison"
    for index, field in enumerate(kind.fields):
        member = body.to_memory(body.new(f"extractvalue {raw} {text}, {index}"), field)
        at = body.types.member(kind, index)
        made = body.new(f"insertvalue {body.types.value(kind)} {made}, {body.types.memory(field)} {member}, {at}")
    return made


# ---- atomics -----------------------------------------------------------------------------------------------


def _reach(scope: str, pointer: Value) -> str:
    return "block" if not scope and _is_shared(pointer) else scope  # only the block reaches shared memory


def _scope(body: Operations, scope: str, pointer: Value | None = None) -> str:
    if pointer is not None:
        scope = _reach(scope, pointer)
    try:
        name = body.context.target.scopes[scope]
    except KeyError:
        raise Bug(f"no memory scope '{scope}' on {body.context.target.name}", "codegen") from None
    return f'syncscope("{name}") ' if name else ""


def _is_shared(pointer: Value) -> bool:
    return isinstance(pointer.type, PointerType) and pointer.type.space == SHARED_SPACE


def _atomic_rmw(body: Operations, action: AtomicRmw) -> str:
    if block_atomics.is_plain(body, _reach(action.scope, action.pointer)):
        return block_atomics.change(body, action)
    kind = action.type
    scope, ordering = _scope(body, action.scope, action.pointer), _ORDERINGS.get(action.ordering, action.ordering)
    target = body.context.target
    before = after = ""
    if target.atomics_are_relaxed:
        before, after = _FENCES_AROUND[ordering]
        ordering = "monotonic"
    pointer, value = body.typed(action.pointer), body.to_memory(body.value(action.value), action.value.type)
    if before:
        body.lines.append(f"  fence {scope}{before}")
    name = _ATOMIC_NAMES.get(action.op, action.op)
    metadata = ""
    if target.float_atomics and action.op in _FLOAT_ATOMICS and action.scope:
        body.context.uses.metadata[0] = "!0 = !{}"
        metadata = "".join([f", !{word} !0" for word in target.float_atomics])
    text = body.new(
        f"atomicrmw {name} {pointer}, {body.types.memory(kind)} {value} {scope}{ordering}, "
        f"align {size_of(kind)}{metadata}"
    )
    if after:
        body.lines.append(f"  fence {scope}{after}")
    return body.from_memory(text, kind)


def _compare_exchange(body: Operations, action: CompareExchange) -> str:
    kind = action.expected.type
    scope, ordering = _scope(body, action.scope, action.pointer), _ORDERINGS.get(action.ordering, action.ordering)
    failure = {"acq_rel": "acquire", "release": "monotonic"}.get(ordering, ordering)
    held = body.types.memory(kind)
    is_float = isinstance(kind, FloatType)
    whole = f"i{kind.bits}" if isinstance(kind, FloatType) else held
    texts = []
    for value in (action.expected, action.desired):
        text = body.to_memory(body.value(value), kind)
        texts.append(body.new(f"bitcast {held} {text} to {whole}") if is_float else text)
    if block_atomics.is_plain(body, _reach(action.scope, action.pointer)):
        pair = block_atomics.compare_exchange(body, action, whole, *texts)
    else:
        words = f"cmpxchg {body.typed(action.pointer)}, {whole} {texts[0]}, {whole} {texts[1]}"
        pair = body.new(f"{words} {scope}{ordering} {failure}, align {size_of(kind)}")
    raw = f"{{ {whole}, i1 }}"
    old = body.new(f"extractvalue {raw} {pair}, 0")
    if is_float:
        old = body.new(f"bitcast {whole} {old} to {held}")
    flag = body.new(f"zext i1 {body.new(f'extractvalue {raw} {pair}, 1')} to i8")
    have = body.types.value(action.type)
    at = body.types.member(action.type, 1)
    made = body.new(f"insertvalue {have} poison, {held} {old}, {body.types.member(action.type, 0)}")
    return body.new(f"insertvalue {have} {made}, i8 {flag}, {at}")


def _fence(body: Operations, action: Fence) -> str:
    ordering = _ORDERINGS.get(action.ordering, action.ordering)
    if ordering != "monotonic" and not block_atomics.is_plain(body, action.scope):
        body.lines.append(f"  fence {_scope(body, action.scope)}{ordering}")
    return _EMPTY


ACTIONS: Mapping[type, Callable[[Operations, Any], str]] = MappingProxyType(
    {
        Load: _load,
        Call: _call,
        CallExternal: _call_external,
        CallIndirect: _call_indirect,
        CallIntrinsic: _call_intrinsic,
        InlineAsm: _inline_asm,
        AtomicRmw: _atomic_rmw,
        CompareExchange: _compare_exchange,
        Fence: _fence,
    }
)
