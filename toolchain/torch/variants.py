"""Variants of operators: the code for one element type, one length of a row, one set of options, one kind of device.

Input: a file of `operators/`, one of its exported functions, and definitions. Output: a function of numbers: addresses,
extents, strides. A variant is compiled at its first use, and kept in the cache for other processes.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import torch
from ktc.api.cuda import target_of
from ktc.api.libraries import load

Call: TypeAlias = Callable[..., object]

FOLDER = Path(__file__).parent / "operators"


class _Variants:
    """The variants that this process has used."""

    def __init__(self) -> None:
        self.known: dict[tuple[object, ...], Call] = {}
        self.lock = Lock()
        """One variant at a time is compiled: its compilation uses all cores."""


_USED = _Variants()
_raw_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0)
_current_device: Callable[[], int] = getattr(torch._C, "_cuda_getDevice", lambda: -1)


def variant(file: str, device: int, definitions: Mapping[str, object], function: str = "run") -> Call:
    """Return a variant; it is compiled at its first use, or comes from the cache.

    Args:
        device: the number of a GPU, -1 for the CPU.
        definitions: values of the file's `env_get_…`; those of dtypes are dtypes of torch.

    Raises:
        CompileError: the kernel library has no kernel for this type, length or option.
    """
    key = (file, function, device, *definitions.items())
    with _USED.lock:
        found = _USED.known.get(key)
        if found is None:
            words = {name: str(value).removeprefix("torch.") for name, value in definitions.items()}
            target = "cpu" if device < 0 else target_of(device)
            library = load(FOLDER / file, reload=False, target=target, defines=words)
            found = _USED.known[key] = library.functions[function].raw
    return found


def start(call: Call, device: int, *numbers: object) -> None:
    """Call a variant for the current stream of a device."""
    if device < 0:
        call(0, 0, *numbers)
    elif device == _current_device():
        call(_raw_stream(device), device, *numbers)
    else:
        with _device(device):  # the driver's current context is the thread's, and so is torch's current device
            call(_raw_stream(device), device, *numbers)


def _device(number: int) -> AbstractContextManager[object]:
    made: AbstractContextManager[object] = torch.cuda.device(number)
    return made
