"""Bounds alone, block by block: a block whose accesses are all inside by their ranges runs without tests.

Input: a marked kernel of the CPU device. Output: the module of `NAME.scout`, which says whether all of some blocks are
right (`ranges`), and of `NAME`, which has `NAME.plain` or `NAME.tested` run them.
"""

import re

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.checks.blocks.intervals import NEEDED
from ktc.emit.checks.blocks.ranges import Ranges, Unknown
from ktc.emit.checks.body import Body
from ktc.emit.checks.inline import DECLARED, is_marker
from ktc.emit.checks.instrument import constants_of, expanded
from ktc.emit.checks.pointers import Pointers, unwatched_of, variables_of
from ktc.emit.llvm_text.functions import Function
from ktc.emit.llvm_text.modules import Module

_GROUP = re.compile(r"(?<=\)) #\d+")

_ENTRY = """define void @"{name}"(ptr %args, ptr %launch, i64 %first, i64 %last) nounwind {{
entry:
  %all = call i1 @"{name}.scout"(ptr %args, ptr %launch, i64 %first, i64 %last)
  br i1 %all, label %fast, label %each
fast:
  call void @"{name}.plain"(ptr %args, ptr %launch, i64 %first, i64 %last)
  ret void
each:
  %some = icmp slt i64 %first, %last
  br i1 %some, label %turn, label %end
turn:
  %b = phi i64 [ %first, %each ], [ %next, %again ]
  %next = add nsw i64 %b, 1
  %is.right = call i1 @"{name}.scout"(ptr %args, ptr %launch, i64 %b, i64 %next)
  br i1 %is.right, label %right, label %doubt
right:
  call void @"{name}.plain"(ptr %args, ptr %launch, i64 %b, i64 %next)
  br label %again
doubt:
  call void @"{name}.tested"(ptr %args, ptr %launch, i64 %b, i64 %next)
  br label %again
again:
  %more = icmp slt i64 %next, %last
  br i1 %more, label %turn, label %end
end:
  ret void
}}
declare void @"{name}.plain"(ptr, ptr, i64, i64)
declare void @"{name}.tested"(ptr, ptr, i64, i64)
"""


def with_precheck(text: str, kernel: str, machine: object) -> str:
    """Return the module that looks at blocks and has them run; `Unknown` says that it cannot.

    Args:
        text: a marked kernel. kernel: its symbol. machine: LLVM's target machine.
    """
    module = Module(_simplified(expanded(text, True, machine), machine))
    body = Body(module.function(f"{kernel}.body"))
    pointers = Pointers(body, constants_of(module), unwatched_of(text))
    ranges = Ranges(body, pointers, variables_of(text)).function(f"{kernel}.ranges")
    whole = Module(text)
    targets = [one for one in whole.entities if one.startswith("target ")]
    entry = _entry(whole.function(kernel), kernel)
    made = "\n".join([*targets, entry, ranges, _ENTRY.format(name=kernel), *DECLARED, *NEEDED])
    return f"{made}\n"


def joined(texts: list[str]) -> str:
    """Return one module of several."""
    with llvm.create_context() as context, llvm.parse_assembly(texts[0], context) as first:
        for text in texts[1:]:
            first.link_in(llvm.parse_assembly(text, context))
        first.verify()
        return str(first)


def named(text: str, kernel: str, name: str) -> str:
    """Return a marked kernel under another name."""

    def call(word: str) -> str:
        return name + word.removeprefix(kernel) if word == kernel or word.startswith(f"{kernel}.") else word

    module = Module(text)
    module.rename(call)
    return module.text()


def untested(text: str) -> str:
    """Return a marked kernel without its calls of the checks."""
    module = Module(text)
    for at, _ in list(module.definitions()):
        if "@ktc.check." in module.entities[at]:
            function = module.at(at)
            for block in function.blocks:
                block.instructions[:] = [one for one in block.instructions if not is_marker(one.callee)]
            module.entities[at] = function.text()
    module.drop_declarations(is_marker)
    return module.text()


def _entry(function: Function, kernel: str) -> str:
    """Return the function that goes through blocks, as one that asks for each whether it is right."""
    made = [f'define internal i1 @"{kernel}.scout"(ptr %args, ptr %launch, i64 %first, i64 %last) nounwind {{']
    asked, is_asked = 0, False
    for block in function.blocks:
        made += [block.label] if block.label else []
        for one in block.instructions:
            if one.callee == f"{kernel}.block":
                given = [str(argument) for argument in one.arguments if argument.value != "%shared"]
                listed = ", ".join([*given, "ptr %shared"])
                made += [
                    f'  %ktc.right = call i1 @"{kernel}.ranges"({listed})',
                    "  br i1 %ktc.right, label %block.end, label %ktc.doubt",
                    "ktc.doubt:",
                    "  ret i1 false",
                ]
                asked, is_asked = asked + 1, True
            elif is_asked and one.op == "br" and one.targets == ["%block.end"]:
                is_asked = False
            elif one.op == "ret":
                made.append("  ret i1 true")
            elif not one.is_note:
                name = f"{one.name} = " if one.name else ""
                made.append(f"  {name}{_GROUP.sub('', one.text)}")
    if asked != 1 or is_asked:
        raise Unknown("the entry has another form")
    return "\n".join([*made, "}"])


def _simplified(text: str, machine: object) -> str:
    """Return a module with its arithmetic and its branches in few forms; nothing runs it."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        manager = llvm.create_new_module_pass_manager()
        manager.add_sroa_pass()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.run(module, builder)
        return str(module)
