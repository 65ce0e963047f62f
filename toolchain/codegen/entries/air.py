"""Kernels for Apple's GPUs: the entry that AIR wants, and its metadata.

Input: a lowered kernel. Output: text of `void K(buffers …, ids …)` and the metadata that describes the parameters. A
pointer is a device buffer, every other argument lies in a constant buffer and is loaded by the entry.
"""

from ktc.codegen.context import Context
from ktc.codegen.functions import FunctionText
from ktc.codegen.values.constants import quoted, symbol
from ktc.codegen.values.operations import Operations
from ktc.ir.types import FloatType, IntType, PointerType, Type, align_of, size_of
from ktc.targets.air import SYSTEM_ARGUMENTS, versions
from ktc.targets.target import Target

_DEVICE, _CONSTANT = 1, 2
"""AIR's own numbers of address spaces."""

_FIRST_NODE = 20

_LIMITS = (
    ("air.max_device_buffers", 31),
    ("air.max_constant_buffers", 31),
    ("air.max_threadgroup_buffers", 31),
    ("air.max_textures", 128),
    ("air.max_read_write_textures", 8),
    ("air.max_samplers", 16),
)
"""Source: the module flags of Apple's own metallibs."""


def entry(context: Context, kernel: FunctionText) -> tuple[str, list[str]]:
    """Return the kernel's entry and its lines of metadata."""
    function, types = kernel.function, context.types
    body = Operations(context, function.symbol)
    parameters: list[str] = []
    passed: list[str] = []
    nodes: list[str] = []
    for index, (name, kind) in enumerate(function.params):
        if types.is_empty(kind):
            continue
        number = len(parameters)
        whole = function.values.get(index)
        space = _CONSTANT if whole is not None else _space(context, kind)
        parameters.append(f"ptr addrspace({space}) %p{index}")
        nodes.append(_buffer(number, name, whole or kind, space, whole is None and isinstance(kind, PointerType)))
        if whole is not None:
            passed.append(f"ptr {_copied(body, whole, f'%p{index}')}")
        else:
            passed.append(f"{types.value(kind)} {_argument(body, kind, space, f'%p{index}')}")
    slots = context.trailing.slots.get(function.symbol, ())
    for name in dict.fromkeys(SYSTEM_ARGUMENTS[slot][0] for slot in slots):
        number = len(parameters)
        is_vector = any(SYSTEM_ARGUMENTS[slot] == (name, 0) for slot in range(len(SYSTEM_ARGUMENTS)))
        kind_text, type_name = ("<3 x i32>", "uint3") if is_vector else ("i32", "uint")
        word = name.removeprefix("air.")
        for slot in slots:
            held, dimension = SYSTEM_ARGUMENTS[slot]
            if held == name and is_vector:
                body.lines.append(f"  %s{slot} = extractelement <3 x i32> %{word}, i64 {dimension}")
            elif held == name:
                word = f"s{slot}"
        parameters.append(f"{kind_text} %{word}")
        shown = name.removeprefix("air.")
        nodes.append(f'!{{i32 {number}, !"{name}", !"air.arg_type_name", !"{type_name}", !"air.arg_name", !"{shown}"}}')
    call = f"  call void {symbol(context.body_name(function.symbol))}({', '.join([*passed, *kernel.trailing])})"
    head = f"define void {symbol(function.symbol)}({', '.join(parameters)}) #6 {{\nentry:"
    return "\n".join([head, *body.lines, call, "  ret void\n}"]), _metadata(context.target, function.symbol, nodes)


def _space(context: Context, kind: Type) -> int:
    if isinstance(kind, PointerType):
        return context.types.space(kind.space) or _DEVICE
    return _CONSTANT


def _copied(body: Operations, whole: Type, parameter: str) -> str:
    """Return the address of the thread's own copy of a value that the kernel's function gets the address of."""
    kind, align = body.types.memory(whole), align_of(whole)
    held = body.new(f"alloca {kind}, align {align}")
    loaded = body.new(f"load {kind}, ptr addrspace({_CONSTANT}) {parameter}, align {align}")
    body.lines.append(f"  store {kind} {loaded}, ptr {held}, align {align}")
    return held


def _argument(body: Operations, kind: Type, space: int, parameter: str) -> str:
    if isinstance(kind, PointerType):
        if body.types.space(kind.space) == space:
            return parameter
        return body.new(f"addrspacecast ptr addrspace({space}) {parameter} to {body.types.value(kind)}")
    align = align_of(kind)
    text = body.new(f"load {body.types.memory(kind)}, ptr addrspace({space}) {parameter}, align {align}")
    return body.from_memory(text, kind)


def _buffer(number: int, name: str, kind: Type, space: int, is_pointer: bool) -> str:
    access = "air.read_write" if space == _DEVICE else "air.read"
    # A pointer's type does not tell the type of its target: bytes.
    size, align = (1, 1) if is_pointer else (size_of(kind), align_of(kind))
    return (
        f'!{{i32 {number}, !"air.buffer", !"air.location_index", i32 {number}, i32 1, !"{access}", '
        f'!"air.address_space", i32 {space}, '
        f'!"air.arg_type_size", i32 {size}, !"air.arg_type_align_size", i32 {align}, '
        f'!"air.arg_type_name", !"{"uchar" if is_pointer else _type_name(kind)}", '
        f'!"air.arg_name", !"{quoted(name.encode())}"}}'
    )


def _type_name(kind: Type) -> str:
    """Return Metal's name of a number's type; "struct" is what may hold addresses."""
    bits = getattr(kind, "bits", 0)
    if isinstance(kind, IntType):
        return {8: "char", 16: "short", 32: "int", 64: "long"}.get(bits, "struct")
    return {16: "half", 32: "float"}.get(bits, "struct") if isinstance(kind, FloatType) else "struct"


def _metadata(target: Target, kernel: str, arguments: list[str]) -> list[str]:
    at = _FIRST_NODE
    made = versions(target)
    air, metal = (", ".join([f"i32 {part}" for part in version]) for version in (made.air, made.metal))
    first = at + 10
    lines = [
        f"!air.kernel = !{{!{at}}}",
        f"!{at} = !{{ptr {symbol(kernel)}, !{at + 1}, !{at + 2}}}",
        f"!{at + 1} = !{{}}",
        f"!{at + 2} = !{{{', '.join([f'!{first + index}' for index in range(len(arguments))])}}}",
        f"!air.version = !{{!{at + 3}}}",
        f"!{at + 3} = !{{{air}}}",
        f"!air.language_version = !{{!{at + 4}}}",
        f'!{at + 4} = !{{!"Metal", {metal}}}',
        f"!air.compile_options = !{{!{at + 5}, !{at + 6}, !{at + 7}}}",
        f'!{at + 5} = !{{!"air.compile.denorms_disable"}}',
        f'!{at + 6} = !{{!"air.compile.fast_math_disable"}}',
        f'!{at + 7} = !{{!"air.compile.framebuffer_fetch_enable"}}',
    ]
    return lines + [f"!{first + index} = {node}" for index, node in enumerate(arguments)]


def module_flags(target: Target) -> tuple[str, ...]:
    """Return the module flags that AIR's readers look for."""
    major, minor, _ = versions(target).system
    return (
        f'!{{i32 2, !"SDK Version", [2 x i32] [i32 {major}, i32 {minor}]}}',
        '!{i32 1, !"wchar_size", i32 4}',
        '!{i32 7, !"frame-pointer", i32 2}',
        *(f'!{{i32 7, !"{name}", i32 {limit}}}' for name, limit in _LIMITS),
    )
