"""Kernels for OpenCL: the entry that SPIR-V wants.

Input: a lowered kernel. Output: text of `spir_kernel void K(…)`, which calls the kernel's function. A pointer comes as
a word of 64 bits, since an argument of OpenCL may point to no generic memory, and an integer to any of a driver's; a
bool as a byte; numbers and vectors that OpenCL has as they are; everything else as the address of a copy.
"""

from ktc.codegen.context import Context
from ktc.codegen.functions import FunctionText
from ktc.codegen.values.constants import symbol
from ktc.codegen.values.operations import Operations
from ktc.ir.types import FloatType, IntType, PointerType, Type, VectorType, align_of

_LANES = (2, 3, 4, 8, 16)
"""Vectors that OpenCL has."""
_BITS = (8, 16, 32, 64)
_GLOBAL = 1


def entry(context: Context, kernel: FunctionText) -> tuple[str, list[str]]:
    """Return the kernel's entry and its lines of metadata."""
    function, types = kernel.function, context.types
    body = Operations(context, function.symbol)
    parameters: list[str] = []
    passed: list[str] = []
    for index, (_, kind) in enumerate(function.params):
        if types.is_empty(kind):
            continue
        declared, text = _argument(body, index, kind, function.values.get(index))
        parameters.append(declared)
        passed.append(f"{types.value(kind)} {text}")
    target = context.target
    call = f"  call void {symbol(context.body_name(function.symbol))}({', '.join([*passed, *kernel.trailing])})"
    head = f"define {target.kernel_convention} void {symbol(function.symbol)}({', '.join(parameters)}) #6"
    lanes = "" if target.warp_lanes == 1 else " !intel_reqd_sub_group_size !20"
    lines = [f"{head}{lanes} {{\nentry:", *body.lines, call, "  ret void\n}"]
    return "\n".join(lines), [f"!20 = !{{i32 {target.warp_lanes}}}"] if lanes else []


def _argument(body: Operations, index: int, kind: Type, whole: Type | None) -> tuple[str, str]:
    """Return a parameter's declaration and the value that the kernel's function gets."""
    types, space = body.types, body.context.target.value_space
    name = f"%p{index}"
    if whole is not None or not _is_plain(kind):
        held = whole or kind
        copied = types.memory(held)
        if copied[0] not in "{<" or isinstance(held, VectorType):
            copied = f"{{ {copied} }}"  # OpenCL knows arguments of struct types only
        declared = body.context.target.value_argument.format(type=copied, align=align_of(held))
        if whole is not None:
            return f"{declared} {name}", body.new(f"addrspacecast ptr addrspace({space}) {name} to ptr")
        loaded = body.new(f"load {types.memory(kind)}, ptr addrspace({space}) {name}, align {align_of(kind)}")
        return f"{declared} {name}", body.from_memory(loaded, kind)
    if isinstance(kind, PointerType):
        expected = types.value(kind)
        place = body.new(f"inttoptr i64 {name} to ptr addrspace({_GLOBAL})")
        if expected != f"ptr addrspace({_GLOBAL})":
            place = body.new(f"addrspacecast ptr addrspace({_GLOBAL}) {place} to {expected}")
        return f"i64 {name}", place
    return f"{types.memory(kind)} {name}", body.from_memory(name, kind)


def _is_plain(kind: Type) -> bool:
    match kind:
        case VectorType(element, lanes):
            return lanes in _LANES and element != IntType(1) and _is_plain(element)
        case IntType(bits):
            return bits == 1 or bits in _BITS
        case FloatType(name):
            return name != "bf16"
        case _:
            return isinstance(kind, PointerType)
