"""The text around the lines of a function: its definition or declaration, a kernel's own form, the attribute groups.

Input: lowered functions. Output: text.
"""

from collections.abc import Mapping

from ktc.codegen.context import Context
from ktc.codegen.functions import FunctionText
from ktc.codegen.values.constants import symbol
from ktc.ir.nodes import Function
from ktc.ir.op_rules import element_of
from ktc.ir.types import FloatType, Type, align_of
from ktc.targets.target import Target

DECLARED, HIDDEN = "declare", "hidden "
"""Linkages of functions that other modules of the host define, and that they use."""


def define(context: Context, text: FunctionText, group: int = -1, linkage: str | None = None) -> str:
    """Return a function that only its module's functions call, or on the host an export.

    Args:
        linkage: as `_Reached.linkages` has it.
    """
    function = text.function
    name = symbol(context.body_name(function.symbol))
    if function.linkage == "external" or linkage == DECLARED:
        kinds = ", ".join([" ".join([kind, *name.split()[:-1]]) for kind, name in text.parameters])
        return f"declare hidden {text.result} {name}({kinds}) #{_group(function)}"
    parameters = [f"{kind} {name}" for kind, name in text.parameters]
    listed = ", ".join([*parameters, *text.trailing])
    number = _group(function) if group < 0 else group
    word = " presplitcoroutine" if text.is_coroutine else ""
    linkage = _linkage(context, function) if linkage is None else linkage
    head = f"define {linkage}{text.result} {name}({listed}){word} #{number}"
    if context.sections or (linkage == HIDDEN and "linux" in context.target.triple):
        # The linker drops what a program does not reach, section by section.
        head += f' section ".text.{function.symbol}"'
    return f"{head}{text.scope} {{\n{text.body}\n}}"


def _linkage(context: Context, function: Function) -> str:
    if not context.is_host:
        return "internal "
    return {"export": "", "hidden": "hidden "}.get(function.linkage, "internal ")


def opaque_functions(texts: Mapping[str, FunctionText], linkages: Mapping[str, str]) -> list[str]:
    """Return the list of functions for which LLVM must not compute with the arguments of their only call.

    `@no_inline` asks for code that serves any numbers; sums of products of constants would be rounded otherwise.
    """
    functions = [text.function for name, text in texts.items() if name not in linkages]
    chosen = [
        f"ptr {symbol(one.symbol)}"
        for one in functions
        if one.inline == "never" and one.linkage == "internal" and any(_is_of_floats(kind) for _, kind in one.params)
    ]
    held = f'@llvm.used = appending global [{len(chosen)} x ptr] [{", ".join(chosen)}], section "llvm.metadata"'
    return [held] if chosen else []


def _is_of_floats(kind: Type) -> bool:
    return isinstance(element_of(kind), FloatType)


def _group(function: Function) -> int:
    return {"": 0, "always": 1, "never": 2}[function.inline] + (3 if function.noreturn else 0)


def _kernel_head(context: Context, text: FunctionText) -> str:
    convention = context.target.kernel_convention
    values = {f"%a{index}": kind for index, kind in text.function.values.items()}
    # A kernel's arguments come from memory: nothing extends them.
    parameters = ", ".join(
        [
            f"{_whole(context, values[name])} {name}" if name in values else f"{kind} {name.removeprefix('zeroext ')}"
            for kind, name in text.parameters
        ]
    )
    name = symbol(text.function.symbol)
    return f"define {convention + ' ' if convention else ''}void {name}({parameters}) #6"


def _whole(context: Context, kind: Type) -> str:
    """Return how a kernel gets the address of a value that the launch passes."""
    return context.target.value_argument.format(type=context.types.memory(kind), align=align_of(kind))


def direct(context: Context, text: FunctionText) -> str:
    """Return a kernel that is its function."""
    return f"{_kernel_head(context, text)}{text.scope} {{\n{text.body}\n}}"


def forward(context: Context, text: FunctionText) -> str:
    """Return a kernel that calls its function, which others call too."""
    passed = [f"{kind} {name}" for kind, name in text.parameters]
    casts, space = "", context.target.value_space
    for index in text.function.values if space else ():
        casts += f"  %v{index} = addrspacecast ptr addrspace({space}) %a{index} to ptr\n"
        passed[passed.index(f"ptr %a{index}")] = f"ptr %v{index}"
    name = symbol(context.body_name(text.function.symbol))
    return f"{_kernel_head(context, text)} {{\n{casts}  call void {name}({', '.join(passed)})\n  ret void\n}}"


def attribute_groups(target: Target, bounds: Mapping[str, tuple[int, ...]], is_traced: bool = False) -> list[str]:
    """Return the attribute groups; their numbers are fixed. The kernel has these bounds.

    Args:
        is_traced: return addresses can be found (`builtin/_runtime/calls.kpy`).
    """
    # Barriers and shuffles lie in callees: LLVM removes the word where it sees none.
    base = "convergent nounwind" if target.is_convergent else "nounwind"
    base += " sspstrong" if target.is_hardened else ""
    base += " uwtable" if is_traced else ""
    base += " optsize" if target.prefers_size else ""
    machine = ""
    if target.names_processor:
        words: Mapping[str, str] = {"target-cpu": target.cpu, "target-features": target.features}
        machine = "".join([f' "{name}"="{word}"' for name, word in words.items() if word])
    spellings = ("alwaysinline ",) * 3 if target.is_inlined else ("", "alwaysinline ", "noinline ")
    groups = [f"{inline}{base}" for inline in spellings]
    groups += [f"noreturn {group}" for group in groups]
    groups = [group + machine for group in groups]
    known = target.bounded_kernel_attributes
    given = [known[name].format(",".join(map(str, numbers))) for name, numbers in bounds.items() if name in known]
    if "threads" not in bounds or "threads" not in known:
        given.append(target.kernel_attributes)
    kernel = "".join(f" {word}" for word in given if word)
    groups += [f"{base}{machine}{kernel}", base, "nounwind willreturn memory(none)", base]
    return [f"attributes #{number} = {{ {group} }}" for number, group in enumerate(groups)]
