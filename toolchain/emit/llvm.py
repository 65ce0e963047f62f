"""LLVM: text in, optimised text, assembly or machine code out. The only user of llvmlite in `emit`, but for `jit`.

LLVM ends the whole process for some of the code it cannot translate, so kernels come here in a child (`workers`).
A message of LLVM becomes a `Bug`: text that it cannot read is our mistake, but for calls of intrinsics, which
are the user's (`backend_errors.py`).
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from ktc.emit.air.generic_pointers import as_global
from ktc.emit.backend_errors import rejected
from ktc.emit.loops import interleaving, vector_casts
from ktc.emit.support import routines
from ktc.targets.target import Target

# Once in a process, and so in the child that forks the jobs: 4 ms.
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
# Divisions of 128 bits as instructions: the routines that LLVM would call are in no C library (processors have none).
llvm.set_option("ktc", "-expand-div-rem-bits=64")

MIN_VECTOR_LEVEL = 2
"""From this -O level on, loops and straight code of a processor are vectorised."""

_COUNTS_IN_LLVM = ("cpu", "apple", "opencl")
"""Vendors whose loops stay as LLVM's passes leave them."""

_LONG = 1_000
"""Lines of a module from which on LLVM must not simplify large sums of addresses (`limit_sums`)."""

_NARROW = re.compile(r"\b(?:load|store) (?:half|bfloat|i16|i8)\b")

_GENERIC = re.compile(r"addrspacecast ptr addrspace\(\d+\) [^\n]* to ptr$", re.MULTILINE)

_MOST_LOADS = 8
"""Pointers to pointers to pointers …, each step of which may show the space of the next."""

_BORROWERS = ("apple", "opencl")
"""Vendors whose modules AMD's back end optimises. It has the same numbers of address spaces, answers questions about
costs and brings the pass that finds the space of a generic pointer. There is no back end for AIR, which has no generic
accesses; SPIR-V's has no such pass."""


def machine(target: Target, level: int, emits: bool = False) -> llvm.TargetMachine:
    """Return the target machine with which LLVM optimises, or emits; making one takes a fifth of a millisecond."""
    triple, cpu, features = target.triple, target.cpu, target.features
    if emits and target.artefact == "spirv":
        cpu = ""  # the back end knows no names
    elif target.vendor in _BORROWERS:
        triple, cpu, features = "amdgcn-amd-amdhsa", "gfx1100", ""
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default"
    )


class Machines:
    """Target machines, each made once: with a new one LLVM finds out again what the processor can do, 2 ms a module."""

    def __init__(self) -> None:
        self._made: dict[tuple[Target, int, bool], llvm.TargetMachine] = {}

    def get(self, target: Target, level: int, emits: bool = False) -> llvm.TargetMachine:
        """Return the machine with which LLVM optimises, or emits."""
        key = (target, level, emits)
        if key not in self._made:
            self._made[key] = machine(target, level, emits)
        return self._made[key]


@contextmanager
def parsed(text: str, name: str = "") -> Iterator[llvm.ModuleRef]:
    """Read and verify LLVM assembly; `name` is the kernel's, for the message. The module is gone after the `with`.

    A context of its own: in a shared one, a second module's `%pair` would become `%pair.1`. Both are closed here, in
    this order: Python's collector, should an exception's traceback hold them, may take the context first and crash.
    """
    with llvm.create_context() as context:
        try:
            module = llvm.parse_assembly(text, context)
        except RuntimeError as error:
            raise rejected(_called(name), _explain(str(error), text)) from error
        with module:
            try:
                _verify(module)
            except RuntimeError as error:
                raise rejected(_called(name), _explain(str(error), text)) from error
            yield module


def _verify(module: llvm.ModuleRef) -> None:
    """Verify a module; operands that have to be constants may become so where functions are inlined."""
    try:
        module.verify()
    except RuntimeError as error:
        if "immarg" not in str(error) or not module.triple.startswith(("amdgcn", "nvptx")):
            raise
        device = llvm.Target.from_triple(module.triple).create_target_machine()
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_sccp_pass()
        passes.run(module, llvm.create_pass_builder(device, llvm.create_pipeline_tuning_options()))
        module.verify()


@contextmanager
def optimized(
    text: str, target: Target, level: int, name: str = "", is_cut: bool = False, machines: Machines | None = None
) -> Iterator[llvm.ModuleRef]:
    """Read `text` and run LLVM's default pipeline of -O`level` over it; gives llvmlite's module as `parsed` does.

    Args:
        is_cut: it is a kernel whose threads are loops (`workgroups`), simplified already.
        machines: for a caller with several modules.
    """
    machines = machines or Machines()
    if target.triple.startswith("x86_64"):
        keep_moves("!unpredictable" in text)
    if target.checks and target.vendor == "cpu" and target.entry != "blocks":
        from ktc.emit.checks.instrument import instrumented  # late: only with some options

        text = instrumented(text, target.checks, target.is_device, machines.get(target, level))
    if target.artefact == "spirv":
        from ktc.emit.spirv.routines import with_routines  # late: only for some targets

        text = with_routines(text)
    with parsed(text + routines(text, target) if target.vendor == "cpu" else text, name) as module:
        if target.vendor == "apple" and _GENERIC.search(text):
            level = max(level, 1)  # AIR has no generic accesses: the pass that finds their space always runs
        _run_pipeline(module, text, target, level, is_cut, machines)
        if target.vendor == "apple" and (after := as_global(before := llvm_text(module))) != before:
            with _with_global_pointers(after, target, max(level, 1), name) as better:
                yield better
            return
        has_turns = target.vendor == "cpu" and "!llvm.access.group" in text and "@llvm.coro." not in text
        if has_turns and interleaving.is_doubtful(llvm_text(module)):
            with parsed(text + routines(text, target), name) as other, _without_interleaving():
                _run_pipeline(other, text, target, level, is_cut, machines)
                yield other
            return
        if target.vendor not in _COUNTS_IN_LLVM and level >= MIN_VECTOR_LEVEL:
            from ktc.emit.loops.rewriting import improved  # late: only for some targets

            before = llvm_text(module)
            after = improved(before)
            if after is not before:
                with parsed(after, name) as better:
                    _tidy(better, target, level)
                    yield better
                return
        known = [one.name for one in module.functions] if target.splits_vector_casts and ".sat." in text else []
        if level >= MIN_VECTOR_LEVEL and vector_casts.are_there(known):
            with parsed(vector_casts.split(llvm_text(module)), name) as better:
                yield better
            return
        yield module


@contextmanager
def _with_global_pointers(text: str, target: Target, level: int, name: str) -> Iterator[llvm.ModuleRef]:
    """Optimise a module again whose loads of generic pointers have become loads of global ones."""
    for _ in range(_MOST_LOADS):
        with parsed(text, name) as module:
            _run_pipeline(module, text, target, level, False, Machines())
            before = llvm_text(module)
        text = as_global(before)
        if text == before:
            break
    with parsed(text, name) as module:
        yield module


@contextmanager
def joined(module: object, text: str, target: Target, level: int, name: str) -> Iterator[object]:
    """Give a module with the functions of another one, a kernel whose threads are loops, optimised as such."""
    with optimized(text, target, level, name, is_cut=True) as loops:
        both = llvm_text(loops)
    with llvm.create_context() as context, llvm.parse_assembly(llvm_text(module), context) as first:
        second = llvm.parse_assembly(both, context)
        first.link_in(second)
        first.verify()
        yield first


def simplify(module: llvm.ModuleRef, target: Target, function: str) -> None:
    """Inline and simplify, and leave loops as they are: the passes of a kernel before it is cut.

    Args:
        function: the one to be cut. Of its loops only short ones of a known length are unrolled.
    """
    for unrolls in (False, True):
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
        options.loop_unrolling = unrolls
        builder = llvm.create_pass_builder(machine(target, 1), options)
        if unrolls:
            # The passes of a module would unroll loops of any length.
            builder.getFunctionPassManager().run(module.get_function(function), builder)
            # A phi at a loop's exit may differ between threads where what the loop sets need not.
            closed = llvm.create_new_function_pass_manager()
            closed.add_lcssa_pass()
            closed.run(module.get_function(function), builder)
        else:
            builder.getModulePassManager().run(module, builder)


def _run_pipeline(
    module: llvm.ModuleRef, text: str, target: Target, level: int, is_cut: bool, machines: Machines
) -> None:
    # The passes of higher levels would unroll loops over threads, or pull conditions out of them, before they are
    # vectors.
    options = llvm.create_pipeline_tuning_options(speed_level=min(level, 1) if is_cut else level)
    vectorise = target.vendor == "cpu" and level >= MIN_VECTOR_LEVEL
    options.loop_vectorization = vectorise
    # On a GPU this makes vectors of few numbers; the back end joins loads of neighbours itself.
    packs = target.vendor != "apple" and (not target.packs_narrow_only or _NARROW.search(text) is not None)
    options.slp_vectorization = level >= MIN_VECTOR_LEVEL and packs and not is_cut
    options.loop_interleaving = vectorise
    options.loop_unrolling = level >= MIN_VECTOR_LEVEL
    builder = llvm.create_pass_builder(machines.get(target, level), options)
    builder.getModulePassManager().run(module, builder)
    if level == 0 and target.vendor != "cpu":
        _keep_in_registers(module, builder)


@contextmanager
def _without_interleaving() -> Iterator[None]:
    """Let the vectoriser make no groups of accesses with gaps between them."""
    llvm.set_option("ktc", "-enable-interleaved-mem-accesses=false")
    try:
        yield
    finally:
        llvm.set_option("ktc", "-enable-interleaved-mem-accesses=true")  # as without the option


def _keep_in_registers(module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Let local variables be values, whatever the level.

    Each inlined call brings variables of its own. In memory those of a tiled product take 76 KB a thread, and ptxas,
    which optimises at every level, needs minutes for them.
    """
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def _tidy(module: llvm.ModuleRef, target: Target, level: int) -> None:
    """Join the new instructions of loops with those around them."""
    builder = llvm.create_pass_builder(machine(target, level), llvm.create_pipeline_tuning_options(speed_level=level))
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.run(module, builder)


def limit_sums(lines: int) -> None:
    """Prepare for emitting a GPU's module that had so many lines before it was optimised.

    LLVM 22 compares every address in straight code with all others of the same base (StraightLineStrengthReduce), and
    builds the difference of each pair: for 400 statements 2.5 s, most of it to simplify sums of which nothing comes.
    """
    most = 16 if lines > _LONG else 4096  # LLVM's own
    llvm.set_option("ktc", f"-scalar-evolution-huge-expr-threshold={most}")


def skip_strength_reduction() -> None:
    """Leave StraightLineStrengthReduce out, in this process from now on.

    Even with `limit_sums` it compares each address with all others: 1.7 s of 2.5 s and half the memory for a kernel of
    1,600 statements, with the same PTX. ptxas does that work again.
    """
    llvm.set_option("ktc", "--opt-disable=slsr")


def keep_moves(keeps: bool) -> None:
    """Keep conditional moves of the next code from becoming jumps, or not: x86 forgets notes on a `select`."""
    llvm.set_option("ktc", f"-x86-cmov-converter={'false' if keeps else 'true'}")


def skip_vectorisers() -> None:
    """Vectorise neither loops nor straight code in this process from now on."""
    llvm.set_option("ktc", "--vectorize-loops=false")
    llvm.set_option("ktc", "--vectorize-slp=false")


def allow_spirv_extension(name: str) -> None:
    """Let modules of SPIR-V use an extension, in this process from now on."""
    llvm.set_option("ktc", f"-spirv-ext=+{name}")


def assembly(module: llvm.ModuleRef, target: Target, level: int) -> str:
    """Return the assembly (PTX for NVIDIA) of an optimised module."""
    return str(machine(target, level, emits=True).emit_assembly(module))


def object_code(module: llvm.ModuleRef, target: Target, level: int, machines: Machines | None = None) -> bytes:
    """Return the relocatable object of an optimised module; NVIDIA has none."""
    return bytes((machines or Machines()).get(target, level, emits=True).emit_object(module))


def llvm_text(module: llvm.ModuleRef) -> str:
    """Return the module as LLVM assembly."""
    return str(module)


def _called(name: str) -> str:
    return f"kernel '{name}'" if name else "the host"


def _explain(message: str, text: str) -> str:
    """Shorten LLVM's message and add the line of `text` that it names."""
    place = re.search(r"<string>:(\d+):\d+: error: (.*)", message)
    if place is None:
        return " ".join(message.split())
    line = text.split("\n")[int(place.group(1)) - 1].strip()
    return f"{place.group(2)} in line {place.group(1)}: {line[:400]}"
