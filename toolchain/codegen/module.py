"""Units to LLVM assembly: one module for each kernel, one for the host.

Input: checked units. Output: `LlvmModule`s that parse and verify. Each function is lowered once; a kernel's module has
the functions and globals that the kernel reaches.
"""

from collections.abc import Sequence, Set

from ktc.base.records import record, replace
from ktc.codegen import partition
from ktc.codegen.context import SHARED_SPACE, Context, Uses
from ktc.codegen.debugging import line_tables, printers
from ktc.codegen.entries import air, amdgcn, checked, cpu, headers, spirv
from ktc.codegen.float_modes import in_mode, with_modes
from ktc.codegen.foreign import exports
from ktc.codegen.functions import COMPACT_LOOPS, FunctionText, lower_function
from ktc.codegen.globals import Images, image_sizes, lower_global
from ktc.codegen.implicit_arguments import trailing
from ktc.codegen.local_pointers import LocalPointers
from ktc.codegen.values.constants import symbol
from ktc.diag.diagnostic import Bug
from ktc.diag.source import Span
from ktc.ir import walk
from ktc.ir.nodes import ImageRef, Loop, Unit
from ktc.ir.types import size_of
from ktc.targets.checked import in_loops
from ktc.targets.target import Target


@record
class LlvmModule:
    """LLVM assembly.

    Args:
        kernel: the symbol of the one kernel it holds, "" for the host.
        undefined: the functions that it declares and does not define, without LLVM's intrinsics.
        shared_bytes: how much shared memory of known size it uses; on the CPU 0, there all kernels share theirs.
        marked: on the CPU, the same kernel with its function whole, to be cut into loops over threads
            (`emit/workgroups`); "" if `text` is all there is.
        stops: where a marked kernel waits, by the number that its calls have.
    """

    target: Target
    text: str
    kernel: str
    undefined: tuple[str, ...]
    shared_bytes: int = 0
    marked: str = ""
    stops: tuple[Span | None, ...] = ()


def lower_device(unit: Unit, debug: int = 0, level: int = 0, threads: str = "auto") -> tuple[LlvmModule, ...]:
    """Lower a device unit, one module a kernel, in the order of `Unit.kernels`.

    Args:
        debug: 0 none, 1 line tables, 2 variables too (on a GPU as 1).
        level: LLVM's -O that the modules are meant for.
        threads: how the CPU device runs the threads of a block, one of `targets.cpu.THREAD_FORMS`.
    """
    lowering = _Lowering(unit, {}, debug, level)
    modules = tuple(lowering.kernel(kernel.symbol) for kernel in unit.kernels)
    is_checked = bool(lowering.target.checks)
    if lowering.target.entry == "threads" and level > 0:
        marking = _Lowering(replace(unit, target=in_loops(lowering.target)), {}, debug, level, marks=True)
        return tuple(replace(module, marked=marking.kernel(module.kernel).text) for module in modules)
    if lowering.is_cut and (
        is_checked or (threads != "coroutines" and ((level > 0 and debug < FULL_DEBUG) or threads == "loops"))
    ):
        marking = _Lowering(unit, {}, debug, level, marks=True)
        modules = tuple(
            replace(module, marked=marking.kernel(module.kernel).text, stops=marking.stops(module.kernel))
            if is_checked or lowering.is_parted(module.kernel) else module
            for module in modules
        )  # fmt: skip
    return modules


def lower_host(unit: Unit, images: Images | None, entry: str = "", debug: int = 0, level: int = 0) -> LlvmModule:
    """Lower the host's unit.

    Args:
        images: the device code by kernel; each image global becomes a constant that ends with a NUL. None: another
            object will define `image_constants`.
        entry: symbol of the `fn(i32, ptr) -> i32` that C's `main` calls; "" for a library, which has no `main`.
        debug: 0 none, 1 line tables, 2 variables too (on a GPU as 1).
        level: LLVM's -O that the module is meant for.

    Raises:
        ImagesNeeded: without images, where a constant of the host holds the size of one.
    """
    return _Lowering(unit, images, debug, level).host(entry)


FULL_DEBUG = 2
"""The debug level at which a thread's variables can be looked at: a thread is then one function."""


def lower_host_parts(
    unit: Unit, images: Images | None, entry: str = "", debug: int = 0, level: int = 0
) -> tuple[LlvmModule, ...]:
    """Do the same, with several modules for a large host; one of them has C's `main`."""
    return _Lowering(unit, images, debug, level).host_parts(entry)


_PLAIN_NODES = frozenset({0, 1, 2, 3})
"""Metadata that is no debug information."""
_FIRST_FLAG = 10_000_000
"""Number of a metadata node; those of debug information are below."""
_ALWAYS_INLINE = 1
"""Number of an attribute group."""


class _Lowering:
    """The lowering of one unit; functions and globals that are used twice are lowered once."""

    def __init__(self, unit: Unit, images: Images | None, debug: int, level: int, marks: bool = False) -> None:
        target = unit.target
        if not isinstance(target, Target):
            raise Bug("a unit has no target", "codegen")
        self._unit, self._images, self._target, self._level = unit, images, target, level
        self.target = target
        self._context = Context(unit, image_sizes(unit, images), debug, trailing(unit, target), marks, level)
        self.is_cut = target.entry == "blocks"
        if target.entry == "blocks":
            self._context.private_accesses = LocalPointers(unit.functions)
        self._exports = {export.name: export for export in unit.exports.functions if not unit.exports.module}
        self._functions: dict[str, FunctionText] = {}
        self._globals: dict[str, tuple[str, Uses]] = {}

    def kernel(self, name: str) -> LlvmModule:
        """Return the module of one kernel."""
        context = self._context
        reached = _Reached(self, [name])
        lowered = self._functions[name]
        reached.functions.pop(name)
        metadata: list[str] = []
        flags = self._target.module_flags
        if name not in context.kernels:
            shown = headers.define(context, lowered, linkage="")
            metadata = list(cpu.METADATA) if self._target.entry == "blocks" else []
            return self._module(name, reached, [shown, *self._bodies(reached)], metadata, flags)
        own = [headers.define(context, lowered, 0 if lowered.is_coroutine else _ALWAYS_INLINE)]
        if context.marks:
            own = [cpu.marked_body(context, lowered)]
        if self._target.entry == "metadata":
            entry, metadata = air.entry(context, lowered)
            flags += air.module_flags(self._target)
        elif self._target.entry == "words":
            entry, metadata = spirv.entry(context, lowered)
        elif self._target.entry == "blocks":
            entry, places = line_tables.wrapped(context, lowered.function, cpu.entry(context, lowered))
            reached.metadata |= places
            metadata = list(cpu.METADATA)
        elif self._target.entry == "threads":
            entry, places = line_tables.wrapped(context, lowered.function, checked.entry(context, lowered))
            reached.metadata |= places
        elif name in reached.named or (lowered.function.values and self._target.value_space):
            entry, places = line_tables.wrapped(context, lowered.function, headers.forward(context, lowered))
            reached.metadata |= places
        else:
            entry = headers.direct(context, lowered)
            own = []
        bodies = self._bodies(reached)
        return self._module(name, reached, [entry, *own, *bodies], metadata, flags)

    def stops(self, name: str) -> tuple[Span | None, ...]:
        """Return where a kernel waits."""
        return self._functions[name].stops

    def is_parted(self, name: str) -> bool:
        """Return whether a kernel waits, has loops, or diverges between neighbouring threads; only such kernels gain
        from being cut."""
        if name not in self._context.kernels:
            return False
        function = self._functions[name]
        if function.is_grouped:
            return False
        if function.is_coroutine or any(one.split()[-1] == "%s0" for one in function.trailing):
            return True
        bodies = [text.function.body for text in _Reached(self, [name]).functions.values()]
        return any(isinstance(one, Loop) for body in bodies for one in walk.statements(body))

    def host(self, entry: str) -> LlvmModule:
        """Return the host's module."""
        roots, seen = self._host_roots(entry)
        return self._host_module(_Reached(self, roots, seen), entry)

    def host_parts(self, entry: str) -> tuple[LlvmModule, ...]:
        """Return the host's modules."""
        roots, seen = self._host_roots(entry)
        whole = _Reached(self, roots, seen)
        parts = partition.divide(whole.functions, whole.named, roots)
        if len(parts) < 2 or self._unit.exports.module:
            return (self._host_module(whole, entry),)
        shared = [name for name in whole.globals if self._is_shared(name)]
        return tuple(
            [
                self._host_module(
                    _PartReached(self, part, whole, shared, index == 0), entry if entry in part.roots else "", True
                )
                for index, part in enumerate(parts)
            ]
        )

    def _host_roots(self, entry: str) -> tuple[list[str], list[str]]:
        """Return the functions and the globals that something outside of the host can ask for."""
        roots = [name for name, function in self._unit.functions.items() if function.linkage in ("export", "hidden")]
        unload = self._unit.exports.unload
        roots += [*self._exports, *([unload] if unload else [])]
        if self._unit.exports.module:
            roots += self._unit.exports.roots()
        seen = [name for name, held in self._unit.globals.items() if held.linkage == "hidden"]
        return [*roots, entry] if entry else roots, seen

    def _is_shared(self, name: str) -> bool:
        """Return whether a global must exist once, for all modules of the host."""
        held = self._unit.globals[name]
        is_image = isinstance(held.content, ImageRef) and self._images is not None
        return held.linkage == "hidden" or (held.linkage == "internal" and (is_image or not held.constant))

    def _host_module(self, reached: "_Reached", entry: str, is_part: bool = False) -> LlvmModule:
        main = []
        if is_part and reached.metadata.keys() & COMPACT_LOOPS.keys():
            reached.metadata |= COMPACT_LOOPS
        if entry and self._context.debug >= FULL_DEBUG and "linux" in self._target.triple:
            main.append(printers.section())
        if entry:
            text = (
                "define i32 @main(i32 %count, ptr %words) #0 {\n"
                f"  %r = call i32 {symbol(entry)}(i32 %count, ptr %words)\n  ret i32 %r\n}}"
            )
            text, places = line_tables.wrapped(self._context, self._unit.functions[entry], text)
            reached.metadata |= places
            main.append(text)
        unload = self._unit.exports.unload
        if unload in reached.functions and reached.linkages.get(unload) != headers.DECLARED:
            main.append(exports.unloading(unload))
        if self._unit.exports.module:
            from ktc.codegen.foreign import python_entries  # late: only with some options

            text = python_entries.module_text(self._context, self._unit.exports, reached.externals)
            main.append(text)
        bodies = [*self._bodies(reached), *headers.opaque_functions(reached.functions, reached.linkages)]
        return self._module("", reached, [*main, *bodies], [], self._target.module_flags)

    def _bodies(self, reached: "_Reached") -> list[str]:
        """Return the functions of a module.

        One that is called at one place only becomes a part of its caller. LLVM would do the same, but from the
        innermost function outwards, and optimise the caller's growing body again and again: of a host's time in LLVM
        that was two fifths, and quadratic in the length of a chain of calls.
        """
        context, once = self._context, reached.called_once() if self._level else frozenset()
        return [
            headers.define(context, text, _ALWAYS_INLINE if name in once else -1, reached.linkages.get(name))
            for name, text in reached.functions.items()
        ]

    def function(self, name: str) -> FunctionText:
        """Return a lowered function."""
        found = self._functions.get(name)
        if found is None and name in self._exports:
            found = self._functions[name] = exports.entry_point(self._context, self._exports[name])
        if found is None:
            function = self._unit.functions.get(name)
            if function is None:
                raise Bug(f"there is no function '{name}'", "codegen")
            found = self._functions[name] = lower_function(self._context, function)
        return found

    def shared_variable(self, name: str, is_here: bool) -> tuple[str, Uses]:
        """Return a lowered global that exists once for several modules, its definition or a declaration."""
        held = self._unit.globals[name]
        if is_here:
            return lower_global(self._context, replace(held, linkage="hidden"), self._images)
        return lower_global(self._context, replace(held, linkage="external", content=None), self._images)

    def variable(self, name: str) -> tuple[str, Uses]:
        """Return a lowered global."""
        found = self._globals.get(name)
        if found is None:
            found = self._globals[name] = lower_global(self._context, self._unit.globals[name], self._images)
        return found

    def _module(
        self, kernel: str, reached: "_Reached", functions: list[str], metadata: list[str], flags: tuple[str, ...]
    ) -> LlvmModule:
        target = self._target
        nodes = dict(sorted(reached.metadata.items()))
        if self._context.debug and nodes.keys() - _PLAIN_NODES:
            flags += ('!{i32 2, !"Debug Info Version", i32 3}', '!{i32 7, !"Dwarf Version", i32 4}')
            metadata = [*metadata, "!llvm.dbg.cu = !{!100}"]
        if flags:
            names = ", ".join([f"!{_FIRST_FLAG + index}" for index in range(len(flags))])
            metadata = [*metadata, f"!llvm.module.flags = !{{{names}}}"]
            metadata += [f"!{_FIRST_FLAG + index} = {flag}" for index, flag in enumerate(flags)]
        bounds = self._unit.functions[kernel].bounds if kernel else {}
        parts = [
            f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"',
            "\n".join(reached.globals.values()),
            "\n".join([*reached.externals.values(), *reached.intrinsics.values()]),
            *functions,
            "\n".join(headers.attribute_groups(target, bounds, self._context.debug > 0 and target.vendor == "cpu")),
            "\n".join([*metadata, *nodes.values()]),
        ]
        text = amdgcn.with_printing("\n\n".join([part for part in parts if part]) + "\n")
        modes = {
            symbol(self._context.body_name(name)): one.function.bounds["floats"][0]
            for name, one in (reached.functions.items() if kernel else ())
            if "floats" in one.function.bounds and name != kernel
        }
        if modes:
            text = with_modes(text, modes)
        (chosen,) = self._unit.functions[kernel].bounds.get("floats", (0,)) if kernel else (0,)
        if mask := chosen | target.floats:
            text = in_mode(text, mask)
        shared = [held for name in reached.globals if (held := self._unit.globals[name]).space == SHARED_SPACE]
        return LlvmModule(target, text, kernel, tuple(reached.externals), sum([size_of(held.type) for held in shared]))


class _Reached:
    """The functions and globals reached from `roots` and `variables`, in the order in which they are met."""

    def __init__(self, lowering: _Lowering, roots: list[str], variables: Sequence[str] = ()) -> None:
        self.functions: dict[str, FunctionText] = {}
        self.globals: dict[str, str] = {}
        self.externals: dict[str, str] = {}
        self.intrinsics: dict[str, str] = {}
        self.metadata: dict[int, str] = {}
        self.named: dict[str, int] = {}
        """How often each function is mentioned, as `Uses.functions`."""
        self.linkages: dict[str, str] = {}
        """Other linkages than those of the IR, by function; `headers.DECLARED` where another module defines it."""
        self._lowering = lowering
        work = list(reversed(roots))
        self._add(Uses(globals=dict.fromkeys(variables)), work)
        while work:
            name = work.pop()
            if name not in self.functions:
                text = self.functions[name] = lowering.function(name)
                if self._follows(name, text):
                    self._add(text.uses, work)

    def _follows(self, name: str, text: FunctionText) -> bool:
        """Return whether the body of a function belongs to the module."""
        return True

    def _variable(self, name: str) -> tuple[str, Uses]:
        return self._lowering.variable(name)

    def _add(self, uses: Uses, work: list[str]) -> None:
        work.extend(reversed(uses.functions))
        for name, count in uses.functions.items():
            self.named[name] = self.named.get(name, 0) + count
        for name, line in uses.externals.items():
            # A call knows the signature, a mere address does not.
            if name not in self.externals or not line.endswith("()"):
                self.externals[name] = line
        self.intrinsics |= uses.intrinsics
        self.metadata |= uses.metadata
        for name in uses.globals:
            if name not in self.globals:
                self.globals[name], inner = self._variable(name)
                self._add(inner, work)

    def called_once(self) -> Set[str]:
        """Return the functions that one place calls and that nothing says not to inline."""
        return {
            name for name, text in self.functions.items()
            if self.named.get(name) == 1 and text.function.linkage == "internal" and name not in self.linkages
            and not text.function.inline and not text.function.noreturn
        }  # fmt: skip


class _PartReached(_Reached):
    """The content of one of the host's modules: its own functions, those inlined into them, and all that they use."""

    def __init__(
        self, lowering: _Lowering, part: partition.Part, whole: _Reached, shared: Sequence[str], is_first: bool
    ) -> None:
        self._part, self._whole, self._is_first = part, whole, is_first
        self._shared = frozenset(shared)
        super().__init__(lowering, list(part.roots[::-1]), shared if is_first else ())

    def _follows(self, name: str, text: FunctionText) -> bool:
        if name in self._part.joined or partition.is_inlined(text) or partition.is_declared(text):
            return True
        if name in self._part.roots:
            self.linkages[name] = "" if text.function.linkage == "export" else headers.HIDDEN
            return True
        if partition.is_copied(text, self._whole.named[name]):
            self.linkages[name] = "available_externally hidden "
            return True
        self.linkages[name] = headers.DECLARED
        return False

    def _variable(self, name: str) -> tuple[str, Uses]:
        if name in self._shared:
            return self._lowering.shared_variable(name, self._is_first)
        return super()._variable(name)
