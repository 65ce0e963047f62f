"""A kernel before its accesses are compared: short loops unrolled, and addresses computed before the first access.

An instruction that does not depend on memory is moved up in its block, so that one branch can stand before several
accesses, and the loads behind it need not wait for each other.
"""

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.llvm_text.functions import Function
from ktc.emit.llvm_text.instructions import Instruction

_PURE = frozenset(
    (
        "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "zext", "sext", "trunc", "getelementptr",
        "bitcast", "addrspacecast", "ptrtoint", "inttoptr", "icmp", "select", "extractvalue", "insertvalue", "freeze",
    )
)  # fmt: skip
_SEGMENT = ("call", "fence")


def unrolled(text: str, machine: object) -> str:
    """Return a module whose loops are in their simple form, short ones unrolled; lines of the program stay."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        manager = llvm.create_new_function_pass_manager()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        manager.add_loop_rotate_pass()
        manager.add_instruction_combine_pass()
        manager.add_loop_unroll_pass()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_namer_pass()  # numbers would have to stay in order
        for function in module.functions:
            if not function.is_declaration:
                manager.run(function, builder)
        return str(module)


def addresses_first(function: Function) -> Function:
    """Return a function in which computations without memory come before the accesses of their block."""
    for block in function.blocks:
        made: list[Instruction] = []
        early: list[Instruction] = []
        rest: list[Instruction] = []
        late: set[str] = set()
        for one in block.instructions:
            if one.is_note or one.op == "phi" or _is_end(one):
                made += [*early, *rest, one]
                early, rest, late = [], [], set()
            elif one.op in _PURE and late.isdisjoint(one.uses):
                early.append(one)
            else:
                rest.append(one)
                late |= {one.name} - {""}
        block.instructions = [*made, *early, *rest]
    return Function(function.text().split("\n"))


def _is_end(one: Instruction) -> bool:
    """Return whether nothing is moved over an instruction."""
    return one.op in _SEGMENT and not one.callee.startswith(("llvm.nvvm.read", "ktc.check.index"))
