"""What llvm_text reads in a text, and what LLVM itself reads: a list of differences.

Run as a program it compares the files that it is given, as LLVM prints them: `next_llvmlite.py` has another LLVM do so.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from ktc.emit.llvm_text.functions import Function
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import spelled

LOCALS = ("argument", "instruction")


def differences(text: str) -> list[str]:
    """Return how the reader and LLVM differ on a module, after LLVM has printed it."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        printed = str(module)
        read = Module(printed)
        if read.text() != printed:
            return ["the module is written otherwise than it was read"]
        return list(_of_modules(module, read))


def _of_modules(module: Any, read: Module) -> Iterator[str]:
    theirs = {one.name: one for one in module.global_variables}
    ours = {one.symbol: one for one in read.globals()}
    yield from _same("globals", sorted(theirs), sorted(ours))
    for name in theirs.keys() & ours.keys():
        yield from _same_type(f"type of @{name}", str(theirs[name].global_value_type), ours[name].type)
    defined = {one.name: one for one in module.functions if not one.is_declaration}
    declared = sorted(one.name for one in module.functions if one.is_declaration)
    yield from _same("declarations", declared, sorted(one.symbol for one in read.declarations()))
    functions = {one.signature.symbol: one for one in read.functions()}
    yield from _same("functions", sorted(defined), sorted(functions))
    for name in defined.keys() & functions.keys():
        yield from (f"@{name}: {one}" for one in _of_functions(defined[name], functions[name]))


def _of_functions(theirs: Any, ours: Function) -> Iterator[str]:
    given = [one for one in ours.signature.parameters if one.type != "..."]
    yield from _same("parameters", [one.name for one in theirs.arguments], [_called(one.value) for one in given])
    for argument, parameter in zip(theirs.arguments, given, strict=False):
        yield from _same_type("type of a parameter", str(argument.type), parameter.type)
    blocks = list(theirs.blocks)
    yield from _same("blocks", [one.name for one in blocks], [_called(one.name) for one in ours.blocks])
    for block, read in zip(blocks, ours.blocks, strict=False):
        instructions = [one for one in read.instructions if not one.is_note]
        theirs_here = list(block.instructions)
        yield from _same("opcodes", [one.opcode for one in theirs_here], [one.op for one in instructions])
        for one, other in zip(theirs_here, instructions, strict=False):
            yield from (f"{problem} in: {other.source.strip()}" for problem in _of_instructions(one, other))


def _of_instructions(theirs: Any, ours: Instruction) -> Iterator[str]:
    yield from _same("name", theirs.name, _called(ours.name))
    yield from _same_type("type", str(theirs.type), ours.type)
    operands = list(theirs.operands)
    names = sorted(one.name for one in operands if one.value_kind.name in LOCALS)
    has_bundles = ours.op in ("call", "invoke", "callbr") and "[" in ours.call.after
    values = [one for one in (ours.uses if has_bundles else ours.values) if one[0] == "%"]
    if ours.op in ("call", "invoke", "callbr") and ours.call.callee[0] == "%" and not has_bundles:
        values.append(ours.call.callee)
    found = sorted(map(_called, values))
    yield from _same("operands", sorted(set(names)) if has_bundles else names, found)
    targets = sorted(one.name for one in operands if one.value_kind.name == "basic_block")
    yield from _same("targets", targets, sorted(map(_called, ours.targets)))
    if ours.callee:
        functions = [one.name for one in operands if one.value_kind.name == "function"]
        yield from _same("callee", True, ours.callee in functions)


def _called(name: str) -> str:
    """Return what a name is called; "" where LLVM gives a number."""
    word = spelled(name) if name else ""
    return "" if word.isdigit() else word


def _same(what: str, theirs: object, ours: object) -> Iterator[str]:
    if theirs != ours:
        yield f"{what}: LLVM has {theirs}, we have {ours}"


def _same_type(what: str, theirs: str, ours: str) -> Iterator[str]:
    """Compare types; LLVM prints a struct that has a name with what it is."""
    if "%" not in theirs and ours:
        yield from _same(what, theirs, ours)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        try:
            found = differences(path.read_text("utf-8"))
        except RuntimeError as error:
            found = [f"LLVM does not read it: {' '.join(str(error).split())[:200]}"]
        for problem in found[:10]:
            print(f"{path.name}: {problem[:300]}")
