"""Which OpenCL devices this machine has, for `ktc doctor`.

Input: nothing. Output: names, and whether a device's driver takes SPIR-V. Costs nothing where no OpenCL is installed.
"""

import ctypes
from contextlib import suppress

from ktc.base.records import record

_LIBRARIES = ("libOpenCL.so.1", "libOpenCL.so")
_ALL = 0xFFFFFFFF
_NAME, _EXTENSIONS, _IL_VERSION = 0x102B, 0x1030, 0x105B
"""CL_DEVICE_TYPE_ALL, CL_DEVICE_NAME, CL_DEVICE_EXTENSIONS and CL_DEVICE_IL_VERSION (cl.h)."""
_MAX = 64


@record
class OpenClDevice:
    """One device: its name, and the versions of SPIR-V that its driver takes, if any."""

    name: str
    spirv: str


def opencl_devices() -> tuple[OpenClDevice, ...]:
    """Ask the drivers of all platforms."""
    library = None
    for name in _LIBRARIES:
        with suppress(OSError):
            library = library or ctypes.CDLL(name)
    if library is None:
        return ()
    return tuple(
        [_described(library, device) for platform in _platforms(library) for device in _devices(library, platform)]
    )


def _platforms(library: ctypes.CDLL) -> list[ctypes.c_void_p]:
    found, count = (ctypes.c_void_p * _MAX)(), ctypes.c_uint(0)
    if library.clGetPlatformIDs(_MAX, found, ctypes.byref(count)) != 0:
        return []
    return [ctypes.c_void_p(one) for one in found[: count.value]]


def _devices(library: ctypes.CDLL, platform: ctypes.c_void_p) -> list[ctypes.c_void_p]:
    found, count = (ctypes.c_void_p * _MAX)(), ctypes.c_uint(0)
    if library.clGetDeviceIDs(platform, ctypes.c_uint64(_ALL), _MAX, found, ctypes.byref(count)) != 0:
        return []
    return [ctypes.c_void_p(one) for one in found[: count.value]]


def _described(library: ctypes.CDLL, device: ctypes.c_void_p) -> OpenClDevice:
    versions = _text(library, device, _IL_VERSION)
    if not versions and "cl_khr_il_program" in _text(library, device, _EXTENSIONS):
        versions = "SPIR-V"
    return OpenClDevice(_text(library, device, _NAME), versions)


def _text(library: ctypes.CDLL, device: ctypes.c_void_p, what: int) -> str:
    size = ctypes.c_size_t(0)
    if library.clGetDeviceInfo(device, what, ctypes.c_size_t(0), None, ctypes.byref(size)) != 0 or not size.value:
        return ""
    text = ctypes.create_string_buffer(size.value)
    if library.clGetDeviceInfo(device, what, size, text, None) != 0:
        return ""
    return text.value.decode("utf-8", "replace").strip()
