"""Words of other languages, and of other versions of this one, that are no names here, each with what to write."""

from collections.abc import Mapping
from types import MappingProxyType

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
        "nil": "write 'None'",
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
        "malloc": "write 'alloc[T](count)'",
        "new": "write the type's name and its arguments: 'T(...)'",
        "sizeof": "write 'size_of[T]()', from the module 'sys'",
    }
)
