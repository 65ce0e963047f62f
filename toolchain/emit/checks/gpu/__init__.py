"""Bounds in kernels for GPUs (`--check=bounds`): the first thread that leaves its memory says so, and the launch ends.

Input: a kernel's module before it is optimised. Output: the same with a comparison before each access, and a header for
its image that says which arguments the comparisons need and what the places in the program are. The library
(`stdlib/_check/gpu.kpy`) passes the memory of each pointer as further arguments and reports what a thread has written.
`origins` has where a pointer comes from, `tests` the comparisons, `failure` what the first thread does, `header` the
image's header.
"""

from ktc.emit.checks.gpu.bounds_tests import DeviceChecked, with_device_bounds
from ktc.emit.checks.gpu.header import with_header

__all__ = ("DeviceChecked", "with_device_bounds", "with_header")
