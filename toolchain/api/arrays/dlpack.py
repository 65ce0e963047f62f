"""Arrays on a GPU that only speak DLPack: where they lie, and their elements.

Source: DLPack 0.8, `dlpack.h`; the protocol's `__dlpack__` and `__dlpack_device__`, data-apis.org/array-api.
"""

import ctypes
from typing import Protocol

from ktc.base.records import record

_CPU, _CUDA, _CUDA_MANAGED = 1, 2, 13
_LEGACY_STREAM = 1
_KINDS = {0: "int", 1: "uint", 2: "float", 6: "bool"}


class Exporter(Protocol):
    """The members of arrays with DLPack that are used here."""

    def __dlpack__(self, *, stream: int | None = None) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class _Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device", ctypes.c_int32),
        ("number", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


@record
class Contents:
    """An array on a GPU: address, element type, shape, contiguity.

    Args:
        address: of its first element. elements: their kind and bits. is_contiguous: in C order.
    """

    address: int
    elements: tuple[str, int]
    is_contiguous: bool


def device_of(array: Exporter) -> int:
    """Return the number of the GPU where an array is, -1 for the host.

    Raises:
        ValueError: it is on a device of another kind.
    """
    kind, number = array.__dlpack_device__()
    if kind not in (_CPU, _CUDA, _CUDA_MANAGED):
        raise ValueError(f"an array of type {type(array).__name__} is neither on the host nor on an NVIDIA GPU")
    return -1 if kind == _CPU else int(number)


def contents(array: Exporter, stream: int) -> Contents:
    """Return the address, type and shape of an array on a GPU; its data is ready for launches in the stream."""
    capsule = array.__dlpack__(stream=stream or _LEGACY_STREAM)
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer_of(capsule, b"dltensor"))
    is_contiguous, expected = True, 1
    for at in reversed(range(tensor.dimensions if tensor.strides else 0)):
        is_contiguous &= tensor.shape[at] <= 1 or tensor.strides[at] == expected
        expected *= tensor.shape[at]
    elements = (_KINDS.get(tensor.code, "other"), tensor.bits)
    return Contents(tensor.data + tensor.offset, elements, is_contiguous)


__all__ = ("Contents", "Exporter", "contents", "device_of")
