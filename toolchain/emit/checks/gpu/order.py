"""A kernel before its accesses are compared: short loops unrolled, and addresses computed before the first access.

What does not depend on memory is moved up in its block, so that one branch can stand before several accesses, and the
loads behind it need not wait for each other.
"""

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.checks.body import Body, Instruction

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


def addresses_first(lines: list[str]) -> list[str]:
    """Return a function's lines with what is computed without memory before the accesses of its block."""
    body = Body(lines)
    by_line = {one.line: one for one in body.instructions}
    made: list[str] = []
    early: list[str] = []
    rest: list[str] = []
    late: set[str] = set()

    def end() -> None:
        made.extend(early + rest)
        early.clear()
        rest.clear()
        late.clear()

    for number, line in enumerate(lines):
        one = by_line.get(number)
        if one is None or one.code == "phi" or _is_end(one):
            end()
            made.append(line)
        elif one.code in _PURE and not any(value in late for value in body.operands(one)):
            early.append(line)
        else:
            rest.append(line)
            if one.name:
                late.add(one.name)
    end()
    return made


def _is_end(one: Instruction) -> bool:
    """Return whether nothing is moved over an instruction."""
    return one.code in _SEGMENT and "@llvm.nvvm.read" not in one.text and "@ktc.check.index" not in one.text
