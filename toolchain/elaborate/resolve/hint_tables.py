"""The texts of `hints.py`: by types, names and modules of other languages, what to write here."""

from collections.abc import Mapping
from types import MappingProxyType

_MAP = "a buffer lives on the device: read and write it in 'with {x}.map_to_host() as host:'"
_TRANSFER = "copy with 'ctx.enqueue_copy(to, of)', or use 'with {x}.map_to_host() as host:'"
_COPY_IN = "copy with 'ctx.enqueue_copy(to, of)'"
_LENGTH = "write 'len({x})'"
_UNWRAP = "write '{x}.value()', after 'if {x}:'"
_TRUE = "an 'Optional' is true if it holds a value: 'if {x}:'"
_POINTER = "a pointer knows no length: pass it as an argument, or pass a 'LayoutTensor'"
_THREAD = "write '{x}.x', '{x}.y' or '{x}.z'"
LAUNCH = "write 'ctx.enqueue_function_checked[kernel, kernel](…, grid_dim=…, block_dim=…)'"
_WAIT = "write 'ctx.synchronize()'"
PYTHON_OBJECT = "or use Python's own: 'Python.import_module(\"{module}\")', with 'from python import Python'"

MEMBERS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "DeviceBuffer": {
        **dict.fromkeys(("copy_to_host", "to_host", "cpu", "get", "numpy", "tolist", "to_device", "cuda"), _TRANSFER),
        **dict.fromkeys(("item", "fill_", "sum", "max", "min", "mean"), _MAP),
        "memset": "write '{x}.enqueue_fill(value)'",
        **dict.fromkeys(("copy_from_host", "upload"), "write '{x}.enqueue_copy_from(source)'"),
        **dict.fromkeys(("copy_to_device", "download"), "write '{x}.enqueue_copy_to(target)'"),
        "fill": "write '{x}.enqueue_fill(value)'", "zero_": "write '{x}.enqueue_fill(0)'",
        "data": "write '{x}.unsafe_ptr()'", "data_ptr": "write '{x}.unsafe_ptr()'", "ptr": "write '{x}.unsafe_ptr()'",
        "free": "a buffer is freed after its last use", "release": "a buffer is freed after its last use",
        "shape": "a buffer has one dimension: 'len({x})'; a shape is a 'LayoutTensor's over it",
        "copy_from": "write '{x}.enqueue_copy_from(source)'", "copy_to": "write '{x}.enqueue_copy_to(target)'",
    },
    "DeviceContext": {
        **dict.fromkeys(("sync", "wait", "device_synchronize", "finish", "barrier"), _WAIT),
        **dict.fromkeys(("memcpy", "copy", "memcpy_async", "copy_to_host", "copy_to_device"), _COPY_IN),
        **dict.fromkeys(("launch", "run", "enqueue", "call", "execute", "launch_kernel"), LAUNCH),
        **dict.fromkeys(
            ("malloc", "alloc", "allocate", "create_buffer", "empty", "zeros", "device_array"),
            "write 'ctx.enqueue_create_buffer[DType.float32](count)'",
        ),
        "empty_cache": "a buffer is freed after its last use; leave it out",
        **dict.fromkeys(("get_device_properties", "properties"), "ask for one: '{x}.get_attribute(DeviceAttribute.…)'"),
        "device_name": "write '{x}.name()'", "device_count": "write 'DeviceContext.number_of_devices()'",
    },
    "DeviceEvent": {
        "record": "write 'ctx.stream().record_event(event)'",
        **dict.fromkeys(("elapsed_time", "elapsed"), "write 'ctx.execution_time[function](count)' to measure"),
    },
    "Optional": {
        **dict.fromkeys(("get", "unwrap", "expect"), _UNWRAP),
        **dict.fromkeys(("has_value", "is_some", "is_present", "hasValue"), _TRUE),
        "is_none": "write 'if not {x}:'",
        **dict.fromkeys(("unwrap_or", "value_or", "get_or", "orElse"), "write '{x}.or_else(default)'"),
    },
    "Dict": {
        "insert": "write '{x}[key] = value'", "append": "write '{x}[key] = value'",
        **dict.fromkeys(("remove", "delete", "erase", "discard"), "write '_ = {x}.pop(key)'"),
        **dict.fromkeys(("has_key", "containsKey", "contains"), "write 'key in {x}'"),
        **dict.fromkeys(("iteritems", "entries"), "write '{x}.items()'"),
    },
    "List": {
        "sort": "write 'sort({x})', which sorts in place", "sorted": "write 'sort({x})', which sorts in place",
        **dict.fromkeys(("join",), "the separator joins: 'String(\", \").join({x})'"),
        **dict.fromkeys(("sum", "mean", "max", "min", "argmax"), "go through the items in a loop: 'for item in {x}:'"),
        **dict.fromkeys(("shape", "ndim"), "a list has one dimension: 'len({x})'"),
        **dict.fromkeys(("remove", "discard"), "write '_ = {x}.pop({x}.index(value))'"),
        "erase": "write '_ = {x}.pop(index)'", "delete": "write '_ = {x}.pop(index)'",
        **dict.fromkeys(("data", "begin"), "write '{x}.unsafe_ptr()'"),
    },
    "UnsafePointer": {
        **dict.fromkeys(("shape", "size", "length", "ndim"), _POINTER),
        **dict.fromkeys(("at", "get", "value", "deref"), "write '{x}[]', or '{x}[i]' for the i-th item"),
        **dict.fromkeys(("x", "y", "z"), "write '{x}[].member' for a member of what it points to"),
        "add": "write '{x} + count'", "is_null": "write 'not {x}'",
    },
    "LayoutTensor": {
        **dict.fromkeys(("numel", "nelems", "__len__"), "write '{x}.size()'"), "at": "write '{x}[row, column]'",
        **dict.fromkeys(("sum", "max", "min", "mean"), "go through its items in a loop: 'for i in range({x}.size()):'"),
        "data_ptr": "write '{x}.ptr'", "copy_to_host": "copy its buffer: 'ctx.enqueue_copy(to, of)'",
        **dict.fromkeys(("reshape_", "view"), "write '{x}.reshape[layout]()'"),
        **dict.fromkeys(("T", "t"), "write '{x}.transpose()'"),
        "ndim": "write '{x}.rank'", "data": "write '{x}.ptr'", "unsafe_ptr": "write '{x}.ptr'",
    },
    "String": {
        "charAt": "write '{x}[i]'", "c_str": "write '{x}.unsafe_cstr_ptr()'", "data": "write '{x}.unsafe_ptr()'",
        **dict.fromkeys(("append", "push", "push_str", "concat"), "write '{x} += text'"),
        "encode": "write '{x}.as_bytes()'", "to_int": "write 'Int({x})'", "parse": "write 'Int({x})'",
        "isalpha": "compare with 'Codepoint'", "title": "there is 'upper' and 'lower'",
    },
    "Int": {
        "value": "it is the value already", "item": "it is the value already",
        "bit_length": "write 'bit_width({x})', with 'from bit import bit_width'",
        "is_even": "write '{x} % 2 == 0'", "sqrt": "write 'sqrt({x})', with 'from math import sqrt'",
        "x": "it is one number; 'thread_idx' and 'block_idx' have the members 'x', 'y' and 'z'",
    },
    "Error": dict.fromkeys(("args", "message", "what", "msg"), "write 'String({x})'"),
    "StaticTuple": {"append": "its length is fixed; use a 'List'"},
    "InlineArray": {"append": "its length is fixed; use a 'List'", "push": "its length is fixed; use a 'List'"},
    "SIMD": {
        **dict.fromkeys(("sum",), "write '{x}.reduce_add()'"), "max": "write '{x}.reduce_max()'",
        "min": "write '{x}.reduce_min()'", "astype": "write '{x}.cast[DType.…]()'", "to": "write '{x}.cast[DType.…]()'",
        "shape": "the number of lanes is the parameter 'size'", "dot": "write '(a * b).reduce_add()'",
        **dict.fromkeys(("x", "y", "z", "w"), "write '{x}[0]', '{x}[1]' and so on for its lanes"),
    },
})  # fmt: skip
"""Help for a member that a type does not have, by the family of the type. `{x}` is the receiver."""

INDEX: Mapping[str, str] = MappingProxyType({
    "DeviceBuffer": _MAP,
    "HostMappedBuffer": "write 'with buffer.map_to_host() as host:', and index 'host'",
    "Optional": "write '{x}.value()[…]'",
    "Set": "a set has no order; write 'in' to ask, or go through it in a loop",
    "Int": "a number has no items",
    "NoneType": "the call that it comes from returns nothing",
    "_DictKeyIter": "write '[key for key in d.keys()]' for a list of the keys",
    "_DictValueIter": "write '[value for value in d.values()]' for a list of the values",
    "_Enumerate": "go through it in a loop: 'for index, item in enumerate(…):'",
    "_SpanBackIter": "count from the end: 'x[-1]' is the last item",
    "_GlobalIdx": _THREAD,
})  # fmt: skip

UNCHANGEABLE: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("String", "StringSlice"), "make a new text of parts: 'x[:i] + \"…\" + x[i + 1 :]'"),
    **dict.fromkeys(("List", "Span"), "assign to one item at a time: 'x[i] = …', in a loop"),
})  # fmt: skip

ITERATION: Mapping[str, str] = MappingProxyType({
    "DeviceBuffer": _MAP, "UnsafePointer": "write 'for i in range(count):', and index it",
    "LayoutTensor": "write 'for i in range(size):', and index it", "Optional": "take its value out with '.value()'",
    "FileHandle": "write 'for line in {x}.read().splitlines():'",
})  # fmt: skip

MODULES: Mapping[str, str] = MappingProxyType({
    "numpy": "arrays are in 'ndarray', vectors of numbers are 'SIMD', tensors in kernels 'LayoutTensor'; ",
    "cupy": "device memory comes from 'DeviceContext', of 'gpu.host'; arrays are in 'ndarray'",
    "numba": "GPU names are in 'gpu', and kernels are plain 'fn's that 'DeviceContext' launches",
    "triton": "a kernel here is written for one thread: its index is 'global_idx.x', from 'gpu'",
    "torch": "device memory comes from 'DeviceContext', of 'gpu.host'; ", "pandas": "", "scipy": "", "matplotlib": "",
    "requests": "", "PIL": "", "tensorflow": "", "jax": "",
    "tensor": "arrays are in 'ndarray', tensors in kernels 'LayoutTensor', from 'layout'",
    "typing": "types need no import: 'List', 'Dict', 'Optional' and 'Tuple' are known everywhere",
    "dataclasses": "write '@fieldwise_init' above a struct",
    "abc": "write a 'trait'", "enum": "write a struct with aliases", "functools": "write a function, or a loop",
    "copy": "write 'x.copy()'", "operator": "write a nested function", "string": "'String' is known everywhere",
    "array": "the types are called 'List', and 'InlineArray' where the size is known", "json": "", "re": "", "csv": "",
    "struct": "'bitcast', from 'memory', reads bytes as another type", "datetime": "there is 'perf_counter', of 'time'",
    "threading": "'parallelize', from 'algorithm', uses the cores",
    "multiprocessing": "'parallelize', from 'algorithm', uses the cores",
    "ctypes": "'external_call', from 'sys.ffi', calls C", "argparse": "'argv()', from 'sys', gives the arguments",
    "cuda_runtime": "GPU names are in 'gpu', and 'DeviceContext', of 'gpu.host', is the runtime",
    "stdio": "'print' is known everywhere",
    "cuda": "GPU names are in 'gpu', and 'DeviceContext', of 'gpu.host', is the runtime",
    "iostream": "'print' is known everywhere", "asyncio": "",
})  # fmt: skip
"""Help for unknown modules, by their first name. With "" or a text that ends in `; ` the module is Python's."""

PYTHON_ONLY = frozenset({
    "numpy", "torch", "pandas", "scipy", "matplotlib", "requests", "PIL", "tensorflow", "jax", "json", "re", "csv",
    "asyncio",
})  # fmt: skip

IMPORTS: Mapping[tuple[str, str], str] = MappingProxyType({
    ("collections", "defaultdict"): "write 'd.setdefault(key, …)' on a 'Dict'",
    ("collections", "OrderedDict"): "'Dict' keeps the order of its keys",
    ("collections", "namedtuple"): "write a struct with '@fieldwise_init'",
    ("collections", "deque"): "the type is called 'Deque'",
    ("math", "pow"): "write 'x ** y'", ("math", "fabs"): "write 'abs'", ("math", "sum"): "write a loop",
    ("math", "prod"): "write a loop", ("math", "fmod"): "write '%'",
    ("random", "random"): "write 'random_float64()'", ("random", "randrange"): "write 'random_si64(low, high)'",
    ("random", "choice"): "index with 'random_ui64(0, len(x) - 1)'",
    ("random", "uniform"): "write 'random_float64(low, high)'",
    ("os", "environ"): "write 'getenv(name)'", ("os", "getcwd"): "write 'cwd()', from 'pathlib'",
    ("sys", "version"): "it is known when a program is compiled; leave it out",
    ("time", "time"): "write 'perf_counter()'",
    ("gpu", "syncthreads"): "the name is 'barrier'", ("gpu", "threadIdx"): "the name is 'thread_idx'",
    ("gpu", "blockIdx"): "the name is 'block_idx'", ("gpu", "blockDim"): "the name is 'block_dim'",
    ("gpu", "DeviceContext"): "write 'from gpu.host import DeviceContext'",
    ("gpu", "Atomic"): "write 'from os import Atomic'",
    ("gpu", "LayoutTensor"): "write 'from layout import LayoutTensor'",
    ("gpu.host", "thread_idx"): "write 'from gpu import thread_idx'",
    ("memory", "SharedMemory"): "write 'stack_allocation', with 'address_space=AddressSpace.SHARED'",
})  # fmt: skip

ARGUMENTS: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("grid", "blocks", "num_blocks", "grid_size", "griddim", "gridDim"), "grid_dim"),
    **dict.fromkeys(("block", "threads", "num_threads", "block_size", "blockdim", "blockDim"), "block_dim"),
    **dict.fromkeys(("shared", "shared_mem", "smem", "shared_memory"), "shared_mem_bytes"),
})  # fmt: skip

FOREIGN_CALLS: Mapping[str, str] = MappingProxyType({
    "enqueue_create_buffer too-many-arguments": "the type goes in brackets: '…[DType.float32](count)'",
    "stack_allocation no-matching-overload": "name the space: '[count, Float32, address_space=AddressSpace.SHARED]'",
    "randint": "it fills memory with numbers; one number from 'low' to 'high' is 'random_si64(low, high)'",
    "rand": "it fills memory with numbers; one number from 0 to 1 is 'random_float64()'",
    "randn": "it fills memory with numbers; one normally distributed number is 'randn_float64()'",
    "seed": "write 'seed()' or 'seed(number)'",
})  # fmt: skip
"""By a library function, and the error's code if it matters: what to write where it is called as elsewhere."""

TRAIT_HINTS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({
    "Indexer": (
        ("_GlobalIdx", "write 'global_idx.x'"), ("_ThreadIdx", "write 'thread_idx.x'"),
        ("_BlockIdx", "write 'block_idx.x'"), ("String", "an index is an integer; a 'Dict' has keys"),
        ("Tuple", "write one index in brackets, or 'x[i][j]'"), ("List", "an index is one whole number"),
        ("Float", "convert it with 'Int(…)'"), ("Optional", "take its value out with '.value()'"),
    ),
    "Comparable": (("List", "for the largest or smallest item, go through the list in a loop"),),
    "Sized": (
        ("LayoutTensor", "write 't.size()', or 't.dim(0)' for one extent"),
        ("Int", "a number has no length"), ("Float", "a number has no length"),
    ),
    "Boolable": (("DeviceBuffer", "write 'len(…) > 0'"),),
    **dict.fromkeys(
        ("Roundable", "Absable", "Powable", "CeilDivable", "Intable", "Floatable"),
        (("String", "'Float64(…)' and 'Int(…)' read a number from a text"), ("List", "go through the list in a loop")),
    ),
    "Writable": (
        ("DeviceBuffer", "a buffer lives on the device: print items of it in 'with buffer.map_to_host() as host:'"),
        ("_DictKeyIter", "write '[key for key in d.keys()]' for a list of the keys"),
        *((name, "go through it in a loop: 'for item in …:'") for name in ("_Enumerate", "_Zip", "_MapIterator")),
    ),
})  # fmt: skip
"""By a trait: starts of names of types that have it not, and the advice."""
