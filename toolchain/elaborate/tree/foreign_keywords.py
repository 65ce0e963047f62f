"""Words of other languages, and of other versions of this one, that are no names or members here, each with what to
write."""

from collections.abc import Mapping
from types import MappingProxyType

_SIZED = (("int", "Int"), ("i", "Int"), ("uint", "UInt"), ("u", "UInt"))


FOREIGN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "int": "the type is called 'Int'",
        "float": "the types are called 'Float64' and 'Float32'",
        "double": "the type is called 'Float64'",
        "str": "the type is called 'String'; write 'String(x)' to convert",
        "string": "the type is called 'String'",
        "bool": "the type is called 'Bool'",
        "list": "the type is called 'List'",
        "dict": "the type is called 'Dict'",
        "set": "the type is called 'Set'",
        "tuple": "the type is called 'Tuple'",
        "true": "write 'True'",
        "false": "write 'False'",
        "null": "write 'None'",
        "nullptr": "write 'None', or 'UnsafePointer[T]()' for a null pointer",
        "NULL": "write 'None', or 'UnsafePointer[T]()' for a null pointer",
        "nil": "write 'None'",
        "void": "a function without '->' returns nothing; its type is 'None'",
        "unsigned": "the type is called 'UInt'",
        "long": "the type is called 'Int'",
        "char": "the type is called 'UInt8'",
        "size_t": "the type is called 'UInt'",
        "uint": "the type is called 'UInt'",
        "int8_t": "the type is called 'Int8'",
        "int16_t": "the type is called 'Int16'",
        "int32_t": "the type is called 'Int32'",
        "int64_t": "the type is called 'Int64'",
        "uint8_t": "the type is called 'UInt8'",
        "uint16_t": "the type is called 'UInt16'",
        "uint32_t": "the type is called 'UInt32'",
        "uint64_t": "the type is called 'UInt64'",
        "Integer": "the type is called 'Int'",
        "Long": "the type is called 'Int64'",
        "Boolean": "the type is called 'Bool'",
        "Float": "the types are called 'Float64' and 'Float32'",
        "Double": "the type is called 'Float64'",
        "Char": "the type is called 'UInt8'; a text of any length is a 'String'",
        "Array": "the types are called 'List', and 'InlineArray' where the size is known",
        "Vector": "the type is called 'List'; a vector of numbers is a 'SIMD'",
        "Map": "the type is called 'Dict'",
        "HashMap": "the type is called 'Dict'",
        "Any": "there is no type for everything; write a parameter: 'fn f[T: …](x: T)'",
        "object": "there is no type for everything; write a parameter: 'fn f[T: …](x: T)'",
        **{f"{word}{size}": f"the type is called '{name}{size}'" for size in (8, 16, 32, 64) for word, name in _SIZED},
        **{f"{word}{size}": f"the type is called 'Float{size}'" for size in (16, 32, 64) for word in ("f", "float")},
        "half": "the type is called 'Float16'",
        "vector": "the type is called 'List'",
        "std": "names are imported: 'from module import name'",
        "none": "write 'None'",
        "this": "the object that a method belongs to is its argument 'self'",
        "println": "write 'print(...)'",
        **dict.fromkeys(("fprintf", "puts", "console", "fmt"), "write 'print(...)'"),
        "printf": "write 'print(...)'; it takes values, no format",
        "cout": "write 'print(...)'",
        "Exception": "the type of errors is 'Error'",
        "ValueError": "the type of errors is 'Error'",
        "TypeError": "the type of errors is 'Error'",
        "KeyError": "the type of errors is 'Error'",
        "IndexError": "the type of errors is 'Error'",
        "RuntimeError": "the type of errors is 'Error'",
        "AssertionError": "the type of errors is 'Error'",
        "isinstance": "types are known at compile time; overload the function, or use 'Variant'",
        "super": "structs do not inherit; a trait may have methods with bodies",
        "lambda": "declare a nested function with 'fn'",
        "__syncthreads": "write 'barrier()', from the module 'gpu'",
        "threadIdx": "write 'thread_idx', from the module 'gpu'",
        "blockIdx": "write 'block_idx', from the module 'gpu'",
        "blockDim": "write 'block_dim', from the module 'gpu'",
        "gridDim": "write 'grid_dim', from the module 'gpu'",
        **dict.fromkeys(("syncthreads", "__barrier", "sync_threads"), "write 'barrier()', from the module 'gpu'"),
        **dict.fromkeys(
            ("__threadfence", "__threadfence_block", "__threadfence_system", "memory_fence"),
            "write 'threadfence()', from the module 'gpu.intrinsics'",
        ),
        **{
            f"atomic{name}": f"write 'Atomic.{name.lower()}(pointer, value)', with 'Atomic' from the module 'os'"
            for name in ("Max", "Min")
        },
        "atomicSub": "write 'Atomic.fetch_sub(pointer, value)', with 'Atomic' from the module 'os'",
        "atomicCAS": "write 'compare_exchange' on an 'Atomic', from the module 'os'",
        "atomic_add": "write 'Atomic.fetch_add(pointer, value)', with 'Atomic' from the module 'os'",
        **dict.fromkeys(("__ldg", "ldg"), "write 'pointer[index]', or 'load' from the module 'gpu.memory'"),
        **dict.fromkeys(("laneid", "laneId", "lane_index"), "write 'lane_id()', from the module 'gpu'"),
        **dict.fromkeys(("warpid", "warpId"), "write 'warp_id()', from the module 'gpu'"),
        **dict.fromkeys(("__ballot_sync", "__ballot"), "write 'warp.vote(condition)', from the module 'gpu'"),
        **dict.fromkeys(("__all_sync", "__any_sync"), "compare 'warp.vote(condition)', from the module 'gpu'"),
        "__shfl_up_sync": "write 'warp.shuffle_up', from the module 'gpu'",
        "__popc": "write 'pop_count', from the module 'bit'",
        "__clz": "write 'count_leading_zeros', from the module 'bit'",
        "__ffs": "write 'count_trailing_zeros', from the module 'bit'",
        **dict.fromkeys(
            ("shared_memory", "SharedMemory", "smem", "__shared__"),
            "write 'stack_allocation[count, Float32, address_space = AddressSpace.SHARED]()', from the module 'memory'",
        ),
        **dict.fromkeys(("cdiv", "ceil_div", "div_ceil"), "write 'ceildiv', from the module 'math'"),
        "program_id": "write 'block_idx.x', from the module 'gpu'",
        **dict.fromkeys(("constexpr", "Constexpr"), "a constant is a parameter: 'fn kernel[BLOCK: Int](…)'"),
        "prange": "write 'parallelize', from the module 'algorithm'",
        "np": "arrays are in the module 'ndarray', vectors of numbers are 'SIMD'",
        "numpy": "arrays are in the module 'ndarray', vectors of numbers are 'SIMD'",
        **dict.fromkeys(
            ("tl", "triton"), "a kernel here is written for one thread: its index is 'global_idx.x', from 'gpu'"
        ),
        **dict.fromkeys(
            ("cuda", "cp", "torch"),
            "device memory and launches are methods of 'DeviceContext', from 'gpu.host'; ids of threads are in 'gpu'",
        ),
        "sum": "add the items up in a loop; 'sum', from 'algorithm', takes a 'Span' of numbers",
        "sorted": "write 'sort(x)', which sorts in place",
        "map": "write a list: '[f(item) for item in x]'",
        "filter": "write a list: '[item for item in x if …]'",
        **dict.fromkeys(("id", "addressof"), "write 'UnsafePointer(to=x)'"),
        "getattr": "types are known at compile time; name the member",
        "setattr": "name the member: 'x.member = value'",
        "vars": "types are known at compile time",
        "bytes": "write 'List[UInt8]', or 's.as_bytes()'",
        "bytearray": "the type is called 'List[UInt8]'",
        "complex": "the type is 'ComplexFloat64', from 'complex'",
        "frozenset": "the type is called 'Set'",
        "callable": "types are known at compile time",
        "NotImplementedError": "the type of errors is 'Error'",
        "ZeroDivisionError": "the type of errors is 'Error'",
        "StopIteration": "'__has_next__' says when a loop ends",
        "OSError": "the type of errors is 'Error'",
        "cerr": "write 'print(…, file=stderr)', with 'stderr' from the module 'sys'",
        "endl": "'print' ends the line",
        "free": "memory of 'alloc' is freed by 'pointer.free()'",
        "memset": "write 'memset_zero', from the module 'memory'",
        "assert_": "call 'debug_assert'",
        "static_assert": "write 'constrained[condition, \"text\"]()'",
        "decltype": "write 'type_of(x)'",
        "dynamic_cast": "types are known at compile time; use 'Variant'",
        "reinterpret_cast": "write 'bitcast', a method of pointers",
        "unique_ptr": "the type is 'OwnedPointer', from 'memory'",
        "shared_ptr": "the type is 'ArcPointer', from 'memory'",
        "pair": "write a tuple: '(a, b)'",
        "make_tuple": "write a tuple: '(a, b)'",
        "float4": "write 'SIMD[DType.float32, 4]'",
        "float2": "write 'SIMD[DType.float32, 2]'",
        "int4": "write 'SIMD[DType.int32, 4]'",
        "make_float4": "write 'SIMD[DType.float32, 4](a, b, c, d)'",
        "__syncwarp": "write 'syncwarp()', from the module 'gpu'",
        "__activemask": "write 'warp.vote[DType.uint32](True)', with 'warp' from the module 'gpu'",
        "__trap": "write 'abort()', from the module 'os'",
        **dict.fromkeys(("fmaf", "__fmaf_rn"), "write 'fma', from the module 'math'"),
        **dict.fromkeys(("__expf", "expf"), "write 'exp', from the module 'math'"),
        **dict.fromkeys(("__logf", "logf"), "write 'log', from the module 'math'"),
        **dict.fromkeys(("__sinf", "sinf"), "write 'sin', from the module 'math'"),
        **dict.fromkeys(("__cosf", "cosf"), "write 'cos', from the module 'math'"),
        **dict.fromkeys(("rsqrtf", "__frsqrt_rn"), "write 'rsqrt', from the module 'math'"),
        "tanhf": "write 'tanh', from the module 'math'",
        "floorf": "write 'floor', from the module 'math'",
        "ceilf": "write 'ceil', from the module 'math'",
        "__powf": "write 'x ** y'",
        **dict.fromkeys(("INFINITY", "CUDART_INF_F"), "write 'inf[DType.float32]()', from the module 'utils.numerics'"),
        "FLT_MAX": "write 'Float32.MAX_FINITE'",
        "NAN": "write 'nan[DType.float32]()', from the module 'utils.numerics'",
        **dict.fromkeys(("__half2float", "__bfloat162float"), "write 'x.cast[DType.float32]()'"),
        "__float2half": "write 'x.cast[DType.float16]()'",
        **dict.fromkeys(
            ("cooperative_groups", "this_thread_block"),
            "write 'barrier()' for a block, 'syncwarp()' for a warp, from the module 'gpu'",
        ),
        **dict.fromkeys(
            ("memcpy_async", "__pipeline_memcpy_async"), "write 'async_copy', from the module 'gpu.memory'"
        ),
        **dict.fromkeys(
            ("SharedArray", "shared_array"),
            "write 'stack_allocation[count, Float32, address_space = AddressSpace.SHARED]()', from the module 'memory'",
        ),
        "get_global_id": "write 'global_idx.x', with 'global_idx' from the module 'gpu'",
        **dict.fromkeys(
            ("get_local_id", "hipThreadIdx_x"), "write 'thread_idx.x', with 'thread_idx' from the module 'gpu'"
        ),
        **dict.fromkeys(
            ("get_group_id", "hipBlockIdx_x"), "write 'block_idx.x', with 'block_idx' from the module 'gpu'"
        ),
        **dict.fromkeys(
            ("get_local_size", "hipBlockDim_x"), "write 'block_dim.x', with 'block_dim' from the module 'gpu'"
        ),
        **dict.fromkeys(
            ("get_num_groups", "hipGridDim_x"), "write 'grid_dim.x', with 'grid_dim' from the module 'gpu'"
        ),
        "hipMalloc": "write 'ctx.enqueue_create_buffer[dtype](size)'",
        "hipMemcpy": "write 'ctx.enqueue_copy(to, of)'",
        "hipFree": "a buffer is freed after its last use; leave it out",
        "hipDeviceSynchronize": "write 'ctx.synchronize()'",
        "cudaMallocManaged": "write 'ctx.enqueue_create_buffer[dtype](size)'; 'map_to_host' gives the host access",
        "cudaMallocHost": "write 'ctx.enqueue_create_host_buffer[dtype](size)'",
        **dict.fromkeys(
            ("cudaEventCreate", "cudaEventElapsedTime"), "write 'ctx.execution_time[function](count)' to measure"
        ),
        "clock": "write 'perf_counter_ns()', from 'time'",
        "numba": "kernels are plain 'fn's that 'DeviceContext', from 'gpu.host', launches; ids of threads are in 'gpu'",
        "__shfl_down_sync": "write 'warp.shuffle_down', from the module 'gpu'",
        "__shfl_xor_sync": "write 'warp.shuffle_xor', from the module 'gpu'",
        "__shfl_sync": "write 'warp.shuffle_idx', from the module 'gpu'",
        "warpSize": "write 'WARP_SIZE', from the module 'gpu'",
        "atomicAdd": "write 'Atomic.fetch_add(pointer, value)', with 'Atomic' from the module 'os'",
        "dim3": "write a tuple: 'grid_dim=(x, y)'",
        "cudaMalloc": "write 'ctx.enqueue_create_buffer[dtype](size)'",
        "cudaMemcpy": "write 'ctx.enqueue_copy(to, of)'",
        **dict.fromkeys(
            ("cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice"),
            "'ctx.enqueue_copy' finds the direction itself; leave it out",
        ),
        "cudaFree": "a buffer is freed after its last use; leave it out",
        "cudaMemset": "write 'buffer.enqueue_fill(value)'",
        **dict.fromkeys(
            ("cudaMemcpyAsync", "cudaMemcpy2D", "memcpy_htod", "memcpy_dtoh"), "write 'ctx.enqueue_copy(to, of)'"
        ),
        **dict.fromkeys(
            ("cudaGetLastError", "cudaPeekAtLastError"), "a launch that fails raises an error; leave it out"
        ),
        "cudaSetDevice": "write 'DeviceContext(device_id=…)'",
        "cudaStreamSynchronize": "write 'stream.synchronize()'",
        "cudaStreamCreate": "write 'ctx.create_stream()'",
        "cudaGetDeviceCount": "write 'DeviceContext.number_of_devices()'",
        "cudaEventRecord": "write 'ctx.execution_time[function](count)' to measure",
        "clock64": "write 'perf_counter_ns()', from 'time'",
        "cudaDeviceSynchronize": "write 'ctx.synchronize()'",
        "sqrtf": "write 'sqrt', from the module 'math'",
        "fabs": "write 'abs'",
        "fabsf": "write 'abs'",
        "fmaxf": "write 'max'",
        "fminf": "write 'min'",
        "powf": "write 'x ** y'",
        "hasattr": "types are known at compile time; let a trait ask for it",
        "type": "write 'type_of(x)' for the type of a value",
        "static_cast": "write the type's name: 'T(x)'",
        "malloc": "write 'alloc[T](count)'",
        "new": "write the type's name and its arguments: 'T(...)'",
        "sizeof": "write 'size_of[T]()', from the module 'sys'",
    }
)


_COUNT = (("__len__", "write 'len(...)'"), ("size", "did you mean 'size'?"))


_APPEND = (
    ("append", "did you mean 'append'?"), ("add", "did you mean 'add'?"), ("splitlines", "write 'x += …'"),
)  # fmt: skip


_HOLDS = (("__contains__", "write '... in ...'"),)


_TEXT = (("__str__", "write 'String(...)'"), ("write_to", "write 'String(...)'"))


_ITEM = (("__getitem__", "write 'x[...]'"),)


FOREIGN_MEMBERS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        **dict.fromkeys(("len", "length", "size", "count", "Length", "Count"), _COUNT),
        **dict.fromkeys(("push", "push_back", "add", "append", "Add", "emplace_back", "insert"), _APPEND),
        **dict.fromkeys(("contains", "has", "includes", "has_key", "containsKey"), _HOLDS),
        **dict.fromkeys(("toString", "to_string", "str", "ToString"), _TEXT),
        **dict.fromkeys(("at", "charAt", "get", "item"), _ITEM),
        **dict.fromkeys(("put", "set"), (("__setitem__", "write 'x[key] = value'"),)),
        **dict.fromkeys(("substr", "substring", "slice"), (("__getitem__", "write 'x[start:end]'"),)),
        **dict.fromkeys(("empty", "isEmpty", "is_empty"), (("__len__", "write 'len(...) == 0'"),)),
        **dict.fromkeys(("clone", "deepcopy"), (("copy", "write '.copy()'"), ("__copyinit__", "write '.copy()'"))),
        "sort": (("__getitem__", "write 'sort(...)'"),),
        "reverse": (("__reversed__", "write 'reversed(...)'"),),
        **dict.fromkeys(("remove", "erase", "delete", "del"), (("pop", "did you mean 'pop'?"),)),
        **dict.fromkeys(("push_front", "prepend", "unshift"), (("insert", "write 'insert(0, …)'"),)),
        **dict.fromkeys(("first", "front", "head"), (("__getitem__", "write 'x[0]'"),)),
        **dict.fromkeys(("last", "back", "tail"), (("__getitem__", "write 'x[-1]'"),)),
        **dict.fromkeys(("map", "filter"), (("__iter__", "write a list: '[… for item in x if …]'"),)),
        **dict.fromkeys(("readlines", "readline"), (("read", "write 'read().splitlines()'"),)),
        **dict.fromkeys(("message", "what", "args"), (("as_string_slice", "write 'String(...)'"),)),
        "trim": (("strip", "did you mean 'strip'?"),),
        "indexOf": (("find", "did you mean 'find'?"), ("index", "did you mean 'index'?")),
        "toUpperCase": (("upper", "did you mean 'upper'?"),),
        "toLowerCase": (("lower", "did you mean 'lower'?"),),
    }
)
"""Help for a member of other languages, if the type has the member named first."""
