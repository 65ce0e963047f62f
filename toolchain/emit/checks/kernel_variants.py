"""Variants of a checked kernel of the CPU device: by blocks, and with a fast path as loops over threads.

Input: a kernel's `ModuleText` with its marked form. Output: LLVM's text, for the passes of `llvm.optimized`.
"""

from ktc.emit import llvm
from ktc.emit.checks.blocks import Unknown, joined, named, untested, with_precheck
from ktc.emit.checks.fast_path import FastPath, NoFastPath, fast_path, with_beginning, with_fast_path_record
from ktc.emit.checks.inline import with_bounds
from ktc.emit.module_text import ModuleText
from ktc.emit.workgroups import CannotCut, in_loops
from ktc.targets import checked


def by_blocks(module: ModuleText, level: int) -> str:
    """Return a kernel whose blocks run without tests where they can; "" if none can."""
    machine, made = llvm.machine(module.target, level), list[str]()
    try:
        precheck = with_precheck(module.marked, module.kernel, machine)
        for form in ("plain", "tested"):
            name = f"{module.kernel}.{form}"
            text = named(module.marked, module.kernel, name)
            text = untested(text) if form == "plain" else with_bounds(text, name, machine)
            with llvm.parsed(text, module.kernel) as marked:
                llvm.simplify(marked, module.target, f"{name}.body")
                made.append(in_loops(marked, name, level >= llvm.MIN_VECTOR_LEVEL))
    except (Unknown, CannotCut):
        return ""
    return joined([*made, precheck])


def with_fast_path(module: ModuleText, level: int) -> tuple[str, str]:
    """Return a checked kernel's module, and that of its variant in loops, "" if it has none."""
    name = f"{module.kernel}.loops"
    try:
        found, text = _fast_path(module, name, level)
    except (NoFastPath, CannotCut):
        return module.text, ""
    if found.has_loops:
        text = _fast_path_by_blocks(module, name, level) or text
    return with_fast_path_record(module.text, found, name), text


def _fast_path_by_blocks(module: ModuleText, name: str, level: int) -> str:
    """Return a fast path that compares no indices in blocks that are right by their ranges; "" if there are none."""
    machine = llvm.machine(checked.in_loops(module.target), level)
    try:
        precheck = with_precheck(named(module.marked, module.kernel, name), name, machine)
        variants = [_fast_path(module, f"{name}.{form}", level, form == "plain")[1] for form in ("plain", "tested")]
    except (Unknown, NoFastPath, CannotCut):
        return ""
    return joined([*variants, precheck])


def _fast_path(module: ModuleText, name: str, level: int, is_inside: bool = False) -> tuple[FastPath, str]:
    marked, looped = named(module.marked, module.kernel, name), checked.in_loops(module.target)
    found = fast_path(marked, name, llvm.machine(looped, level), is_inside)
    with llvm.parsed(found.text, module.kernel) as parsed:
        llvm.simplify(parsed, looped, f"{name}.body")
        text = in_loops(parsed, name, level >= llvm.MIN_VECTOR_LEVEL, found.has_warps)
    return found, with_beginning(text, name, found.shared)
