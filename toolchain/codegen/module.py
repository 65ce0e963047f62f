"""Units to LLVM assembly: one module for each kernel, one for the host.

In: checked units. Out: `LlvmModule`s that parse and verify. Each function is lowered once; a kernel's module has the
functions and globals that the kernel reaches.
"""

from collections.abc import Mapping, Sequence, Set

from ktc.codegen import air, cpu, debug
from ktc.codegen.constants import symbol
from ktc.codegen.context import SHARED_SPACE, Context, Uses
from ktc.codegen.float_modes import in_mode
from ktc.codegen.functions import FunctionText, lower_function
from ktc.codegen.globals import Images, image_sizes, lower_global
from ktc.codegen.implicit_arguments import trailing
from ktc.codegen.local_pointers import LocalPointers
from ktc.diag.diagnostic import Bug
from ktc.diag.source import Span
from ktc.ir import walk
from ktc.ir.nodes import Function, Loop, Unit
from ktc.ir.types import Type, align_of, size_of
from ktc.records import record, replace
from ktc.targets.target import Target


@record
class LlvmModule:
    """LLVM assembly.

    Args:
        kernel: the symbol of the one kernel it holds, "" for the host.
        undefined: the functions that it declares and nobody in it defines, without LLVM's intrinsics.
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
    if lowering.is_cut and threads != "coroutines" and ((level > 0 and debug < FULL_DEBUG) or threads == "loops"):
        marking = _Lowering(unit, {}, debug, level, marks=True)
        modules = tuple(
            replace(module, marked=marking.kernel(module.kernel).text, stops=marking.stops(module.kernel))
            if lowering.is_parted(module.kernel) else module
            for module in modules
        )  # fmt: skip
    return modules


def lower_host(unit: Unit, images: Images | None, entry: str = "", debug: int = 0, level: int = 0) -> LlvmModule:
    """Lower the host's unit.

    Args:
        images: what the device units gave; each image global becomes a constant that ends with a NUL. None: another
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
_FIRST_FLAG = 10_000_000
"""Number of a metadata node; those of debug information are below."""
_ALWAYS_INLINE = 1
"""Number of an attribute group."""


class _Lowering:
    """The lowering of one unit; functions and globals that are wanted twice are lowered once."""

    def __init__(self, unit: Unit, images: Images | None, debug: int, level: int, marks: bool = False) -> None:
        target = unit.target
        if not isinstance(target, Target):
            raise Bug("a unit has no target", "codegen")
        self._unit, self._images, self._target, self._level = unit, images, target, level
        self._context = Context(unit, image_sizes(unit, images), debug, trailing(unit, target), marks)
        self.is_cut = target.entry == "blocks"
        if target.entry == "blocks":
            self._context.private_accesses = LocalPointers(unit.functions)
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
        own = [_define(context, lowered, 0 if lowered.waits else _ALWAYS_INLINE)]
        if context.marks:
            own = [cpu.marked_body(context, lowered)]
        if self._target.entry == "metadata":
            entry, metadata = air.entry(context, lowered)
            flags += air.module_flags(self._target)
        elif self._target.entry == "blocks":
            entry, places = debug.wrapped(context, lowered.function, cpu.entry(context, lowered))
            reached.metadata |= places
            metadata = list(cpu.METADATA)
        elif name in reached.named or (lowered.function.values and self._target.value_space):
            entry, places = debug.wrapped(context, lowered.function, _forward(context, lowered))
            reached.metadata |= places
        else:
            entry = _direct(context, lowered)
            own = []
        bodies = self._bodies(reached)
        return self._module(name, reached, [entry, *own, *bodies], metadata, flags)

    def stops(self, name: str) -> tuple[Span | None, ...]:
        """Return where a kernel waits."""
        return self._functions[name].stops

    def is_parted(self, name: str) -> bool:
        """Say whether a kernel waits or has loops: only such ones gain from being cut."""
        if self._functions[name].waits:
            return True
        return any(_has_loop(text.function) for text in _Reached(self, [name]).functions.values())

    def host(self, entry: str) -> LlvmModule:
        """Return the host's module."""
        roots = [name for name, function in self._unit.functions.items() if function.linkage in ("export", "hidden")]
        seen = [name for name, held in self._unit.globals.items() if held.linkage == "hidden"]
        reached = _Reached(self, [*roots, entry] if entry else roots, seen)
        main = []
        if entry:
            text = (
                "define i32 @main(i32 %count, ptr %words) #0 {\n"
                f"  %r = call i32 {symbol(entry)}(i32 %count, ptr %words)\n  ret i32 %r\n}}"
            )
            text, places = debug.wrapped(self._context, self._unit.functions[entry], text)
            reached.metadata |= places
            main.append(text)
        bodies = self._bodies(reached)
        return self._module("", reached, [*main, *bodies], [], self._target.module_flags)

    def _bodies(self, reached: "_Reached") -> list[str]:
        """Return the functions of a module.

        One that is called at one place only becomes a part of its caller. LLVM would do the same, but from the
        innermost function outwards, and optimise the caller's growing body again and again: of a host's time in LLVM
        that was two fifths, and quadratic in the length of a chain of calls.
        """
        context, once = self._context, reached.called_once() if self._level else frozenset()
        return [
            _define(context, text, _ALWAYS_INLINE if name in once else -1) for name, text in reached.functions.items()
        ]

    def function(self, name: str) -> FunctionText:
        """Return a lowered function."""
        found = self._functions.get(name)
        if found is None:
            function = self._unit.functions.get(name)
            if function is None:
                raise Bug(f"there is no function '{name}'", "codegen")
            found = self._functions[name] = lower_function(self._context, function)
        return found

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
        if self._context.debug and nodes.keys() - {0}:
            flags += ('!{i32 2, !"Debug Info Version", i32 3}', '!{i32 7, !"Dwarf Version", i32 4}')
            metadata = [*metadata, "!llvm.dbg.cu = !{!100}"]
        if flags:
            names = ", ".join([f"!{_FIRST_FLAG + index}" for index in range(len(flags))])
            metadata = [*metadata, f"!llvm.module.flags = !{{{names}}}"]
            metadata += [f"!{_FIRST_FLAG + index} = {flag}" for index, flag in enumerate(flags)]
        parts = [
            f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"',
            "\n".join(reached.globals.values()),
            "\n".join([*reached.externals.values(), *reached.intrinsics.values()]),
            *functions,
            "\n".join(_attributes(target, self._unit.functions[kernel].bounds if kernel else {})),
            "\n".join([*metadata, *nodes.values()]),
        ]
        text = "\n\n".join([part for part in parts if part]) + "\n"
        (chosen,) = self._unit.functions[kernel].bounds.get("floats", (0,)) if kernel else (0,)
        if mask := chosen | target.floats:
            text = in_mode(text, mask)
        shared = [held for name in reached.globals if (held := self._unit.globals[name]).space == SHARED_SPACE]
        return LlvmModule(target, text, kernel, tuple(reached.externals), sum([size_of(held.type) for held in shared]))


def _has_loop(function: Function) -> bool:
    return any(isinstance(one, Loop) for one in walk.statements(function.body))


class _Reached:
    """What the functions `roots` and the globals `variables` reach, in the order in which it is met."""

    def __init__(self, lowering: _Lowering, roots: list[str], variables: Sequence[str] = ()) -> None:
        self.functions: dict[str, FunctionText] = {}
        self.globals: dict[str, str] = {}
        self.externals: dict[str, str] = {}
        self.intrinsics: dict[str, str] = {}
        self.metadata: dict[int, str] = {}
        self.named: dict[str, int] = {}
        """How often each function is mentioned, as `Uses.functions`."""
        self._lowering = lowering
        work = list(reversed(roots))
        self._add(Uses(globals=dict.fromkeys(variables)), work)
        while work:
            name = work.pop()
            if name not in self.functions:
                text = self.functions[name] = lowering.function(name)
                self._add(text.uses, work)

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
                self.globals[name], inner = self._lowering.variable(name)
                self._add(inner, work)

    def called_once(self) -> Set[str]:
        """Return the functions that one place calls and that nothing says not to inline."""
        return {
            name for name, text in self.functions.items()
            if self.named.get(name) == 1 and text.function.linkage == "internal"
            and not text.function.inline and not text.function.noreturn
        }  # fmt: skip


# ---- headers ---------------------------------------------------------------------------------------------------


def _define(context: Context, text: FunctionText, group: int = -1) -> str:
    """Return a function that only its module's functions call, or on the host an export."""
    function = text.function
    name = symbol(context.body_name(function.symbol))
    if function.linkage == "external":
        kinds = ", ".join([" ".join([kind, *name.split()[:-1]]) for kind, name in text.parameters])
        return f"declare hidden {text.result} {name}({kinds}) #{_group(function)}"
    parameters = [f"{kind} {name}" for kind, name in text.parameters]
    listed = ", ".join([*parameters, *text.trailing])
    number = _group(function) if group < 0 else group
    word = " presplitcoroutine" if text.waits else ""
    head = f"define {_linkage(context, function)}{text.result} {name}({listed}){word} #{number}"
    if context.sections:
        # The linker drops what a program does not reach, section by section.
        head += f' section ".text.{function.symbol}"'
    return f"{head}{text.scope} {{\n{text.body}\n}}"


def _linkage(context: Context, function: Function) -> str:
    if not context.is_host:
        return "internal "
    return {"export": "", "hidden": "hidden "}.get(function.linkage, "internal ")


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


def _direct(context: Context, text: FunctionText) -> str:
    """Return a kernel that is its function."""
    return f"{_kernel_head(context, text)}{text.scope} {{\n{text.body}\n}}"


def _forward(context: Context, text: FunctionText) -> str:
    """Return a kernel that calls its function, which others call too."""
    passed = [f"{kind} {name}" for kind, name in text.parameters]
    casts, space = "", context.target.value_space
    for index in text.function.values if space else ():
        casts += f"  %v{index} = addrspacecast ptr addrspace({space}) %a{index} to ptr\n"
        passed[passed.index(f"ptr %a{index}")] = f"ptr %v{index}"
    name = symbol(context.body_name(text.function.symbol))
    return f"{_kernel_head(context, text)} {{\n{casts}  call void {name}({', '.join(passed)})\n  ret void\n}}"


def _attributes(target: Target, bounds: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Return the attribute groups; their numbers are fixed. The kernel has these bounds."""
    # Barriers and shuffles lie in callees: LLVM removes the word where it sees none.
    base = "convergent nounwind" if target.is_convergent else "nounwind"
    machine = ""
    if target.names_processor:
        words: Mapping[str, str] = {"target-cpu": target.cpu, "target-features": target.features}
        machine = "".join([f' "{name}"="{word}"' for name, word in words.items() if word])
    groups = [f"{inline}{base}" for inline in ("", "alwaysinline ", "noinline ")]
    groups += [f"noreturn {group}" for group in groups]
    groups = [group + machine for group in groups]
    known = target.bounded_kernel_attributes
    given = [known[name].format(",".join(map(str, numbers))) for name, numbers in bounds.items() if name in known]
    if "threads" not in bounds or "threads" not in known:
        given.append(target.kernel_attributes)
    kernel = "".join(f" {word}" for word in given if word)
    groups += [f"{base}{machine}{kernel}", base, "nounwind willreturn memory(none)", base]
    return [f"attributes #{number} = {{ {group} }}" for number, group in enumerate(groups)]
