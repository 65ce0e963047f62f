"""Bounds alone, block by block: a block whose accesses are all inside by their ranges runs without tests.

Input: a marked kernel of the CPU device. Output: the module of `NAME.scout`, which says whether all of some blocks are
right (`ranges`), and of `NAME`, which has `NAME.plain` or `NAME.tested` run them.
"""

import re

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.checks.blocks.intervals import NEEDED
from ktc.emit.checks.blocks.ranges import Ranges, Unknown
from ktc.emit.checks.body import Body
from ktc.emit.checks.inline import DECLARED
from ktc.emit.checks.pointers import Pointers, unwatched_of, variables_of
from ktc.emit.checks.weave import constants_of, expanded

_HEAD = re.compile(r"^target (?:datalayout|triple) = .*$", re.MULTILINE)
_NOTES = re.compile(r", ![\w.]+ !\d+| #\d+(?= |$)| !dbg !\d+(?= \{$)", re.MULTILINE)
_CHECKS = re.compile(r"^(?:  (?:tail )?call|declare) [^\n]*@ktc\.check\.\w+\([^\n]*\n", re.MULTILINE)
_CALL = re.compile(r'^  call void (@"?[\w.$-]+)\.block("?)\(([^()]*)\)')

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


def scouted(text: str, kernel: str, machine: object) -> str:
    """Return the module that looks at blocks and has them run; `Unknown` says that it cannot.

    Args:
        text: a marked kernel. kernel: its symbol. machine: LLVM's target machine.
    """
    lines = _simplified(expanded(text, True, machine), machine).split("\n")
    head = re.compile(rf'define .*@"?{re.escape(kernel)}\.body"?\(')
    start = next(number for number, line in enumerate(lines) if head.match(line))
    body = Body(lines[start : lines.index("}", start) + 1])
    pointers = Pointers(body, constants_of("\n".join(lines)), unwatched_of(text))
    ranges = Ranges(body, pointers, variables_of(text)).function(f"{kernel}.ranges")
    entry = _entry(text.split("\n"), kernel)
    made = "\n".join([*_HEAD.findall(text), entry, ranges, _ENTRY.format(name=kernel), *DECLARED, *NEEDED])
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
    return re.sub(rf'(@"?){re.escape(kernel)}(?=[".(])', rf"\1{name}", text)


def untested(text: str) -> str:
    """Return a marked kernel without its calls of the checks."""
    return _CHECKS.sub("", text)


def _entry(lines: list[str], kernel: str) -> str:
    """Return the function that goes through blocks, as one that asks for each whether it is right."""
    head = re.compile(rf'define .*@"?{re.escape(kernel)}"?\(')
    start = next(number for number, line in enumerate(lines) if head.match(line))
    made, is_asked = (
        [f'define internal i1 @"{kernel}.scout"(ptr %args, ptr %launch, i64 %first, i64 %last) nounwind {{'],
        False,
    )
    for line in lines[start + 1 : lines.index("}", start)]:
        plain = _NOTES.sub("", line)
        match = _CALL.match(plain)
        if match is not None:
            arguments = match.group(3).removesuffix(", ptr %shared")
            made += [
                f'  %ktc.right = call i1 @"{kernel}.ranges"({arguments}, ptr %shared)',
                "  br i1 %ktc.right, label %block.end, label %ktc.doubt",
                "ktc.doubt:",
                "  ret i1 false",
            ]
            is_asked = True
        elif is_asked and plain.startswith("  br label %block.end"):
            is_asked = False
        elif plain.startswith("  ret void"):
            made.append("  ret i1 true")
        else:
            made.append(plain)
    if len([line for line in made if ".ranges" in line]) != 1 or is_asked:
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
