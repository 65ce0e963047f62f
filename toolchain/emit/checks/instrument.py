"""A module with checks: inlining before them, the checks of each function, and the declarations for them."""

import re
from collections.abc import Set as AbstractSet
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.checks import check_locations as kinds
from ktc.emit.checks.accesses import Accesses
from ktc.emit.checks.body import Body
from ktc.emit.checks.check_locations import CheckLocations
from ktc.emit.checks.layout import size_of
from ktc.emit.checks.numbers import SHIFT, Overflows, check_divisors
from ktc.emit.checks.pointers import CheckedFunction, Pointers, unwatched_of
from ktc.emit.checks.source_locations import Place, SourceLocations
from ktc.emit.llvm_text.functions import Function, signature, symbol_of
from ktc.emit.llvm_text.instructions import Instruction
from ktc.emit.llvm_text.modules import Module
from ktc.emit.llvm_text.scanning import globals_in
from ktc.targets.checked import REFERENCE

_HOOKS = {
    "read": "i64 (i64, i64, ptr)", "write": "void (i64, i64, ptr, i64, i64)", "atomic": "void (i64, i64, ptr)",
    "atomic_done": "void (ptr, i64)", "fence": "void ()", "copy": "void (i64, i64, i64, i64, i64, ptr, ptr)",
    "fill": "void (i64, i64, i64, ptr)", "use": "void (i64, ptr)", "local": "void (i64, i64, ptr)",
    "local_read": "i64 (i64, i64, ptr)", "local_write": "void (i64, i64, ptr, i64)",
    "index": "void (i64, i64, i64, ptr)", "range": "void (i64, i64, ptr, ptr)",
    "zero": "void (i64, ptr)", "shift": "void (i64, ptr)", "overflow": "void (ptr, ptr)", "library": "void ()",
    "stack": "void (ptr)", "barrier": "void (ptr)", "warp": "void (i64, ptr)", "lane": "void (i32, i32, ptr)",
    "exchange": "i32 (i32, i64, ptr)", "exchanged": "i32 (i32, i32, i32)", "record": "ptr ()",
    "leave": "void ()", "tire": "void ()", "host": "void (i64, i64, ptr)",
    "host_bytes": "void (i64, i64, i64, ptr)", "passed": "void (i64, ptr)",
    "alloc": "i64 (i64)", "free": "i64 (i64)", "start": "i64 (i64)", "size": "i64 (i64)", "added": "i64 ()",
    "own": "i64 (i64)", "shared_own": "i64 ()", "base": "i64 ()", "claim": "i32 (i64, i32, i32, i32, i32)",
    "block": "i64 (i64)", "begin_block": "void (i64, i64, i64)",
}  # fmt: skip
"""The library's functions and their types."""

_HOOK = re.compile(r"(__ktc_check_\w+?)(?:\$[0-9a-f]+)?")
"""The names of the library's functions: with a suffix where they are instances."""
_REFERENCE = re.compile(rf'"{re.escape(REFERENCE)}"="(\d+)"')
_SITE = '@"var$ktc.check.site"'
_ACCESSING = ("load", "store", "atomicrmw", "cmpxchg", "getelementptr")
_GROUPS = {"0": "1", "2": "1", "3": "4", "5": "4"}
"""Attribute groups of `codegen`, and the groups that replace them where everything is inlined."""


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
                head = signature(line)
                group = _GROUPS.get(head.group, head.group)
                after = head.after.replace(f" #{head.group}", f" #{group}", 1)
                line = head._replace(after=after).with_parameters()
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
        self._module = Module(text)
        self._checks, self._is_kernel = checks, is_kernel
        self._places, self._sites = SourceLocations(self._module.nodes()), CheckLocations()
        self._constants = constants_of(self._module)
        heads = [signature(head) for _, head in self._module.definitions()]
        self._programs = {head.symbol for head in heads if self._places.of_function(head.attached("dbg")) is not None}
        """Functions of the program: their arguments by reference are checked where they access them."""
        self._declared: set[str] = set()
        self._has_site = not is_kernel

    def text(self) -> str:
        """Return the module with its checks."""
        module, defined = self._module, set()
        for at, head in list(module.definitions()):
            hook = _hook(head) if head.startswith(("define internal ", "define hidden ")) else ""
            if hook:
                defined.add(hook)
            text = self._function(module.at(at), hook != "")
            module.entities[at] = text.replace("define internal ", "define hidden ", 1) if hook else text
        module.drop_declarations(lambda symbol: _HOOK.fullmatch(symbol) is not None)
        module.rename(lambda symbol: found[1] if (found := _HOOK.fullmatch(symbol)) else symbol)
        text = module.text()
        return f"{text}\n" + "\n".join([*self._sites.text(), *self._declarations(text, defined)]) + "\n"

    def _declarations(self, text: str, defined: set[str]) -> list[str]:
        lines, named = [], globals_in(text)
        for name, kind in _HOOKS.items():
            symbol = f"__ktc_check_{name}"
            if symbol not in defined and f"@{symbol}" in named:
                lines.append(f"declare hidden {_declaration(symbol, kind)}")
        if self._has_site and _SITE in text and not any(one.name == _SITE for one in self._module.globals()):
            lines.append(f"{_SITE} = external hidden global i64, align 8")
        known = self._module.symbols("declare ")
        return lines + [line for line in sorted(self._declared) if symbol_of(line) not in known]

    def _function(self, function: Function, is_ours: bool) -> str:
        body = Body(function)
        nearest = Nearest(body, self._places)
        if is_ours or not nearest.has_any:
            self._calls(body, nearest, None)
            if self._is_kernel and not is_ours and body.header.startswith("define void @"):
                body.at_entry.append("  call void @__ktc_check_library()")
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
            Accesses(CheckedFunction(body, pointers, nearest.of), self._sites, self._checks).check(self._is_kernel)
        self._entry(body)
        return body.text()

    def _entry(self, body: Body) -> None:
        """Look at the stack where a function of the program begins that calls others."""
        head = body.function.signature
        place = self._places.of_function(head.attached("dbg"))
        if place is None or "memory" not in self._checks or head.symbol == "main":
            return
        first = next((one.dbg for one in body.instructions if one.dbg), "")
        if first and not (self._is_kernel and not body.header.startswith("define internal")):
            body.at_entry.append(f"  call void @__ktc_check_stack(ptr {self._sites.at(place)}), !dbg {first}")
            if head.group:  # an endless recursion is not to become an endless loop
                group = f" #{head.group}"
                after = head.after.replace(group, f'{group} "disable-tail-calls"="true"', 1)
                body.header = head._replace(after=after).with_parameters()

    def _calls(self, body: Body, nearest: "Nearest", pointers: Pointers | None) -> None:
        """Checks of barriers and exchanges, and where the program (it has `pointers`) calls the library."""
        for one in body.instructions:
            if one.op == "fence" and self._is_kernel:
                body.put_before(one, "call void @__ktc_check_fence()")
            elif one.op == "call":
                self._call(body, one, nearest.of(one) if pointers is not None else None, pointers)

    def _call(self, body: Body, one: Instruction, place: Place | None, pointers: Pointers | None) -> None:
        called = one.callee
        if called.startswith(("ktc.check.", "ktc.cpu.")):
            site = self._sites.at(place) if place is not None else "null"
            flags = kinds.SYNCWARP if called == "ktc.cpu.wait.warp" else 0
            if flags and place is not None:
                site = self._sites.at(place, 0, 1, flags)
            self._replace(body, one, site)
        elif not self._is_kernel and place is not None and self._has_site and not called.startswith("llvm."):
            site = self._sites.at(place)
            body.put_before(one, f"store i64 ptrtoint (ptr {site} to i64), ptr {_SITE}, align 8")
            if pointers is not None and "bounds" in self._checks and not called.startswith("__ktc_check"):
                self._passed(body, one, site, pointers)

    def _passed(self, body: Body, one: Instruction, site: str, pointers: Pointers) -> None:
        """Look at what a call gets the address of: `print(p[0])` reads it out of sight, in the library."""
        for given in one.arguments:
            reference = _REFERENCE.match(given.attributes)
            value = given.value if given.type == "ptr" else ""
            if reference is not None and (not one.callee or one.callee in self._programs):
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
        suffix = f", !dbg {one.dbg}" if one.dbg else ""
        first, second, third = (*one.values, "-1", "-1", "-1")[:3]
        match one.callee:
            case "ktc.cpu.wait.block":
                new = f"call void @__ktc_check_barrier(ptr {site})"
            case "ktc.cpu.wait.warp":
                new = f"call void @__ktc_check_warp(i64 {first}, ptr {site})"
            case "ktc.cpu.exchange":
                new = f"{one.name} = call i32 @__ktc_check_exchange(i32 {first}, i64 {second}, ptr {site})"
            case "ktc.cpu.exchanged":
                new = f"{one.name} = call i32 @__ktc_check_exchanged(i32 {first}, i32 {second}, i32 {third})"
            case "ktc.cpu.group.record":
                new = f"{one.name} = call ptr @__ktc_check_record()"
            case "ktc.check.lane":
                new = f"call void @__ktc_check_lane(i32 {first}, i32 {second}, ptr {site})"
            case "ktc.check.range":
                new = f"call void @__ktc_check_range(i64 {first}, i64 {second}, ptr {third}, ptr {site})"
            case name if name == SHIFT:
                wide = body.fresh()
                body.put_before(one, f"{wide} = zext i1 {first} to i64")
                new = f"call void @__ktc_check_shift(i64 {wide}, ptr {site})" if site != "null" else ""
            case name if name.startswith("ktc.check.index"):
                new = self._index(body, one, site)
            case _:
                return
        body.replaced[one.line] = f"  {new}{suffix}" if new else ""

    def _index(self, body: Body, one: Instruction, site: str) -> str:
        """`ktc.check.index(dtype, coordinates..., extents...)`: keep the numbers and have them compared."""
        dtype, *values = one.values
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
    """Source locations of instructions.

    One that has only a place in the library, or the place of the whole function, has that of the next instruction in
    its block, else that of the last one before, or the first of the function, where the library's values for
    a function of the program are read.
    """

    def __init__(self, body: Body, places: SourceLocations) -> None:
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
            if one.op in _ACCESSING and places.is_unchecked(one.dbg):
                self.unchecked.add(one.line)
        before: Place | None = None
        first = next((place for one in body.instructions if (place := self._found[one.line]) is not None), None)
        for one in body.instructions:
            if self._found[one.line] is not None:
                before = self._found[one.line]
            elif one.dbg:
                self._found[one.line] = before or places.of(one.dbg) or first
        self.has_any = first is not None

    def of(self, one: Instruction) -> Place | None:
        """Return the place of an instruction; None if it is not to be looked at."""
        return None if one.line in self.unchecked else self._found[one.line]


def constants_of(module: Module) -> dict[str, int]:
    """Return the names of a module's constants, and their bytes; 0 if they are not known."""
    return {one.name: size_of(one.type) for one in module.globals() if one.is_constant}


def _hook(head: str) -> str:
    """Return which of the library's functions a line defines, without the suffix of an instance, or ""."""
    found = _HOOK.fullmatch(symbol_of(head)) if "@" in head else None
    return found[1] if found else ""


def _declaration(symbol: str, kind: str) -> str:
    result, _, arguments = kind.partition(" ")
    return f"{result} @{symbol}{arguments}"
