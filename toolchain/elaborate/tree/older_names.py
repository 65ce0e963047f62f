"""Names of other versions of this language, and types of Rust, Java, C++ and Python's `typing`: what to write here.

Only asked for when a name is not defined, or a module does not have it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

_POINTER = "write 'UnsafePointer[Float32, MutAnyOrigin]'; 'alloc[Float32](count)' makes one"
_TRAITS = "write 'Copyable & Movable'"
_TIME = "write 'perf_counter_ns()', with 'from time import perf_counter_ns'"

OLDER_NAMES: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("DTypePointer", "Buffer"), _POINTER),
    **dict.fromkeys(("Reference", "ManagedPointer"),
        "the type is called 'Pointer'; an argument 'ref x: T' is one already"),
    **dict.fromkeys(("Tensor", "TensorShape", "TensorSpec"),
        "arrays are in 'ndarray', tensors in kernels 'LayoutTensor'"),
    "DynamicVector": "the type is called 'List'", "InlinedFixedVector": "the type is called 'InlineArray'",
    "StaticIntTuple": "the type is called 'IndexList', from 'utils'", "StringRef": "the type is called 'StringSlice'",
    "AnyRegType": "the trait is called 'AnyTrivialRegType'", "AnyLifetime": "the type is called 'Origin'",
    "Lifetime": "the type is called 'Origin'", "ListLiteral": "write a list: '[a, b]'",
    **dict.fromkeys(("CollectionElement", "CollectionElementNew"), _TRAITS),
    "ComparableCollectionElement": "write 'Copyable & Movable & Comparable'",
    "StringableCollectionElement": "write 'Copyable & Movable & Stringable'",
    "BoolableCollectionElement": "write 'Copyable & Movable & Boolable'",
    "RepresentableCollectionElement": "write 'Copyable & Movable & Representable'",
    "Formattable": "the trait is called 'Writable'", "Formatter": "the trait is called 'Writer'",
    **dict.fromkeys(("Printable", "Display", "ToString"), "the trait is called 'Writable'"),
    **dict.fromkeys(("Eq", "PartialEq"), "the trait is called 'EqualityComparable'"),
    **dict.fromkeys(("Ord", "PartialOrd"), "the trait is called 'Comparable'"),
    **dict.fromkeys(("Clone", "Copy"), "the trait is called 'Copyable'"),
    "Debug": "the trait is called 'Representable'", "Hash": "the trait is called 'Hashable'",
    "Default": "the trait is called 'Defaultable'",
    **dict.fromkeys(("Send", "Sync", "Serialize"), "leave it out"),
    **dict.fromkeys(("now", "monotonic_ns"), _TIME),
    **dict.fromkeys(("unroll", "static_for"), "write '@parameter' above 'for i in range(…):'"),
    "roundeven": "'round' rounds halves to the even neighbour", "num_cores": "write 'num_physical_cores', from 'sys'",
    "print_no_newline": "write 'print(x, end=\"\")'", "assert_param": "write 'constrained[condition, \"text\"]()'",
    "rank_of": "write 'x.rank'", "__get_lvalue_as_address": "write 'UnsafePointer(to=x)'",
    "__get_address_as_lvalue": "write 'pointer[]'",
    **dict.fromkeys(("Vec", "ArrayList", "Sequence", "Iterable"), "the type is called 'List'"),
    **dict.fromkeys(("BTreeMap", "Mapping", "unordered_map", "Hashtable"), "the type is called 'Dict'"),
    **dict.fromkeys(("HashSet", "BTreeSet", "unordered_set"), "the type is called 'Set'"),
    "VecDeque": "the type is called 'Deque', from 'collections'",
    "Box": "the type is called 'OwnedPointer', from 'memory'",
    **dict.fromkeys(("Rc", "Arc"), "the type is called 'ArcPointer', from 'memory'"),
    **dict.fromkeys(("Result", "Ok", "Err"),
        "a function that may fail says 'raises'; return the value, or 'raise Error(…)'"),
    "Some": "write the value: an 'Optional' takes it as it is", "Union": "write 'Variant[A, B]', from 'utils'",
    **dict.fromkeys(("Callable", "Function", "Func"), "write the type of a function: 'fn (Int) -> Int'"),
    "Void": "a function without '->' returns nothing", "Unit": "a function without '->' returns nothing",
    "Type": "write a parameter: 'fn f[T: AnyType](x: T)'", "TypeVar": "write a parameter: 'fn f[T: AnyType](x: T)'",
    **dict.fromkeys(("usize", "isize"), "the type is called 'Int'"),
    "Number": "the types are called 'Int' and 'Float64'",
    **dict.fromkeys(("short", "byte", "Byte"), "the type is called 'Int16' or 'UInt8'"),
    **dict.fromkeys(("__half", "half2", "__half2"),
        "the type is called 'Float16'; two lanes are 'SIMD[DType.float16, 2]'"),
    **dict.fromkeys(("__nv_bfloat16", "bf16"), "the type is called 'BFloat16'"),
    **dict.fromkeys(("cudaStream_t", "hipStream_t"), "the type is called 'DeviceStream', from 'gpu.host'"),
    **dict.fromkeys(("cudaEvent_t", "hipEvent_t"), "the type is called 'DeviceEvent', from 'gpu.host'"),
    **dict.fromkeys(("Stream", "CudaStream"), "the type is called 'DeviceStream', from 'gpu.host'"),
    **dict.fromkeys(("Dim3", "Grid", "Block"), "write a tuple: 'grid_dim=(x, y)'"),
    **dict.fromkeys(("TRUE", "yes"), "write 'True'"), **dict.fromkeys(("FALSE", "no"), "write 'False'"),
    **dict.fromkeys(("undefined", "Null", "Nothing"), "write 'None'"),
    **dict.fromkeys(("System", "Console", "echo", "writeln", "print_", "log_info"), "write 'print(...)'"),
    "quit": "write 'exit()', from the module 'sys'",
    **dict.fromkeys(("globals", "locals", "dir"), "names are known at compile time"),
    "iter": "write 'for item in x:'", "__name__": "a program starts at 'main'; leave the test out",
    **dict.fromkeys(("FileNotFoundError", "IOError", "NameError", "OverflowError"), "the type of errors is 'Error'"),
})  # fmt: skip

_SHARED = "write 'stack_allocation[count, Float32, address_space = AddressSpace.SHARED]()', from 'memory'"
_MAKERS = ("zeros", "ones", "array", "arange", "linspace", "concatenate")
_ONE = "a kernel is written for one thread: "

_PATHS: Mapping[str, str] = MappingProxyType({
    "cuda.grid": "write 'global_idx.x', from 'gpu'", "cuda.gridsize": "write 'grid_dim.x * block_dim.x', from 'gpu'",
    "cuda.threadIdx": "write 'thread_idx', from 'gpu'", "cuda.blockIdx": "write 'block_idx', from 'gpu'",
    "cuda.blockDim": "write 'block_dim', from 'gpu'", "cuda.gridDim": "write 'grid_dim', from 'gpu'",
    "cuda.shared": _SHARED, "cuda.local": "write 'stack_allocation[count, Float32]()', from 'memory'",
    "cuda.syncthreads": "write 'barrier()', from 'gpu'", "cuda.syncwarp": "write 'syncwarp()', from 'gpu'",
    "cuda.atomic": "write 'Atomic.fetch_add(pointer, value)', with 'Atomic' from 'os'",
    "cuda.laneid": "write 'lane_id()', from 'gpu'", "cuda.synchronize": "write 'ctx.synchronize()'",
    "cuda.to_device": "write 'ctx.enqueue_create_buffer[dtype](size)', and fill it in 'map_to_host'",
    "cuda.device_array": "write 'ctx.enqueue_create_buffer[dtype](size)'", "cuda.stream": "write 'ctx.create_stream()'",
    "tl.program_id": "write 'block_idx.x', from 'gpu'", "tl.num_programs": "write 'grid_dim.x', from 'gpu'",
    "tl.arange": _ONE + "its place in the block is 'thread_idx.x', from 'gpu'",
    "tl.load": _ONE + "write 'pointer[i]', in an 'if' where there was a mask",
    "tl.store": _ONE + "write 'pointer[i] = value', in an 'if' where there was a mask",
    "tl.zeros": _ONE + "write 'var sum: Float32 = 0'", "tl.sum": "write 'block.sum[block_size=…](value)', from 'gpu'",
    "tl.max": "write 'block.max[block_size=…](value)', from 'gpu'", "tl.where": "write 'a if condition else b'",
    "tl.dot": "'matmul', from 'linalg.matmul', multiplies matrices; 'mma', from 'gpu.mma', small tiles",
    "tl.exp": "write 'exp(x)', from 'math'", "tl.cdiv": "write 'ceildiv(a, b)', from 'math'",
    "tl.atomic_add": "write 'Atomic.fetch_add(pointer, value)', with 'Atomic' from 'os'",
    "tl.debug_barrier": "write 'barrier()', from 'gpu'",
    "tl.static_range": "write '@parameter' above 'for i in range(…):'",
    "tl.constexpr": "a constant is a parameter: 'fn kernel[BLOCK: Int](…)'",
    **{f"np.{name}": f"the type is called '{name.capitalize()}', its dtype 'DType.{name}'"
       for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64")},
    **{f"np.u{name}": f"the type is called 'UI{name[1:]}', its dtype 'DType.u{name}'"
       for name in ("int8", "int16", "int32", "int64")},
    **{f"{module}.{name}": f"write '{name}', from 'ndarray'"
       for module in ("np", "cp", "torch") for name in _MAKERS},
    **{f"np.{name}": f"write '{name}(x)', from 'math'"
       for name in ("sqrt", "exp", "log", "sin", "cos", "floor", "ceil")},
    "np.abs": "write 'abs(x)'", "np.ndarray": "arrays are 'NDArray', from 'ndarray'",
    "np.random": "numbers come from 'random_float64()', from 'random'", "np.pi": "write 'pi', from 'math'",
    "std.vector": "the type is called 'List'", "std.string": "the type is called 'String'",
    "std.cout": "write 'print(…)'",
    "std.map": "the type is called 'Dict'", "std.move": "write 'x^'", "std.sort": "write 'sort(x)'",
})  # fmt: skip
"""Help by the first two names of a path."""

_MASKED = re.compile(r"(?:load|store)\s*\([^\n]*\bmask\s*=")
_PATH = re.compile(r"(\w+)\s*\.\s*(\w+)")


def path_hint(text: str) -> str:
    """Return the help for a text that begins with a path of another language, as `cuda.grid(1)`, or ""."""
    if _MASKED.match(text):
        return "a thread works on its own element: write 'if i < count:' and index the pointer, 'p[i]'"
    found = _PATH.match(text)
    return _PATHS.get(f"{found[1]}.{found[2]}", "") if found is not None else ""


def defined_hint(text: str, name: str) -> str:
    """Return the help for a name that the program defines as C does, with `#define`."""
    found = re.search(rf"^#[ \t]*define[ \t]+{re.escape(name)}\b[ \t]*([^\n]*)$", text, re.MULTILINE)
    if found is None:
        return ""
    value = found[1].strip() if len(found[1]) < 40 else ""
    return f"'#' begins a comment: write 'alias {name} = {value or '…'}'"
