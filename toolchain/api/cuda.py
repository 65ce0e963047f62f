"""Launches on an NVIDIA GPU through its driver, in the current context and stream.

Input: PTX, and arrays of torch, cupy, with `__cuda_array_interface__` or DLPack. Output: launches. The driver is loaded
when an array on a GPU comes first; nothing here needs a toolkit.

Source: CUDA Driver API 12, docs.nvidia.com/cuda/cuda-driver-api; the CUDA Array Interface, version 3.
"""

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from ktc.api.arrays import dlpack
from ktc.api.repeated_launch import Parts, Repeat, repeated_launch
from ktc.base.records import record
from ktc.ir.exports import CType, ExportedArgument
from ktc.targets.detection import drivers

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
_MAX_DYNAMIC_SHARED = 8
_STREAM_OFFSET = 32
_OTHER_CONTEXT = (201, 400)
"""CUDA_ERROR_INVALID_CONTEXT and _INVALID_HANDLE: the thread's current context is of another device, or of none."""
_FORMATS = {"int": {8: "b", 16: "h", 32: "i", 64: "q"}, "uint": {8: "B", 16: "H", 32: "I", 64: "Q"}}
_FLOATS = {16: "e", 32: "f", 64: "d"}


_BUFFERS = (bytearray, memoryview)


class _Tensor(Protocol):
    """The members of torch's tensors that are used here."""

    is_cuda: bool
    dtype: object

    def data_ptr(self) -> int: ...
    def get_device(self) -> int: ...
    def is_contiguous(self) -> bool: ...


class _CudaArray(Protocol):
    """The members of arrays with the CUDA Array Interface that are used here."""

    @property
    def __cuda_array_interface__(self) -> dict[str, object]: ...


@record
class _Kind:
    """How the pointer and the shape of arrays of one type are found.

    Args:
        is_torch: it is a tensor of torch. is_foreign: it may have the CUDA Array Interface. is_host: it is an array of
            the host. has_dlpack: only DLPack gives them.
    """

    is_torch: bool
    is_foreign: bool
    is_host: bool
    has_dlpack: bool


class _Known:
    """Facts about types of arguments, and about the driver, once for the process."""

    def __init__(self) -> None:
        self.kinds: dict[type, _Kind] = {}
        self.tensors: set[type] = set()
        self.dtypes: dict[object, tuple[str, int]] = {}
        self.library: ctypes.CDLL | None = None
        self.targets: dict[int, str] = {}
        self.contexts: dict[int, ctypes.c_void_p] = {}
        self.stream: Callable[[int], int] | None = None


known = _Known()


def _kind_of(value: object) -> _Kind:
    """Return how to read arrays of this type; the answer is kept for each type."""
    kind = type(value)
    found = known.kinds.get(kind)
    if found is None:
        is_torch = any(one.__module__.startswith("torch") and one.__name__ == "Tensor" for one in kind.__mro__)
        is_foreign = hasattr(value, "__cuda_array_interface__")
        is_host = hasattr(value, "__array_interface__") or hasattr(value, "__buffer__") or kind in _BUFFERS
        has_dlpack = hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")
        found = known.kinds[kind] = _Kind(is_torch, is_foreign, is_host, has_dlpack)
        if is_torch:
            known.tensors.add(kind)
    return found


def device_of(args: Sequence[object]) -> int:
    """Return the number of the GPU where the first array is, -1 for the host.

    Raises:
        ValueError: arrays are on several devices.
    """
    found, where = -1, ""
    for one in args:
        kind = known.kinds.get(type(one)) or _kind_of(one)
        if kind.is_torch:
            tensor = cast(_Tensor, one)
            device = tensor.get_device() if tensor.is_cuda else -1
        elif kind.is_foreign:
            own = getattr(getattr(one, "device", None), "id", 0)
            device = own if isinstance(own, int) else 0
        elif kind.is_host:
            device = -1
        elif kind.has_dlpack:
            device = dlpack.device_of(cast(dlpack.Exporter, one))
        else:
            continue
        if where and device != found:
            raise ValueError("the arrays of a launch are on different devices: move them to one first")
        found, where = device, "array"
    return found


def driver() -> ctypes.CDLL:
    """Return NVIDIA's driver, ready for use.

    Raises:
        RuntimeError: there is none, or it does not start.
    """
    if known.library is None:
        try:
            library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        except OSError as error:
            raise RuntimeError("an array is on a GPU, and NVIDIA's driver is not here (libcuda.so.1)") from error
        _check(library, library.cuInit(0), "starting the driver")
        known.library = library
    return known.library


def _check(library: ctypes.CDLL, code: int, what: str) -> None:
    if code:
        text = ctypes.c_char_p()
        library.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{what} failed: {(text.value or b'unknown error').decode()}")


def target_of(device: int) -> str:
    """Return the target of a GPU ("sm_90a")."""
    found = known.targets.get(device)
    if found is None:
        library, number = driver(), ctypes.c_int()
        numbers = []
        for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
            _check(library, library.cuDeviceGetAttribute(ctypes.byref(number), attribute, device), "asking the device")
            numbers.append(number.value)
        found = known.targets[device] = drivers.target_of(*numbers)
    return found


def stream_of(device: int) -> int:
    """Return the current stream: torch's if torch is loaded, or cupy's, or the default one."""
    if known.stream is None:
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if torch is not None:
            raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
            known.stream = raw or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))
        elif cupy is not None:
            known.stream = lambda _: int(cupy.cuda.get_current_stream().ptr)
        else:
            return 0
    return known.stream(device)


class _InContext:
    """The primary context of a device, current inside a `with`; torch and cupy use the same one."""

    def __init__(self, device: int) -> None:
        self._device = device

    def __enter__(self) -> None:
        library, context = driver(), known.contexts.get(self._device)
        if context is None:
            context = ctypes.c_void_p()
            _check(library, library.cuDevicePrimaryCtxRetain(ctypes.byref(context), self._device), "opening the device")
            known.contexts[self._device] = context
        _check(library, library.cuCtxPushCurrent_v2(context), "opening the device")

    def __exit__(self, *_: object) -> None:
        popped = ctypes.c_void_p()
        driver().cuCtxPopCurrent_v2(ctypes.byref(popped))


class GpuKernel:
    """One kernel's PTX, and its arguments; loaded once in each device's context."""

    def __init__(self, name: str, code: bytes, arguments: Sequence[ExportedArgument]) -> None:
        self.name, self.arguments = name, arguments
        self._code = code
        found = re.search(rb"\.visible \.entry ([\w$.]+)", code)
        if found is None:
            raise RuntimeError(f"kernel '{name}' has no code for a GPU")
        self._entry = found[1]
        self._functions: dict[int, ctypes.c_void_p] = {}

    def function(self, device: int, shared_bytes: int) -> ctypes.c_void_p:
        """Return the driver's handle; it stays loaded."""
        found = self._functions.get(device)
        library = driver()
        if found is None:
            module, found = ctypes.c_void_p(), ctypes.c_void_p()
            with _InContext(device):
                code = library.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(self._code))
                _check(library, code, f"loading kernel '{self.name}'")
                code = library.cuModuleGetFunction(ctypes.byref(found), module, ctypes.c_char_p(self._entry))
                _check(library, code, f"loading kernel '{self.name}'")
            self._functions[device] = found
        if shared_bytes:  # 48 KiB need no permission, but only together with the kernel's own declarations
            with _InContext(device):
                code = library.cuFuncSetAttribute(found, _MAX_DYNAMIC_SHARED, shared_bytes)
            _check(library, code, f"giving kernel '{self.name}' {shared_bytes} bytes of shared memory")
        return found

    def launch(self, sizes: tuple[int, ...], device: int) -> "Launch":
        """Return a launch of one shape on one device."""
        return Launch(self, sizes, device)


class _Call:
    """The memory that the driver reads for one launch: its configuration and its packed arguments.

    A launch takes one from the free ones and puts it back, so that two threads never share one.

    Source: `CUlaunchConfig` in the driver's API: seven `unsigned int`, the stream at byte 32, no attributes.
    """

    def __init__(self, sizes: Sequence[int], size: int) -> None:
        self.config = ctypes.create_string_buffer(struct.pack("@7I4xPPI4x", *sizes, 0, 0, 0))
        self.stream = 0
        self.data = ctypes.create_string_buffer(max(size, 1))
        self._size = ctypes.c_size_t(size)
        begin, bytes_of, end = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER, …_BUFFER_SIZE, …_END
        self.extra = (ctypes.c_void_p * 5)(
            begin, ctypes.addressof(self.data), bytes_of, ctypes.addressof(self._size), end
        )

    def set_stream(self, stream: int) -> None:
        struct.pack_into("@P", self.config, _STREAM_OFFSET, stream)
        self.stream = stream


class Launch:
    """One kernel, its shape, and a device."""

    def __init__(self, kernel: GpuKernel, sizes: tuple[int, ...], device: int) -> None:
        self._kernel, self._sizes, self._device = kernel, sizes, device
        self._types = [one.type for one in kernel.arguments]
        self._pointers = [at for at, kind in enumerate(self._types) if kind.kind == "pointer"]
        self._dtypes: list[object] = [None] * len(self._types)
        self._learned = [False] * len(self._types)
        self._repeated: Repeat | None = None
        self._packer = struct.Struct("@" + "".join([_letter(kernel.name, one) for one in kernel.arguments]))
        self._free: list[_Call] = []
        self._function = kernel.function(device, sizes[6])
        self._start = driver().cuLaunchKernelEx

    def repeated(self) -> Repeat | None:
        """Return a function that launches again with tensors of torch, None before a call that had them alone."""
        if self._repeated is None and self._pointers and all(self._learned[at] for at in self._pointers):
            names = {
                "tensors": known.tensors, "take": self._free.pop, "give_back": self._free.append, "start": self._start,
                "new_call": self._new_call, "stream_of": known.stream or stream_of, "device": self._device,
                "pack": self._packer.pack_into, "function": self._function, "retry": self._retry,
            }  # fmt: skip
            self._repeated = repeated_launch(Parts(len(self._types), self._pointers, self._dtypes, names))
        return self._repeated

    def __call__(self, args: Sequence[object]) -> None:
        """Launch with these arguments, in the current stream.

        Raises:
            TypeError, ValueError: an argument does not fit.
            RuntimeError: the driver refuses the launch.
        """
        if len(args) != len(self._types):
            raise TypeError(f"{self._kernel.name}() takes {len(self._types)} arguments, not {len(args)}")
        values = list(args)
        for at in self._pointers:
            values[at] = self._address(at, args[at])
        self._send(values)

    def _send(self, values: list[object]) -> None:
        """Launch with addresses and numbers."""
        try:
            call = self._free.pop()
        except IndexError:
            call = self._new_call()
        stream = (known.stream or stream_of)(self._device)
        if stream != call.stream:
            call.set_stream(stream)
        try:
            self._packer.pack_into(call.data, 0, *values)
        except struct.error as error:
            raise TypeError(f"{self._kernel.name}(): {self._misfit(values)}") from error
        code = self._start(call.config, self._function, None, call.extra)
        if code:
            self._retry(call, code)
        self._free.append(call)

    def _new_call(self) -> _Call:
        return _Call(self._sizes, self._packer.size)

    def _retry(self, call: _Call, code: int) -> None:
        """Launch once more in the device's own context if another one was current."""
        if code in _OTHER_CONTEXT:
            with _InContext(self._device):
                code = self._start(call.config, self._function, None, call.extra)
        if code:
            _check(driver(), code, f"launching kernel '{self._kernel.name}'")

    def _misfit(self, values: Sequence[object]) -> str:
        """Say which number does not fit."""
        for argument, value in zip(self._kernel.arguments, values, strict=True):
            try:
                struct.pack(_letter(self._kernel.name, argument), value)
            except struct.error:
                kind = f"{argument.type.kind}{argument.type.bits}" if argument.type.bits else argument.type.kind
                return f"argument '{argument.name}' must be {kind}, not {value!r}"
        return "the arguments do not fit"

    def _address(self, at: int, value: object) -> int:
        """Return where an array lies; check what the kernel's declaration says of it."""
        kind = known.kinds.get(type(value)) or _kind_of(value)
        if kind.is_torch:
            tensor = cast(_Tensor, value)
            if not tensor.is_contiguous():
                raise ValueError(f"{self._named(at)} must be contiguous; a copy is: tensor.contiguous()")
            self._check_elements(at, known.dtypes.get(tensor.dtype) or _dtype(tensor.dtype))
            self._dtypes[at] = tensor.dtype if self._is_typed(at) else None
            self._learned[at] = True
            return tensor.data_ptr()
        if value is None:
            return 0
        if not kind.is_foreign and kind.has_dlpack:
            found = dlpack.contents(cast(dlpack.Exporter, value), (known.stream or stream_of)(self._device))
            if not found.is_contiguous:
                raise ValueError(f"{self._named(at)} must be contiguous in C order")
            self._check_elements(at, found.elements)
            return found.address
        if not kind.is_foreign:
            raise TypeError(f"{self._named(at)} must be an array on the GPU, not {type(value).__name__}")
        facts = cast(_CudaArray, value).__cuda_array_interface__
        if facts.get("strides") is not None:
            raise ValueError(f"{self._named(at)} must be contiguous in C order")
        typestr = str(facts["typestr"])
        letters = {"i": "int", "u": "uint", "f": "float", "b": "bool"}
        self._check_elements(at, (letters.get(typestr[1], "other"), 8 * int(typestr[2:])))
        return int(cast(tuple[int, bool], facts["data"])[0])

    def _check_elements(self, at: int, have: tuple[str, int]) -> None:
        want = self._types[at].of
        if want is not None and self._is_typed(at) and (want.kind, want.bits) != have:
            shown = f"{have[0]}{have[1]}"
            raise TypeError(f"{self._named(at)} must be an array of {want.kind}{want.bits}, not of {shown}")

    def _is_typed(self, at: int) -> bool:
        """Return whether an array's elements are declared as numbers."""
        want = self._types[at].of
        return want is not None and want.kind in ("bool", "int", "uint", "float")

    def _named(self, at: int) -> str:
        return f"{self._kernel.name}(): argument '{self._kernel.arguments[at].name}'"


def _dtype(dtype: object) -> tuple[str, int]:
    """Return kind and bits of a dtype of torch."""
    found = re.fullmatch(r"(?:torch\.)?(bool|[a-z]+)(\d*)", str(dtype))
    kind = ("bool", 8) if found is None or found[1] == "bool" else (found[1], int(found[2] or 0))
    known.dtypes[dtype] = kind
    return kind


def _letter(name: str, argument: ExportedArgument) -> str:
    """Return how `struct` packs an argument."""
    kind: CType = argument.type
    if kind.kind == "pointer":
        return "P"
    letter = _FLOATS.get(kind.bits) if kind.kind == "float" else _FORMATS.get(kind.kind, {}).get(kind.bits)
    if kind.kind == "bool":
        return "?"
    if letter is None:
        raise TypeError(f"{name}(): argument '{argument.name}' cannot be passed from Python")
    return letter


__all__ = ("GpuKernel", "Launch", "device_of", "stream_of", "target_of")
