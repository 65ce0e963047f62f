"""Atomics that only the threads of one block can see, on the CPU device.

A block runs on one thread of the system, which does one thing after the other, so they are reads and writes without
`lock`, which makes a histogram 21 times as slow on x86. They are volatile: the loops over the threads of a block take
plain accesses to be independent of each other, and a plain load at one address to give all threads the same value.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ktc.codegen.values.operations import Operations
from ktc.ir.nodes import AtomicRmw, CompareExchange
from ktc.ir.types import size_of

_BLOCK_SCOPES = ("block", "warp")
_INSTRUCTIONS: Mapping[str, str] = MappingProxyType(
    {name: name for name in ("add", "sub", "and", "or", "xor", "fadd", "fsub")}
)
_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {"smin": "smin", "smax": "smax", "umin": "umin", "umax": "umax", "fmin": "minnum", "fmax": "maxnum"}
)


def is_plain(body: Operations, scope: str) -> bool:
    """Return whether an atomic or fence of a scope orders nothing but one thread of the system."""
    return body.context.target.entry == "blocks" and scope in _BLOCK_SCOPES


def change(body: Operations, action: AtomicRmw) -> str:
    """Write a change; returns the text of the old value."""
    kind, pointer = action.type, body.typed(action.pointer)
    held, align = body.types.memory(kind), size_of(kind)
    value = body.to_memory(body.value(action.value), kind)
    old = body.new(f"load volatile {held}, {pointer}, align {align}")
    if action.op == "xchg":
        new = value
    elif action.op in _INSTRUCTIONS:
        new = body.new(f"{_INSTRUCTIONS[action.op]} {held} {old}, {value}")
    else:
        name = f"llvm.{_FUNCTIONS[action.op]}.{body.types.suffix(kind)}"
        new = body.new(f"call {held} @{name}({held} {old}, {held} {value})")
    body.lines.append(f"  store volatile {held} {new}, {pointer}, align {align}")
    return body.from_memory(old, kind)


def compare_exchange(body: Operations, action: CompareExchange, whole: str, expected: str, desired: str) -> str:
    """Write an exchange that compares whole numbers of type `whole` first; returns the text of LLVM's pair."""
    pointer, align = body.typed(action.pointer), size_of(action.expected.type)
    old = body.new(f"load volatile {whole}, {pointer}, align {align}")
    same = body.new(f"icmp eq {whole} {old}, {expected}")
    new = body.new(f"select i1 {same}, {whole} {desired}, {whole} {old}")
    body.lines.append(f"  store volatile {whole} {new}, {pointer}, align {align}")
    pair = body.new(f"insertvalue {{ {whole}, i1 }} poison, {whole} {old}, 0")
    return body.new(f"insertvalue {{ {whole}, i1 }} {pair}, i1 {same}, 1")
