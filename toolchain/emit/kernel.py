"""One kernel through LLVM, in the process where this is called; `device` calls it in other processes.

Input: the kernel's `ModuleText` and the requested kinds. Output: bytes by kind. Modules for some targets
or for `--check` only are imported where they are used: `device.workers_for` loads those for the targets of a build,
once for all processes.
"""

from collections.abc import Callable, Set
from contextlib import ExitStack
from typing import Any

from ktc.emit import llvm
from ktc.emit.backend_errors import unchecked
from ktc.emit.job_steps import Step, instructions, step
from ktc.emit.module_text import ModuleText
from ktc.emit.objects import hsaco, ptx
from ktc.emit.outcomes import UNCUT
from ktc.emit.tools import assemble_ptx
from ktc.targets import checked, cpu


def emit_kernel(
    module: ModuleText,
    kinds: Set[str],
    level: int,
    ptxas: str = "",
    is_long: bool = False,
    steps: list[Step] | None = None,
) -> dict[str, bytes]:
    """Return the kernel in each of `kinds`.

    Args:
        ptxas: path of NVIDIA's assembler for "object", or empty: then the object is the PTX text too.
        is_long: leave out what takes too long for it; the process can then do nothing else.
        steps: gets what each step took.
    """
    target = module.target
    if is_long:
        llvm.skip_strength_reduction()
    made: dict[str, bytes] = {}
    if "llvm" in kinds:
        made["llvm"] = module.text.encode()
    if not kinds - {"llvm"}:
        return made
    with ExitStack() as stack:
        text, is_cut = module.text, False
        loops = ""
        finish: Callable[[bytes], bytes] | None = None
        if target.entry == "threads" and module.marked:
            with step(steps, "cut", module.kernel, instructions(module.marked)):
                text, loops = _with_first_look(module, level)
        elif target.vendor == "cpu" and module.marked:
            with step(steps, "cut", module.kernel, instructions(module.marked)):
                text, why = _cut(module, level)
            if why:
                made[UNCUT] = why.encode()
            is_cut = not why
            text = cpu.with_system_memory(text, target)
        elif target.checks and target.vendor in checked.GPUS:
            with step(steps, "check", module.kernel, instructions(text)):
                text, finish = _with_device_bounds(module, level)
        with step(steps, "optimise", module.kernel, instructions(text)):
            optimised = stack.enter_context(llvm.optimized(text, target, level, module.kernel, is_cut))
            if loops:
                looped = checked.in_loops(target)
                optimised = stack.enter_context(llvm.joined(optimised, loops, looped, level, module.kernel))
        if "llvm-opt" in kinds:
            made["llvm-opt"] = llvm.llvm_text(optimised).encode()
        forms = {"ptx": _ptx, "hsaco": _hsaco, "metallib": _metallib, "spirv": _spirv, "native": _native}
        if kinds - {"llvm", "llvm-opt"}:
            with step(steps, "emit", module.kernel):
                if target.vendor != "cpu":
                    llvm.limit_sums(module.text.count("\n"))
                made |= forms[target.artefact](optimised, module, kinds, level, ptxas)
    if finish is not None and "image" in made:
        made["image"] = finish(made["image"])
    return made


def _cut(module: ModuleText, level: int) -> tuple[str, str]:
    """Return the module with its kernel cut, or as it is with coroutines and why."""
    from ktc.emit.workgroups import CannotCut, in_loops  # late: only for some targets

    text = module.marked
    if module.target.checks:
        from ktc.emit.checks.inline import with_bounds  # late: only with some options
        from ktc.emit.checks.kernel_variants import by_blocks  # late: only with some options

        divided = by_blocks(module, level)
        if divided:
            return divided, ""
        text = with_bounds(text, module.kernel, llvm.machine(module.target, level))
    with llvm.parsed(text, module.kernel) as marked:
        llvm.simplify(marked, module.target, f"{module.kernel}.body")
        try:
            return in_loops(marked, module.kernel, level >= llvm.MIN_VECTOR_LEVEL), ""
        except CannotCut as error:
            if module.target.checks:
                raise unchecked(module.kernel, error.reason) from error
            return module.text, f"{error.number} {error.reason}"


def _with_first_look(module: ModuleText, level: int) -> tuple[str, str]:
    from ktc.emit.checks.kernel_variants import with_fast_path  # late: only with some options

    return with_fast_path(module, level)


def _with_device_bounds(module: ModuleText, level: int) -> tuple[str, Callable[[bytes], bytes]]:
    """Return a GPU's kernel with comparisons before accesses, and the function that adds the header to its image."""
    from ktc.emit.checks.gpu import with_device_bounds, with_header  # late: only with some options

    target = module.target
    made = with_device_bounds(module.text, module.kernel, target, llvm.machine(target, level))
    return made.text, lambda image: with_header(image, made.title, made.pointers, made.sites)


def _ptx(optimised: Any, module: ModuleText, kinds: Set[str], level: int, ptxas: str) -> dict[str, bytes]:
    text = ptx.noted(llvm.assembly(optimised, module.target, level).encode())
    made = {kind: text for kind in ("asm", "image") if kind in kinds}
    if "object" in kinds:
        made["object"] = assemble_ptx(ptxas, text, module.target.cpu) if ptxas else text
    return made


def _hsaco(optimised: Any, module: ModuleText, kinds: Set[str], level: int, _: str) -> dict[str, bytes]:
    made: dict[str, bytes] = {}
    if "asm" in kinds:
        # Emission changes the module: each form starts from the same text.
        with llvm.parsed(llvm.llvm_text(optimised), module.kernel) as again:
            made["asm"] = llvm.assembly(again, module.target, level).encode()
    if kinds & {"object", "image"}:
        linked = hsaco.link(llvm.object_code(optimised, module.target, level))
        made |= {kind: linked for kind in ("object", "image") if kind in kinds}
    return made


def _metallib(optimised: Any, module: ModuleText, kinds: Set[str], level: int, _: str) -> dict[str, bytes]:
    from ktc.emit.air import images  # late: only for some targets

    return images.emit(llvm.llvm_text(optimised), module.target, module.kernel, kinds, module.shared_bytes)


def _spirv(optimised: Any, module: ModuleText, kinds: Set[str], level: int, _: str) -> dict[str, bytes]:
    from ktc.emit.spirv import images  # late: only for some targets

    return images.emit(llvm.llvm_text(optimised), module.target, module.kernel, level, kinds)


def _native(optimised: Any, module: ModuleText, kinds: Set[str], level: int, _: str) -> dict[str, bytes]:
    made: dict[str, bytes] = {}
    if "asm" in kinds:
        with llvm.parsed(llvm.llvm_text(optimised), module.kernel) as again:
            made["asm"] = llvm.assembly(again, module.target, level).encode()
    if kinds & {"object", "image"}:
        code = llvm.object_code(optimised, module.target, level)
        made |= {kind: code for kind in ("object", "image") if kind in kinds}
    return made
