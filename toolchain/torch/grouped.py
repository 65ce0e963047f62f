"""Products of groups of rows, each with a matrix of its own, as a mixture of experts has them: `grouped_matmul`."""

import torch
from ktc.torch import checks
from ktc.torch.products import ACTIVATIONS, allows_tf32, layout_of
from ktc.torch.registration import Operator, Plan
from ktc.torch.variants import variant

_DTYPES = frozenset((torch.float64, torch.float32, torch.float16, torch.bfloat16))


def _plan(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, activation: str, tf32: bool) -> Plan:
    _check(a, b, offsets, activation)
    results = (((a.size(0), b.size(2)), a.dtype),)
    device = a.get_device()
    if 0 in results[0][0]:
        return Plan(device, results, None, ())
    transposed_a, a_stride = layout_of("grouped_matmul", "a", a)
    if transposed_a:
        checks.strided("grouped_matmul", "a", a)
    transposed_b, b_stride = layout_of("grouped_matmul", "b", b)
    words = {"DTYPE": a.dtype, "TRANSPOSE_B": transposed_b, "ACTIVATION": activation, "TF32": tf32}
    call = variant("grouped.kpy", device, words)
    return Plan(device, results, call, (a.size(0), b.size(0), b.size(2), a.size(1), a_stride, b.stride(0), b_stride))


def _check(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, activation: str) -> None:
    checks.dtype_of("grouped_matmul", "a", a, _DTYPES)
    checks.same("grouped_matmul", "a", a, "b", b)
    if activation not in ACTIVATIONS:
        raise ValueError(f"grouped_matmul(): activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    if a.dim() != 2 or b.dim() != 3 or a.size(1) != b.size(1):
        shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise RuntimeError(f"grouped_matmul(): a must be (rows, k), and b (groups, k, n), not {shapes}")
    if offsets.dtype != torch.int32 or offsets.device != a.device or tuple(offsets.shape) != (b.size(0) + 1,):
        text = f"int32 on {a.device} with {b.size(0) + 1} elements"
        raise RuntimeError(f"grouped_matmul(): offsets must be {text}, not {tuple(offsets.shape)} of {offsets.dtype}")


def _fake(a: torch.Tensor, b: torch.Tensor, *_: object) -> torch.Tensor:
    return a.new_empty((a.size(0), b.size(2)))


_GROUPED = Operator(
    "grouped_matmul", "(Tensor a, Tensor b, Tensor offsets, str activation, bool tf32) -> Tensor", 3, _plan, _fake
)


def grouped_matmul(
    a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, *, activation: str = "none", tf32: bool | None = None
) -> torch.Tensor:
    """Return `activation(a[rows] @ b[i])` for the rows of each group, `offsets[i]` up to `offsets[i + 1]`.

    Args:
        a: (rows, k).
        b: (groups, k, n); each matrix may be transposed.
        offsets: (groups + 1), int32, on the device: the host need not know the sizes of groups.
        activation, tf32: as `matmul` has them.

    Raises:
        RuntimeError: shapes, types, devices or strides do not fit. Offsets are not checked.
        ValueError: there is no such activation.
    """
    checks.are_tensors("grouped_matmul", a=a, b=b, offsets=offsets)
    rounds = a.dtype == torch.float32 and a.is_cuda and (allows_tf32() if tf32 is None else tf32)
    made: torch.Tensor = _GROUPED(a, b, offsets, activation, rounds)
    return made
