"""The IR: a typed tree with structured control flow and variables; one `Unit` for each side of a program.

Values are pure and may stand anywhere; whatever reads memory, calls or has an effect stands alone on the right of
a `Let`, so the order of evaluation is the order of the statements. There are no phis: what differs between two
paths goes through a `Local`, and LLVM makes registers of locals. A `Temp` is set by one `Let` and read only inside the
block of that `Let` and blocks nested in it.
"""

from ktc.ir.nodes.actions import (
    INTERPRETED,
    Action,
    AtomicRmw,
    Call,
    CallExternal,
    CallIndirect,
    CallIntrinsic,
    CompareExchange,
    Fence,
    InlineAsm,
    Load,
)  # fmt: skip
from ktc.ir.nodes.statements import (
    Block,
    Break,
    Continue,
    Declare,
    If,
    Let,
    Loop,
    Mark,
    MemCopy,
    MemSet,
    Return,
    Statement,
    Store,
    Unreachable,
)  # fmt: skip
from ktc.ir.nodes.units import Function, Global, ImageRef, Kernel, Program, SourcePlace, Unit
from ktc.ir.nodes.values import (
    Address,
    Argument,
    Const,
    GlobalAddress,
    ImageSize,
    Local,
    LocalAddress,
    Op,
    Part,
    Plain,
    Temp,
    Value,
)  # fmt: skip

__all__ = (
    "INTERPRETED", "Action", "Address", "Argument", "AtomicRmw", "Block", "Break", "Call", "CallExternal",
    "CallIndirect", "CallIntrinsic", "CompareExchange", "Const", "Continue", "Declare", "Fence", "Function", "Global",
    "GlobalAddress", "If", "ImageRef", "ImageSize", "InlineAsm", "Kernel", "Let", "Load", "Local", "LocalAddress",
    "Loop", "Mark", "MemCopy", "MemSet", "Op", "Part", "Plain", "Program", "Return", "SourcePlace", "Statement",
    "Store", "Temp", "Unit", "Unreachable", "Value",
)  # fmt: skip
