"""The host's module as an object file, assembly or LLVM text.

Input: the host's module from `codegen`. Output: a relocatable, position independent object for `link` or `jit`.
These functions run LLVM where they are called; `workers` runs them beside the kernels.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from ktc.emit import llvm
from ktc.emit.job_steps import Step, instructions, step
from ktc.emit.module_text import ModuleText
from ktc.targets.target import Target

_IMAGE_ALIGN = 64
"""A code object is an ELF file whose descriptors are aligned to 64 bytes; the driver reads it in place."""


def object_file(module: ModuleText, level: int, steps: list[Step] | None = None) -> bytes:
    """Return the relocatable object, optimised at -O`level`; `steps` gets what each step took."""
    with ExitStack() as stack:
        with step(steps, "optimise", "host", instructions(module.text)):
            optimised = stack.enter_context(llvm.optimized(module.text, module.target, level))
        with step(steps, "emit", "host"):
            return llvm.object_code(optimised, module.target, level)


def object_files(modules: Sequence[ModuleText], level: int, steps: list[Step] | None = None) -> tuple[bytes, ...]:
    """Return the objects of several modules, each as `object_file` makes it."""
    machines, made = llvm.Machines(), list[bytes]()
    with step(steps, "compile", "library", sum([instructions(module.text) for module in modules])):
        for module in modules:
            with llvm.optimized(module.text, module.target, level, machines=machines) as optimised:
                made.append(llvm.object_code(optimised, module.target, level, machines))
    return tuple(made)


def assembly(module: ModuleText, level: int) -> str:
    """Return the assembly, optimised at -O`level`."""
    with llvm.optimized(module.text, module.target, level) as optimised:
        return llvm.assembly(optimised, module.target, level)


def llvm_text(module: ModuleText, level: int) -> str:
    """Return the LLVM assembly after optimisation at -O`level`."""
    with llvm.optimized(module.text, module.target, level) as optimised:
        return llvm.llvm_text(optimised)


def in_single_steps(function: str, arguments: tuple[Any, ...], steps: list[Step] | None = None) -> Any:
    """Do a job, given as in `workers.Job`, without LLVM's vectorisers; the process is of no use afterwards.

    LLVM 22 with assertions compares two models of what a vectorised loop costs and dies where they disagree; and it
    joins neighbouring loads of bfloat16 to vectors such as <17 x bfloat>, which its x86 back end cannot split.
    """
    llvm.skip_vectorisers()
    module, _, name = function.partition(":")
    called = getattr(import_module(module), name)
    return called(*arguments) if steps is None else called(*arguments, steps=steps)


def data_object(
    target: Target, constants: Mapping[str, bytes], more: Sequence[str] = (), steps: list[Step] | None = None
) -> bytes:
    """Return an object that defines each symbol as its bytes and a zero byte, and `SYMBOL$size` as their number.

    So the host's own code can be compiled while the kernels still are, and declares their images `external`.

    Args:
        more: further lines of LLVM's text.
    """
    with step(steps, "embed", "host"):
        return _data_object(target, constants, more)


def _data_object(target: Target, constants: Mapping[str, bytes], more: Sequence[str]) -> bytes:
    lines = [f'target datalayout = "{target.data_layout}"', f'target triple = "{target.triple}"', *more]
    for symbol, data in sorted(constants.items()):
        lines.append(
            f'@"{symbol}" = hidden constant [{len(data) + 1} x i8] c"{_quoted(data)}\\00", align {_IMAGE_ALIGN}'
        )
        lines.append(f'@"{symbol}$size" = hidden constant i64 {len(data)}, align 8')
    with llvm.parsed("\n".join(lines)) as module:
        return llvm.object_code(module, target, 0)


def _quoted(data: bytes) -> str:
    return "".join(_ESCAPES[byte] for byte in data)


_ESCAPES = tuple(
    chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in range(256)
)  # fmt: skip
