"""Which GPUs this machine has.

Input: nothing. Output: names of targets, and for people what was found. Costs nothing where no driver is installed:
NVIDIA's library is opened first, and only then is the driver asked, through cuda-python if it is installed, else
directly.
"""

import ctypes
import platform
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ktc.base.records import record
from ktc.targets import nvptx

_CUDA_LIBRARY = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76
"""CUdevice_attribute: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR (cuda.h)."""
_KFD = Path("/sys/class/kfd/kfd/topology/nodes")
_HIP_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")


@record
class Gpu:
    """One GPU: the name of its target, and its driver's name for it."""

    target: str
    title: str


def cuda_driver() -> ctypes.CDLL | None:
    """Return NVIDIA's driver library, or None if there is none."""
    return _library(_CUDA_LIBRARY)


def cuda_driver_version() -> int:
    """Return the version of CUDA that the driver can do (13000 is 13.0), 0 without a driver; starts nothing."""
    library = cuda_driver()
    number = ctypes.c_int(0)
    if library is None or library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return 0
    return number.value


def has_hip() -> bool:
    """Return whether AMD's HIP runtime is installed."""
    return any(_library(name) is not None for name in _HIP_LIBRARIES)


def gpus() -> tuple[Gpu, ...]:
    """Return this machine's GPUs, NVIDIA's first."""
    return (*nvidia_gpus(), *amd_gpus(), *apple_gpus())


def nvidia_gpus() -> tuple[Gpu, ...]:
    """Ask NVIDIA's driver; starting it takes a tenth of a second and more."""
    library = cuda_driver()
    if library is None:
        return ()
    capabilities = _through_cuda_python() if _has_cuda_python() else _through_library(library)
    return tuple(Gpu(target_of(major, minor), f"NVIDIA {name}".strip()) for major, minor, name in capabilities)


def target_of(major: int, minor: int) -> str:
    """Return the target of a compute capability, with all of its own instructions if it has such (sm_90a)."""
    name = f"sm_{major}{minor}"
    return f"{name}a" if f"{name}a" in nvptx.NAMES else name


def amd_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs of Linux's driver for AMD; `gfx_target_version` is 90402 for gfx942."""
    found = []
    with suppress(OSError):
        for node in sorted(_KFD.iterdir()):
            properties = dict(
                line.split(maxsplit=1) for line in (node / "properties").read_text().splitlines() if " " in line
            )
            version = int(properties.get("gfx_target_version", "0"))
            if version:
                major, minor, step = version // 10000, version // 100 % 100, version % 100
                found.append(Gpu(f"gfx{major}{minor:x}{step:x}", "AMD GPU"))
    return tuple(found)


def apple_gpus() -> tuple[Gpu, ...]:
    """Name the GPU of an Apple processor."""
    if sys.platform != "darwin" or platform.machine() != "arm64":
        return ()
    command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
    with suppress(OSError):
        brand = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        words = brand.lower().split()
        if len(words) > 1 and words[0] == "apple":
            return (Gpu(f"apple-{words[1]}", brand),)
    return ()


def _library(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _has_cuda_python() -> bool:
    try:
        return find_spec("cuda.bindings.driver") is not None
    except ImportError:  # no package `cuda` at all
        return False


def _through_cuda_python() -> list[tuple[int, int, str]]:
    driver = import_module("cuda.bindings.driver")
    good = driver.CUresult.CUDA_SUCCESS
    attributes = driver.CUdevice_attribute
    if driver.cuInit(0)[0] != good:
        return []
    found = []
    status, count = driver.cuDeviceGetCount()
    for index in range(count if status == good else 0):
        _, device = driver.cuDeviceGet(index)
        first, major = driver.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        second, minor = driver.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        _, name = driver.cuDeviceGetName(128, device)
        if first == good and second == good:
            found.append((int(major), int(minor), name.split(b"\0")[0].decode("utf-8", "replace")))
    return found


def _through_library(library: ctypes.CDLL) -> list[tuple[int, int, str]]:
    count = ctypes.c_int(0)
    if library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for index in range(count.value):
        device, major, minor = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
        name = ctypes.create_string_buffer(128)
        if library.cuDeviceGet(ctypes.byref(device), index) != 0:
            continue
        library.cuDeviceGetName(name, len(name), device)
        first = library.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
        second = library.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
        if first == 0 and second == 0:
            found.append((major.value, minor.value, name.value.decode("utf-8", "replace")))
    return found
