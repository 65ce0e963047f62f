"""Hints by type and intent: what to write where a person brings a habit from CUDA, NumPy, Triton, Numba or Python.

Input: types and names as shown in messages, and the text of the receiver. Output: the text of a help line, or "". Only
asked for when an error is reported.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ktc.syntax import ast

_MAP = "a buffer lives on the device: read and write it in 'with {x}.map_to_host() as host:'"
_TRANSFER = "copy with 'ctx.enqueue_copy(to, of)', or use 'with {x}.map_to_host() as host:'"
_COPY_IN = "copy with 'ctx.enqueue_copy(to, of)'"
_LENGTH = "write 'len({x})'"
_UNWRAP = "write '{x}.value()', after 'if {x}:'"
_TRUE = "an 'Optional' is true if it holds a value: 'if {x}:'"
_POINTER = "a pointer knows no length: pass it as an argument, or pass a 'LayoutTensor'"
_THREAD = "write '{x}.x', '{x}.y' or '{x}.z'"
_LAUNCH = "write 'ctx.enqueue_function_checked[kernel, kernel](…, grid_dim=…, block_dim=…)'"
_WAIT = "write 'ctx.synchronize()'"
_PYTHON_OBJECT = "or use Python's own: 'Python.import_module(\"{module}\")', with 'from python import Python'"

_MEMBERS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "DeviceBuffer": {
        **dict.fromkeys(("copy_to_host", "to_host", "cpu", "get", "numpy", "tolist", "to_device", "cuda"), _TRANSFER),
        **dict.fromkeys(("item", "fill_"), _MAP), "memset": "write '{x}.enqueue_fill(value)'",
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
        **dict.fromkeys(("launch", "run", "enqueue", "call", "execute", "launch_kernel"), _LAUNCH),
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
"""By the family of a type: what to write for a member that it does not have. `{x}` is the receiver."""

_INDEX: Mapping[str, str] = MappingProxyType({
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

_UNCHANGEABLE: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("String", "StringSlice"), "make a new text of parts: 'x[:i] + \"…\" + x[i + 1 :]'"),
    **dict.fromkeys(("List", "Span"), "assign to one item at a time: 'x[i] = …', in a loop"),
})  # fmt: skip

_ITERATION: Mapping[str, str] = MappingProxyType({
    "DeviceBuffer": _MAP, "UnsafePointer": "write 'for i in range(count):', and index it",
    "LayoutTensor": "write 'for i in range(size):', and index it", "Optional": "take its value out with '.value()'",
    "FileHandle": "write 'for line in {x}.read().splitlines():'",
})  # fmt: skip

_MODULES: Mapping[str, str] = MappingProxyType({
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
"""By the first name of a module that is none here: what to use. With "" or a text that ends in `; ` it is Python's."""

_PYTHON_ONLY = frozenset({
    "numpy", "torch", "pandas", "scipy", "matplotlib", "requests", "PIL", "tensorflow", "jax", "json", "re", "csv",
    "asyncio",
})  # fmt: skip

_IMPORTS: Mapping[tuple[str, str], str] = MappingProxyType({
    ("collections", "defaultdict"): "write 'd.setdefault(key, …)' on a 'Dict'",
    ("collections", "OrderedDict"): "'Dict' keeps the order of its keys",
    ("collections", "namedtuple"): "write a struct with '@fieldwise_init'",
    ("collections", "deque"): "the type is called 'Deque'",
    ("math", "pow"): "write 'x ** y'", ("math", "fabs"): "write 'abs'", ("math", "sum"): "write a loop",
    ("math", "prod"): "write a loop", ("math", "fmod"): "write '%'",
    ("random", "random"): "write 'random_float64()'", ("random", "randrange"): "write 'random_si64(low, high)'",
    ("random", "choice"): "index with 'random_ui64(0, len(x) - 1)'",
    ("random", "uniform"): "write 'random_float64(low, high)'",
    ("os", "environ"): "write 'getenv(name)'",
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

_ARGUMENTS: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys(("grid", "blocks", "num_blocks", "grid_size", "griddim", "gridDim"), "grid_dim"),
    **dict.fromkeys(("block", "threads", "num_threads", "block_size", "blockdim", "blockDim"), "block_dim"),
    **dict.fromkeys(("shared", "shared_mem", "smem", "shared_memory"), "shared_mem_bytes"),
})  # fmt: skip


_KERNEL_ARGUMENT_TYPES = frozenset(("UnsafePointer", "LayoutTensor", "DeviceBuffer", "TileTensor", "NDBuffer"))

_QUOTIENT = re.compile(r"[^/]/[^/]")


def _family(type: str) -> str:
    return type.partition("[")[0]


def _receiver(text: str) -> str:
    """Return a receiver's text where it is short enough to be repeated."""
    return text if re.fullmatch(r"[\w.]{1,30}", text) else "x"


def member_hint(type: str, name: str, receiver: str) -> str:
    """Return what to write for a member that a type does not have.

    Args:
        type: as shown in messages.
        name: of the member.
        receiver: the text in front of the dot.
    """
    return _MEMBERS.get(_family(type), {}).get(name, "").replace("{x}", _receiver(receiver))


def index_hint(type: str, receiver: str) -> str:
    """Return what to write for an index of a type that takes none."""
    return _INDEX.get(_family(type), "").replace("{x}", _receiver(receiver))


def unchangeable_hint(type: str) -> str:
    """Return what to write for an item that cannot be assigned to, of a type as shown."""
    return _UNCHANGEABLE.get(_family(type), "")


def iteration_hint(type: str, receiver: str) -> str:
    """Return what to write for a loop over a type that gives no items."""
    return _ITERATION.get(_family(type), "").replace("{x}", _receiver(receiver))


def module_hint(dotted: str, known: Sequence[str]) -> str:
    """Return what to use instead of a module of Python or CUDA; "" if it is none of theirs.

    Args:
        known: the modules that there are.
    """
    head = dotted.partition(".")[0]
    around, _, name = dotted.rpartition(".")
    if around in known:
        return f"it is not a module; a name of '{around}' is imported with 'from {around} import {name}'"
    if head not in _MODULES:
        return ""
    own = _MODULES[head]
    if head not in _PYTHON_ONLY:
        return own
    python = _PYTHON_OBJECT.format(module=dotted)
    return own + python if own else python.removeprefix("or ")


def import_hint(module: str, name: str) -> str:
    """Return what to write for a name that a module does not have."""
    return _IMPORTS.get((module, name), "")


def argument_hint(name: str, names: Sequence[str]) -> str:
    """Return what an unknown argument of a launch is called."""
    own = _ARGUMENTS.get(name, "")
    return f"the name is '{own}'" if own in names else ""


def kernel_argument_hint(have: str, want: str) -> str:
    """Return what a launch should pass where the kernel declares another type; both as shown."""
    given, declared = _family(have), _family(want)
    if given == "List":
        return "copy the items to a buffer: 'ctx.enqueue_create_buffer[DType.…](len(…))', then 'map_to_host()'"
    if given in ("String", "StringLiteral", "Dict", "Set", "Optional"):
        return "a kernel takes numbers, buffers, tensors and structs that are 'DevicePassable'"
    if given == "HostBuffer":
        return "the host's memory is not the device's: 'ctx.enqueue_copy(device_buffer, host_buffer)' first"
    if have.startswith(("fn(", "def(")):
        return "a function is passed as a parameter of the kernel, 'kernel[function]', not as an argument"
    if given == "UnsafePointer" == declared:
        return "pass the buffer itself; a kernel cannot reach the host's memory"
    if given == "DeviceBuffer" and declared == "UnsafePointer":
        item = have.partition("[DType.")[2].rstrip("]")
        return f"the items differ: make the buffer of the pointer's type, or point to items of 'DType.{item}'"
    if given == "DeviceBuffer" and declared == "LayoutTensor":
        return "make a tensor over it: 'LayoutTensor[dtype, layout](buffer)'"
    if given == "LayoutTensor" and declared == "UnsafePointer":
        return "pass the buffer that the tensor lies over"
    if given == "LayoutTensor" == declared and "ImmutAnyOrigin" in have and "MutAnyOrigin" in want:
        return "give the tensor the origin 'MutAnyOrigin'" if ", MutAnyOrigin" in want else ""
    return ""


def direct_call_hint(function: str, have: str) -> str:
    """Return what to write for a kernel that is called as a function with a buffer, or launched as an argument."""
    if function.startswith("enqueue_function"):
        text = "a launch names its kernel twice, in brackets: 'enqueue_function_checked[kernel, kernel](…)'"
        return text if have.startswith(("fn(", "def(")) else ""
    if _family(have) not in ("DeviceBuffer", "HostBuffer"):
        return ""
    return f"a kernel is launched: 'ctx.enqueue_function_checked[{function}, {function}](…, grid_dim=…, block_dim=…)'"


def launch_brackets_hint(function: str, arguments: Sequence[ast.Param]) -> str:
    """Return what to write for `kernel[grid, block](…)`; "" where the arguments are not those of a kernel."""
    heads = [one.type.base if isinstance(one.type, ast.Subscript) else one.type for one in arguments]
    is_kernel = any(isinstance(head, ast.Name) and head.id in _KERNEL_ARGUMENT_TYPES for head in heads)
    return direct_call_hint(function, "DeviceBuffer") if is_kernel else ""


def division_hint(have: str, want: str, text: str) -> str:
    """Return what to write for a quotient where a whole number is wanted; `text`: the expression."""
    is_whole = want.startswith(("Int", "UInt"))
    return "write '//' to divide to a whole number" if have == "Float64" and is_whole and _QUOTIENT.search(text) else ""


def origin_hint(type: str) -> str:
    """Return how what a pointer or a tensor points to can be changed, where its origin says that it cannot."""
    if _family(type) in ("UnsafePointer", "LayoutTensor", "Span") and "Immut" in type:
        return "declare it with the origin 'MutAnyOrigin'"
    return ""


_TRAIT_HINTS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType({
    "Indexer": (
        ("_GlobalIdx", "write 'global_idx.x'"), ("_ThreadIdx", "write 'thread_idx.x'"),
        ("_BlockIdx", "write 'block_idx.x'"), ("String", "an index is a whole number; a 'Dict' has keys"),
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
    ),
})  # fmt: skip
"""By a trait: starts of names of types that have it not, and what to write."""


def trait_hint(type: str, traits: Sequence[str]) -> str:
    """Return what to write where a type does not conform to traits."""
    rows = (row for trait in traits for row in _TRAIT_HINTS.get(trait, ()))
    return next((text for start, text in rows if type.startswith(start)), "")


def function_hint(name: str) -> str:
    """Return what to write where a function is asked for a member."""
    return _LAUNCH if name in ("launch", "run", "forall", "configure", "warmup", "compile") else ""


def call_hint(function: str, given: Sequence[str]) -> str:
    """Return what to write where no overload takes arguments of these types, as shown in quotes."""
    families = [_family(one.strip("'")) for one in given]
    if function == "enqueue_copy" and "List" in families:
        return "pass the list's memory: 'list.unsafe_ptr()'"
    if function == "extend" and families and families[0] in ("Int", "IntLiteral", "FloatLiteral"):
        return "write '.append(…)' for one item"
    if function in ("__getitem__", "__setitem__") and len(given) > 1 + (function == "__setitem__"):
        return "it has one dimension: write one index, or 'x[i][j]' for a list of lists"
    if function == "__getitem__" and families[:1] == ["StringLiteral"]:
        return "an index is a whole number; a 'Dict' has keys"
    return ""
