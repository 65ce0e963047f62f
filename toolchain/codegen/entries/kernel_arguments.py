"""Arguments of a kernel for a processor, which come as an array of pointers to their values.

Input: the kernel's function. Output: the operands of its call.
"""

from ktc.codegen.values.operations import Operations
from ktc.ir.nodes import Function
from ktc.ir.types import align_of


def loaded(body: Operations, function: Function) -> list[str]:
    """Write how the arguments are loaded from `%args`; returns them."""
    types = body.types
    passed = []
    kinds = [(at, kind) for at, (_, kind) in enumerate(function.params) if not types.is_empty(kind)]
    for index, (at, kind) in enumerate(kinds):
        place = body.new(f"getelementptr inbounds ptr, ptr %args, i64 {index}")
        held = body.new(f"load ptr, ptr {place}, align 8")
        if at in function.values:
            passed.append(f"ptr {held}")
            continue
        text = body.new(f"load {types.memory(kind)}, ptr {held}, align {align_of(kind)}")
        passed.append(f"{types.value(kind)} {body.from_memory(text, kind)}")
    return passed
