"""Arrays of numpy, torch, cupy and JAX as tensors need them: address, element type, extents, strides, device.

Input: an argument of a call. Output: its `Array`. Nothing is copied.
"""

import ctypes
import sys
from typing import NamedTuple, Protocol, TypedDict, cast

from ktc.api.arrays.dlpack import Exporter, device_of


class Interface(TypedDict):
    """The entries of `__array_interface__` that are used here."""

    shape: tuple[int, ...]
    typestr: str
    data: tuple[int, bool]
    strides: tuple[int, ...] | None


class JaxArray(Exporter, Protocol):
    """The members of arrays of JAX that are used here."""

    shape: tuple[int, ...]

    def block_until_ready(self) -> object: ...
    def unsafe_buffer_pointer(self) -> int: ...


class Array(NamedTuple):
    """An array where it lies.

    Attributes:
        dtype: the name of the element type, "float32".
        sizes, strides: extents and strides, in elements.
        device: the number of a GPU; -1 for the CPU.
        is_read_only: whether its owner forbids writing.
    """

    address: int
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    device: int
    is_read_only: bool = False


def array_of(value: object) -> Array | None:
    """Return where an array lies and its type and shape; None for another object.

    Raises:
        ValueError: it is on a device of another kind, or its strides are no multiples of its elements.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return Array(
            value.data_ptr(), str(value.dtype).removeprefix("torch."), tuple(value.shape), value.stride(),
            value.get_device(),
        )  # fmt: skip
    found = getattr(value, "__cuda_array_interface__", None)
    if found is not None:
        return _of_interface(value, found, max(0, _device(value)))
    if type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return _of_jax(value)
    found = getattr(value, "__array_interface__", None)
    return _of_interface(value, found, -1) if found is not None else None


def _device(value: object) -> int:
    return device_of(cast(Exporter, value)) if hasattr(value, "__dlpack_device__") else 0


def _of_interface(value: object, found: Interface, device: int) -> Array:
    """Read `__array_interface__`, numpy.org/doc/stable/reference/arrays.interface.html, or CUDA's form of it."""
    sizes, width, dtype = tuple(found["shape"]), int(found["typestr"][2:]), _dtype(value)
    steps, (address, is_read_only) = found.get("strides"), found["data"]
    if steps is None:
        return Array(address, dtype, sizes, _contiguous(sizes), device, is_read_only)
    if any(step % width for step in steps):
        raise ValueError("an array has strides that are no multiples of its elements")
    return Array(address, dtype, sizes, tuple([step // width for step in steps]), device, is_read_only)


def _of_jax(value: object) -> Array:
    """Read an array of JAX; it is immutable, and contiguous."""
    array = cast(JaxArray, value)
    array.block_until_ready()
    sizes = tuple(array.shape)
    return Array(array.unsafe_buffer_pointer(), _dtype(value), sizes, _contiguous(sizes), device_of(array), True)


def _dtype(value: object) -> str:
    return str(getattr(getattr(value, "dtype", None), "name", "unknown"))


def _contiguous(sizes: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = list[int](), 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class Records:
    """Element type, rank, extents and strides of arrays, in memory; kept for shapes that come again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...], tuple[int, ...]], tuple[int, object]] = {}

    def address(self, array: Array) -> int:
        """Return the address of a record: the dtype's name and its length, the rank, extents, strides."""
        key = (array.dtype, array.sizes, array.strides)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= 4096:
                self._known.clear()
            text = ctypes.create_string_buffer(array.dtype.encode())
            words = (ctypes.addressof(text), len(array.dtype), len(array.sizes), *array.sizes, *array.strides)
            record = (ctypes.c_int64 * len(words))(*words)
            found = self._known[key] = ctypes.addressof(record), (record, text)
        return found[0]


__all__ = ("Array", "Records", "array_of")
