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
        "printf": "write 'print(...)'",
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
        "__syncwarp": "write 'syncwarp()', from the module 'gpu'",
        "__shfl_down_sync": "write 'warp.shuffle_down', from the module 'gpu'",
        "__shfl_xor_sync": "write 'warp.shuffle_xor', from the module 'gpu'",
        "__shfl_sync": "write 'warp.shuffle_idx', from the module 'gpu'",
        "warpSize": "write 'WARP_SIZE', from the module 'gpu'",
        "atomicAdd": "write 'Atomic.fetch_add(pointer, value)', with 'Atomic' from the module 'os'",
        "dim3": "write a tuple: 'grid_dim=(x, y)'",
        "cudaMalloc": "write 'ctx.enqueue_create_buffer[dtype](size)'",
        "cudaMemcpy": "write 'ctx.enqueue_copy(to, of)'",
        "cudaDeviceSynchronize": "write 'ctx.synchronize()'",
        "sqrtf": "write 'sqrt', from the module 'math'",
        "expf": "write 'exp', from the module 'math'",
        "logf": "write 'log', from the module 'math'",
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
"""For a member of other languages: what to write if the type has the member named first."""
