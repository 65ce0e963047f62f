"""Targets: facts about a machine and nothing else. One file a vendor makes `Target`s.

`targets` lies left of `ir`, so nothing here sees a node of the IR.
"""

from collections.abc import Mapping
from dataclasses import field

from ktc.base.records import record

_WITH_FMA = ("x86-64-v3", "x86-64-v4")
_ALWAYS_FMA = ("aarch64", "arm64")


@record
class Image:
    """Device code of one kernel, in the forms that were asked for.

    Args:
        kernel: symbol.
        data: by kind ("asm", "llvm", "llvm-opt", "object", "image") the bytes.
    """

    kernel: str
    data: Mapping[str, bytes]


@record
class Target:
    """One target.

    Args:
        name: as the user writes it: `sm_90`, `gfx942`, `apple-m4`, `cpu`; for the host the triple.
        vendor: "nvidia", "amd", "apple", "opencl" or "cpu" (the host, and the CPU as a device).
        triple, data_layout, cpu, features: for LLVM.
        spaces: the language's address space (0 generic, 1 global, 3 shared, 4 constant, 5 local) -> LLVM's number.
        alloca_space: LLVM's address space of a stack slot.
        kernel_convention: calling convention of a kernel ("ptx_kernel", "amdgpu_kernel", "").
        kernel_attributes: LLVM function attributes that every kernel gets (`"x"="y" …`).
        bounded_kernel_attributes: by the name of a kernel's bound (`nodes.Function`) what such a kernel gets, the
            bound's numbers in `{}`; "threads" takes the place of `kernel_attributes`.
        entry: the function that a driver starts: "function", the kernel; "metadata", the kernel with its arguments
            described in metadata; "words", the kernel with pointers as words of 64 bits; "blocks", a function that runs
            some blocks of the grid, with a layout of their shared memory; "threads", one that runs one thread.
        module_flags: LLVM text of nodes of `!llvm.module.flags` (`!{i32 1, !"x", i32 2}`).
        scopes: memory scope ("", "gpu", "cluster", "block", "warp") -> LLVM's syncscope name, "" for system.
        warp_lanes: threads of a warp. matrix_lanes: those that execute a matrix instruction, if fewer do; 0 otherwise.
        max_block_threads: limit of threads in a block.
        shared_bytes: limit of shared memory whose size is known at compile time, of a block, in bytes.
        dynamic_shared_bytes: limit of shared memory that a launch may ask for, in bytes.
        artefact: the form that the driver loads: "ptx", "hsaco", "metallib", "spirv", "native".
        is_device: kernels run here.
        value_argument: how a kernel declares the address of a value that its launch passes (`{type}`, `{align}`); empty
            where it cannot. value_space: LLVM's address space of that address.
        system_values: intrinsic name -> slot of an i32 that codegen must pass as trailing parameters, for targets where
            ids are no intrinsics (AIR, CPU); empty elsewhere.
        blocking_intrinsics: intrinsics at which a thread waits for others and for which the back end has no
            instruction: each thread of a kernel with one becomes a coroutine.
        global_spaces: the language's space for a constant and for a variable that the IR has in the generic space.
        has_f64, has_recursion: abilities of the back end.
        has_wide_casts: so is a conversion between floats and numbers of more than 64 bits.
        narrow_float8, widen_float8: the intrinsics that convert two floats of one byte at a time, from two float32 and
            to two float16 (`{}`: the pair's name); empty where the target has none.
        has_vector_intrinsics: LLVM's saturating casts and reductions of vectors are known.
        multiply_high: the back end's function for the upper half of a product of 64 bits (`{}`: "s" or "u"), if it has
            one of its own.
        saturating_cast: its own function from a float to a whole number, if that is better than LLVM's saturating cast:
            `{}` twice, "f" or "d", then "i", "ui", "ll" or "ull". To 64 bits and from "d" a nan gives no 0.
        splits_vector_casts: LLVM makes a saturating cast of a vector lane by lane, though it need not.
        packs_narrow_only: it has vectors of 32 bits at most, so numbers of 8 and 16 bits alone go into them.
        flushes_bfloat: a cast to bfloat may make zeros of subnormal numbers.
        atomics_are_relaxed: the back end forgets the order of an `atomicrmw`; fences do the ordering.
        floats: the relaxations of arithmetic that the user chose: bits of `float_modes.MODES`.
        float_atomics: metadata that atomics of floats need, to be instructions.
        names_processor: functions say `cpu` and `features`.
        is_inlined: every function becomes a part of the kernel.
        is_convergent: threads run in step, so barriers and shuffles must not move.
        line_tables: LLVM's emission kind where only lines are described. describes_variables: `-g2` has them too.
        device_externals: functions that the driver or its library supplies at load time, so may stay undefined.
        checks: which mistakes of the program its code looks for, see `targets.checked`.
        is_hardened: functions with arrays look at a value after their frame before they return.
        prefers_size: functions are compiled to be small; loops stay vectors.
        title: for people ("NVIDIA Hopper (H100, H200)").
        aliases: other names (`nvidia:90`).
    """

    name: str
    vendor: str
    triple: str
    data_layout: str
    cpu: str
    features: str
    spaces: Mapping[int, int]
    alloca_space: int = 0
    kernel_convention: str = ""
    kernel_attributes: str = ""
    bounded_kernel_attributes: Mapping[str, str] = field(default_factory=dict)
    entry: str = "function"
    module_flags: tuple[str, ...] = ()
    scopes: Mapping[str, str] = field(default_factory=dict)
    warp_lanes: int = 1
    matrix_lanes: int = 0
    max_block_threads: int = 1024
    shared_bytes: int = 0
    dynamic_shared_bytes: int = 0
    artefact: str = "native"
    is_device: bool = False
    value_argument: str = ""
    value_space: int = 0
    system_values: Mapping[str, int] = field(default_factory=dict)
    blocking_intrinsics: frozenset[str] = frozenset()
    global_spaces: tuple[int, int] = (0, 0)
    has_f64: bool = True
    has_recursion: bool = True
    has_wide_casts: bool = True
    narrow_float8: str = ""
    widen_float8: str = ""
    has_vector_intrinsics: bool = True
    multiply_high: str = ""
    saturating_cast: str = ""
    splits_vector_casts: bool = False
    packs_narrow_only: bool = False
    flushes_bfloat: bool = False
    atomics_are_relaxed: bool = False
    float_atomics: tuple[str, ...] = ()
    floats: int = 0
    names_processor: bool = True
    is_inlined: bool = False
    is_convergent: bool = False
    line_tables: str = "LineTablesOnly"
    describes_variables: bool = False
    device_externals: frozenset[str] = frozenset()
    checks: tuple[str, ...] = ()
    is_hardened: bool = False
    prefers_size: bool = False
    title: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def fuses_products(self) -> bool:
        """Return whether LLVM makes one operation of a product and a sum for this processor."""
        if self.vendor != "cpu":
            return False
        words = self.features.split(",")
        return "-fma" not in words and ("+fma" in words or self.cpu in _WITH_FMA or self.triple.startswith(_ALWAYS_FMA))

    def __hash__(self) -> int:
        return hash((self.name, self.triple, self.cpu, self.features))
