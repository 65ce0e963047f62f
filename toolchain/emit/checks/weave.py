"""A module with checks: what is inlined first, function after function, and what is declared for it."""

import re
from collections.abc import Set as AbstractSet
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.checks import sites as kinds
from ktc.emit.checks.accesses import Accesses
from ktc.emit.checks.body import Body, Instruction
from ktc.emit.checks.layout import size_of, split, type_end
from ktc.emit.checks.numbers import Overflows, check_divisors
from ktc.emit.checks.places import Place, Places
from ktc.emit.checks.pointers import Pointers, unwatched_of
from ktc.emit.checks.sites import Sites
from ktc.targets.checked import REFERENCE

_HOOKS = {
    "read": "i64 (i64, i64, ptr)", "write": "void (i64, i64, ptr, i64, i64)", "atomic": "void (i64, i64, ptr)",
    "atomic_done": "void (ptr, i64)", "fence": "void ()", "copy": "void (i64, i64, i64, i64, i64, ptr, ptr)",
    "fill": "void (i64, i64, i64, ptr)", "use": "void (i64, ptr)", "local": "void (i64, i64, ptr)",
    "local_read": "i64 (i64, i64, ptr)", "local_write": "void (i64, i64, ptr, i64)",
    "index": "void (i64, i64, i64, ptr)", "range": "void (i64, i64, ptr, ptr)",
    "zero": "void (i64, ptr)", "overflow": "void (ptr, ptr)",
    "stack": "void (ptr)", "barrier": "void (ptr)", "warp": "void (i64, ptr)", "lane": "void (i32, i32, ptr)",
    "exchange": "i32 (i32, i64, ptr)", "exchanged": "i32 (i32, i32, i32)", "record": "ptr ()",
    "leave": "void ()", "tire": "void ()", "host": "void (i64, i64, ptr)",
    "host_bytes": "void (i64, i64, i64, ptr)", "passed": "void (i64, ptr)",
    "alloc": "i64 (i64)", "free": "i64 (i64)", "start": "i64 (i64)", "size": "i64 (i64)", "added": "i64 ()",
    "own": "i64 (i64)", "shared_own": "i64 ()", "base": "i64 ()", "claim": "i32 (i64, i32, i32, i32, i32)",
    "block": "i64 (i64)", "begin_block": "void (i64, i64, i64)",
}  # fmt: skip
"""The library's functions and their types."""

_DEFINED = re.compile(r'^define (?:internal|hidden) (.*?)@"?(__ktc_check_\w+?)(?:\$[0-9a-f]+)?"?\(')
_NAME = re.compile(r'@"?(__ktc_check_\w+?)\$[0-9a-f]+"?(?=[\s,(){}]|$)')
_OURS_DECLARED = re.compile(r"^declare .*@__ktc_check_\w+\(.*\n", re.MULTILINE)
_OURS_INTERNAL = re.compile(r"^define internal ((?:.*? )?@__ktc_check_\w+\()", re.MULTILINE)
_CONSTANT = re.compile(r'^(@(?:"[^"]+"|[\w.$-]+)) = (?:\w+ )*?constant ', re.MULTILINE)
_SUBPROGRAM = re.compile(r" !dbg (!\d+) \{$")
_OF_FUNCTION = re.compile(r'^define .*?(@(?:"[^"]+"|[\w.$-]+))\(.* !dbg (!\d+) \{$')
_CALLED = re.compile(r'(@(?:"[^"]+"|[\w.$-]+))\(')
_REFERENCE = re.compile(rf'^ptr "{re.escape(REFERENCE)}"="(\d+)" ')
_ATTRIBUTES = re.compile(r"(\) (?:[a-z_]+ )*#\d+)")
_SITE = '@"var$ktc.check.site"'
_ACCESSING = ("load", "store", "atomicrmw", "cmpxchg", "getelementptr")
_GROUPS = {"#0 ": "#1 ", "#2 ": "#1 ", "#3 ": "#4 ", "#5 ": "#4 "}
"""Attribute groups of `codegen` by what they become where everything is inlined."""


def instrumented(text: str, checks: tuple[str, ...], is_kernel: bool, machine: Any) -> str:
    """Return a module with checks in it.

    Args:
        checks: which, see `targets.checked`.
        machine: LLVM's target machine.
    """
    return _Module(expanded(text, is_kernel, machine), checks, is_kernel, unwatched_of(text)).text()


def expanded(text: str, is_kernel: bool, machine: Any) -> str:
    """Inline what is to be inlined, all of a kernel, and make values of locals."""
    if is_kernel:
        lines = []
        for line in text.split("\n"):
            if line.startswith("define internal "):
                head, _, rest = line.rpartition(") #")
                group = f"#{rest[0]} "
                line = f"{head}) {_GROUPS.get(group, group).strip()}{rest[1:]}"
            lines.append(line)
        text = "\n".join(lines)
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.add_sroa_pass()
        manager.add_global_dead_code_eliminate_pass()
        manager.run(module, builder)
        return str(module)


def tidied(text: str, machine: object) -> str:
    """Leave out what is not used."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        manager = llvm.create_new_module_pass_manager()
        manager.add_dead_code_elimination_pass()
        manager.run(module, builder)
        return str(module)


class _Module:
    """One module on its way."""

    def __init__(self, text: str, checks: tuple[str, ...], is_kernel: bool, unwatched: AbstractSet[int]) -> None:
        self._unwatched = unwatched
        self._lines = text.split("\n")
        self._checks, self._is_kernel = checks, is_kernel
        self._places, self._sites = Places(self._lines), Sites()
        self._constants = constants_of(text)
        self._programs = {
            match.group(1) for match in map(_OF_FUNCTION.match, self._lines)
            if match is not None and self._places.of_function(match.group(2)) is not None
        }  # fmt: skip
        """Functions of the program: what they get by reference is looked at where they access it."""
        self._declared: set[str] = set()
        self._has_site = not is_kernel

    def text(self) -> str:
        """Return the module with its checks."""
        made, defined = [], set()
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            if not line.startswith("define "):
                made.append(line)
                at += 1
                continue
            end = self._lines.index("}", at)
            match = _DEFINED.match(line)
            if match is not None:
                defined.add(match.group(2))
            made.append(self._function(self._lines[at : end + 1], match is not None))
            at = end + 1
        text = _NAME.sub(r"@\1", "\n".join(made))
        text = _OURS_DECLARED.sub("", text)
        if defined:
            text = _OURS_INTERNAL.sub(r"define hidden \1", text)
        return f"{text}\n" + "\n".join([*self._sites.text(), *self._declarations(text, defined)]) + "\n"

    def _declarations(self, text: str, defined: set[str]) -> list[str]:
        lines = []
        for name, kind in _HOOKS.items():
            symbol = f"__ktc_check_{name}"
            if symbol not in defined and re.search(rf"@{symbol}\b", text):
                lines.append(f"declare hidden {_declaration(symbol, kind)}")
        if self._has_site and _SITE in text and not re.search(rf"^{re.escape(_SITE)} = ", text, re.MULTILINE):
            lines.append(f"{_SITE} = external hidden global i64, align 8")
        for line in sorted(self._declared):
            symbol = line[line.index("@") : line.index("(", line.index("@"))]
            if not re.search(rf"^declare .*{re.escape(symbol)}\(", text, re.MULTILINE):
                lines.append(line)
        return lines

    def _function(self, lines: list[str], is_ours: bool) -> str:
        body = Body(lines)
        nearest = Nearest(body, self._places)
        if is_ours or not nearest.has_any:
            self._calls(body, nearest, None)
            return body.text()
        self._declared.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self._declared.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        pointers = Pointers(body, self._constants, self._unwatched)
        if "arithmetic" in self._checks:
            check_divisors(body, nearest.of, self._sites)
            overflows = Overflows(body, nearest.of, self._sites)
            overflows.check()
            self._declared |= overflows.intrinsics
        self._calls(body, nearest, pointers)
        if "bounds" in self._checks or "memory" in self._checks or "races" in self._checks:
            Accesses(body, pointers, nearest.of, self._sites, self._checks).check(self._is_kernel)
        self._entry(body)
        return body.text()

    def _entry(self, body: Body) -> None:
        """Look at the stack where a function of the program begins that calls others."""
        match = _SUBPROGRAM.search(body.header)
        place = self._places.of_function(match.group(1)) if match else None
        if place is None or "memory" not in self._checks or body.header.split("(")[0].endswith("@main"):
            return
        first = next((one.dbg for one in body.instructions if one.dbg), "")
        if first and not (self._is_kernel and not body.header.startswith("define internal")):
            body.at_entry.append(f"  call void @__ktc_check_stack(ptr {self._sites.at(place)}), !dbg {first}")
            # An endless recursion is not to become an endless loop.
            body.header = _ATTRIBUTES.sub(r'\1 "disable-tail-calls"="true"', body.header, count=1)

    def _calls(self, body: Body, nearest: "Nearest", pointers: Pointers | None) -> None:
        """Checks of barriers and exchanges, and where the program (it has `pointers`) calls the library."""
        for one in body.instructions:
            if one.code == "fence" and self._is_kernel:
                body.put_before(one, "call void @__ktc_check_fence()")
            elif one.code == "call":
                self._call(body, one, nearest.of(one) if pointers is not None else None, pointers)

    def _call(self, body: Body, one: Instruction, place: Place | None, pointers: Pointers | None) -> None:
        text = one.text
        if "@ktc.check." in text or "@ktc.cpu." in text:
            site = self._sites.at(place) if place is not None else "null"
            flags = kinds.SYNCWARP if "@ktc.cpu.wait.warp(" in text else 0
            if flags and place is not None:
                site = self._sites.at(place, 0, 1, flags)
            self._replace(body, one, site)
        elif not self._is_kernel and place is not None and self._has_site and "@llvm." not in text:
            site = self._sites.at(place)
            body.put_before(one, f"store i64 ptrtoint (ptr {site} to i64), ptr {_SITE}, align 8")
            if pointers is not None and "bounds" in self._checks and "@__ktc_check" not in text:
                self._passed(body, one, site, pointers)

    def _passed(self, body: Body, one: Instruction, site: str, pointers: Pointers) -> None:
        """Look at what a call gets the address of: `print(p[0])` reads it out of sight, in the library."""
        if "(" not in one.text:
            return
        called = _CALLED.search(one.text)
        inside = one.text[one.text.index("(", one.text.index("@") if "@" in one.text else 0) + 1 : one.text.rindex(")")]
        for part in split(inside):
            words, reference = part.split(), _REFERENCE.match(part)
            value = words[-1] if words and words[0] == "ptr" else ""
            if reference is not None and (called is None or called.group(1) in self._programs):
                reference = None
            if value[:1] != "%" and not (reference is not None and value == "null"):
                continue
            root = pointers.root(value)
            if pointers.alloca(root):
                continue
            number, begin = body.fresh(), body.fresh()
            check = f"call void @__ktc_check_passed(i64 {number}, ptr {site})"
            if reference is not None:
                body.put_before(one, f"{begin} = ptrtoint ptr {root or value} to i64")
                check = f"call void @__ktc_check_host_bytes(i64 {number}, i64 {begin}, i64 {reference[1]}, ptr {site})"
            body.put_before(one, f"{number} = ptrtoint ptr {value} to i64", check)

    def _replace(self, body: Body, one: Instruction, site: str) -> None:
        """Give the library's own calls the names that are linked, and the place."""
        text, suffix = one.text, f", !dbg {one.dbg}" if one.dbg else ""
        if "@ktc.cpu.wait.block(" in text:
            new = f"call void @__ktc_check_barrier(ptr {site})"
        elif "@ktc.cpu.wait.warp(" in text:
            new = f"call void @__ktc_check_warp(i64 {argument(text, 0)}, ptr {site})"
        elif "@ktc.cpu.exchange(" in text:
            words = f"i32 {argument(text, 0)}, i64 {argument(text, 1)}, ptr {site}"
            new = f"{one.name} = call i32 @__ktc_check_exchange({words})"
        elif "@ktc.cpu.exchanged(" in text:
            words = ", ".join([f"i32 {argument(text, at)}" for at in range(3)])
            new = f"{one.name} = call i32 @__ktc_check_exchanged({words})"
        elif "@ktc.cpu.group.record(" in text:
            new = f"{one.name} = call ptr @__ktc_check_record()"
        elif "@ktc.check.lane(" in text:
            new = f"call void @__ktc_check_lane(i32 {argument(text, 0)}, i32 {argument(text, 1)}, ptr {site})"
        elif "@ktc.check.range(" in text:
            arguments = ", ".join([f"i64 {argument(text, at)}" for at in range(2)])
            new = f"call void @__ktc_check_range({arguments}, ptr {argument(text, 2)}, ptr {site})"
        elif "@ktc.check.index" in text:
            new = self._index(body, one, site)
        else:
            return
        body.replaced[one.line] = f"  {new}{suffix}" if new else ""

    def _index(self, body: Body, one: Instruction, site: str) -> str:
        """`ktc.check.index(dtype, coordinates..., extents...)`: keep the numbers and have them compared."""
        parts = split(one.text[one.text.index("(") + 1 : one.text.rindex(")")])
        dtype, values = parts[0].split()[-1], [part.split()[-1] for part in parts[1:]]
        rank = len(values) // 2
        place = body.spill(f"[{2 * rank} x i64]")
        bad = "false"
        for axis in range(rank):
            outside, either = body.fresh(), body.fresh()
            body.put_before(
                one,
                f"{outside} = icmp uge i64 {values[axis]}, {values[rank + axis]}",
                f"{either} = or i1 {bad}, {outside}",
            )
            bad = either
        for number, value in enumerate(values):
            at = body.fresh()
            body.put_before(
                one, f"{at} = getelementptr i64, ptr {place}, i64 {number}", f"store i64 {value}, ptr {at}, align 8"
            )
        chosen, wide = body.fresh(), body.fresh()
        body.put_before(one, f"{wide} = ptrtoint ptr {place} to i64", f"{chosen} = select i1 {bad}, i64 {rank}, i64 0")
        kind = body.fresh()
        body.put_before(one, f"{kind} = ptrtoint ptr {dtype} to i64")
        return f"call void @__ktc_check_index(i64 {wide}, i64 {chosen}, i64 {kind}, ptr {site})"


class Nearest:
    """Places of instructions.

    One that has only a place in the library, or the place of the whole function, has that of the next instruction in
    its block.
    """

    def __init__(self, body: Body, places: Places) -> None:
        self._found: dict[int, Place | None] = {}
        self.unchecked = set[int]()
        """Lines of accesses that are not looked at."""
        after: Place | None = None
        block = -1
        for one in reversed(body.instructions):
            if one.block != block:
                after, block = None, one.block
            place = places.of(one.dbg) if one.dbg and not places.is_whole(one.dbg) else None
            if place is not None:
                after = place
            self._found[one.line] = place if place is not None or not one.dbg else after
            if one.code in _ACCESSING and places.is_unchecked(one.dbg):
                self.unchecked.add(one.line)
        before: Place | None = None
        for one in body.instructions:
            if self._found[one.line] is not None:
                before = self._found[one.line]
            elif one.dbg:
                self._found[one.line] = before or places.of(one.dbg)
        self.has_any = before is not None

    def of(self, one: Instruction) -> Place | None:
        """Return the place of an instruction; None if it is not to be looked at."""
        return None if one.line in self.unchecked else self._found[one.line]


def constants_of(text: str) -> dict[str, int]:
    """Return the names of a module's constants, and their bytes; 0 for what is not known."""
    return {
        match.group(1): size_of(text[match.end() : type_end(text, match.end())]) for match in _CONSTANT.finditer(text)
    }


def argument(text: str, index: int) -> str:
    """Return an argument of a call as it is written, "-1" if there is none."""
    parts = split(text[text.index("(") + 1 : text.rindex(")")])
    return parts[index].split()[-1] if index < len(parts) else "-1"


def _declaration(symbol: str, kind: str) -> str:
    result, _, arguments = kind.partition(" ")
    return f"{result} @{symbol}{arguments}"
