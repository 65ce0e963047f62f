"""The forms that a checked kernel of the CPU device gets: by blocks, and with a first look as loops over threads.

Input: a kernel's `ModuleText` with its marked form. Output: LLVM's text, for the passes of `llvm.optimized`.
"""

from ktc.emit import llvm
from ktc.emit.checks.blocks import Unknown, joined, named, scouted, untested
from ktc.emit.checks.inline import with_bounds
from ktc.emit.checks.screening import Screen, Unscreened, screened, with_beginning, with_screen
from ktc.emit.module_text import ModuleText
from ktc.emit.workgroups import CannotCut, in_loops
from ktc.targets import checked


def by_blocks(module: ModuleText, level: int) -> str:
    """Return a kernel whose blocks run without tests where they can; "" if none can."""
    machine, made = llvm.machine(module.target, level), list[str]()
    try:
        scout = scouted(module.marked, module.kernel, machine)
        for form in ("plain", "tested"):
            name = f"{module.kernel}.{form}"
            text = named(module.marked, module.kernel, name)
            text = untested(text) if form == "plain" else with_bounds(text, name, machine)
            with llvm.parsed(text, module.kernel) as marked:
                llvm.simplify(marked, module.target, f"{name}.body")
                made.append(in_loops(marked, name, level >= llvm.MIN_VECTOR_LEVEL))
    except (Unknown, CannotCut):
        return ""
    return joined([*made, scout])


def with_first_look(module: ModuleText, level: int) -> tuple[str, str]:
    """Return a checked kernel's module, and that of its form in loops, "" if it has none."""
    name = f"{module.kernel}.loops"
    try:
        found, text = _screen(module, name, level)
    except (Unscreened, CannotCut):
        return module.text, ""
    if found.has_loops:
        text = _screened_by_blocks(module, name, level) or text
    return with_screen(module.text, found, name), text


def _screened_by_blocks(module: ModuleText, name: str, level: int) -> str:
    """Return a first look that compares no indices in blocks that are right by their ranges; "" if it knows none."""
    machine = llvm.machine(checked.in_loops(module.target), level)
    try:
        scout = scouted(named(module.marked, module.kernel, name), name, machine)
        forms = [_screen(module, f"{name}.{form}", level, form == "plain")[1] for form in ("plain", "tested")]
    except (Unknown, Unscreened, CannotCut):
        return ""
    return joined([*forms, scout])


def _screen(module: ModuleText, name: str, level: int, is_inside: bool = False) -> tuple[Screen, str]:
    marked, looped = named(module.marked, module.kernel, name), checked.in_loops(module.target)
    found = screened(marked, name, llvm.machine(looped, level), is_inside)
    with llvm.parsed(found.text, module.kernel) as parsed:
        llvm.simplify(parsed, looped, f"{name}.body")
        text = in_loops(parsed, name, level >= llvm.MIN_VECTOR_LEVEL, found.has_warps)
    return found, with_beginning(text, name, found.shared)
