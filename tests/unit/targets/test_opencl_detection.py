"""OpenCL devices, as a driver that is written here describes them."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
from ktc.targets.detection.opencl import OpenClDevice, opencl_devices

TEXTS = {
    (7, 0x102B): b"Arc", (7, 0x105B): b"SPIR-V_1.4 ", (8, 0x102B): b"Old", (8, 0x1030): b"cl_khr_il_program",
    (9, 0x102B): b"None", (9, 0x1030): b"cl_khr_fp64",
}  # fmt: skip


def _given(found: Any, count: Any, values: list[int]) -> int:
    found[: len(values)] = values
    count._obj.value = len(values)
    return 0


def _info(device: Any, what: int, size: Any, text: Any, needed: Any) -> int:
    value = TEXTS.get((device.value, what))
    if value is None:
        return -30
    if text is None:
        needed._obj.value = len(value) + 1
    else:
        text.value = value
    return 0


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = SimpleNamespace(
        clGetPlatformIDs=lambda most, found, count: _given(found, count, [1, 2]),
        clGetDeviceIDs=lambda platform, kind, most, found, count: (
            _given(found, count, [7, 8, 9]) if platform.value == 1 else -1
        ),
        clGetDeviceInfo=_info,
    )
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    wanted = (OpenClDevice("Arc", "SPIR-V_1.4"), OpenClDevice("Old", "SPIR-V"), OpenClDevice("None", ""))
    assert opencl_devices() == wanted


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert opencl_devices() == ()
