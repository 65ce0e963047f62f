"""Operators of rows: `softmax`, `log_softmax`, `cumsum`, `rms_norm`, `layer_norm`, each over the last dimension."""

from functools import partial

import torch
from ktc.torch import checks
from ktc.torch.registration import Operator, Plan
from ktc.torch.variants import variant

_DTYPES = frozenset((torch.float32, torch.float16, torch.bfloat16))
LONGEST = 32_768
"""The longest row, in elements: a block of threads holds it in registers."""
_SUMMED = _DTYPES | frozenset((torch.float64, torch.int32, torch.int64))
_ATEN = torch.ops.aten


def _plan(
    operator: str, x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None,
    epsilon: float = 0.0,
) -> Plan:  # fmt: skip
    _check(operator, x, weight, bias)
    results = ((tuple(x.shape), x.dtype),)
    device, columns = x.get_device(), x.size(-1)
    if x.numel() == 0:
        return Plan(device, results, None, ())
    call = variant("rows.kpy", device, {"DTYPE": x.dtype, "COLUMNS": columns, "OPERATOR": operator})
    absent = (0,) * ((weight is None) + (bias is None))
    return Plan(device, results, call, (*absent, *_rows(operator, x), epsilon))


def _rows(operator: str, x: torch.Tensor) -> tuple[int, int]:
    """Return the number of rows, and how many elements they are apart."""
    columns = x.size(-1)
    if x.is_contiguous():
        return x.numel() // columns, columns
    if x.stride(-1) == 1 or columns == 1:
        step = x.stride(-2)
        whole = step >= columns
        for dim in range(x.dim() - 2, 0, -1):
            whole = whole and x.stride(dim - 1) == x.stride(dim) * x.size(dim)
        if whole:
            return x.numel() // columns, step
    checks.strided(operator, "x", x)
    raise AssertionError


def _like(x: torch.Tensor, *_: object) -> torch.Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _save_output(ctx: object, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(output)  # type: ignore[attr-defined]


def _of_softmax(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
    (made,) = ctx.saved_tensors  # type: ignore[attr-defined]
    return _ATEN._softmax_backward_data(gradient.contiguous(), made, -1, made.dtype)


def _of_log_softmax(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
    (made,) = ctx.saved_tensors  # type: ignore[attr-defined]
    return _ATEN._log_softmax_backward_data(gradient.contiguous(), made, -1, made.dtype)


def _save_inputs(ctx: object, inputs: tuple[object, ...], output: torch.Tensor) -> None:
    *tensors, ctx.epsilon = inputs  # type: ignore[attr-defined]
    ctx.save_for_backward(*tensors)  # type: ignore[attr-defined]


def _of_rms_norm(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """With r = 1 / sqrt(mean(x²) + ε) and h = gradient · weight: r · h - x · r³ · mean(h · x)."""
    x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
    wide, g = x.float(), gradient.float()
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + ctx.epsilon)  # type: ignore[attr-defined]
    scaled = g * weight.float()
    of_x = scale * scaled - wide * scale.pow(3) * (scaled * wide).mean(-1, keepdim=True)
    of_weight = (g * wide * scale).flatten(0, -2).sum(0) if x.dim() > 1 else g * wide * scale
    return of_x.to(x.dtype), of_weight.to(weight.dtype), None


def _of_layer_norm(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    x, weight, bias = ctx.saved_tensors  # type: ignore[attr-defined]
    wide = x.float()
    mean = wide.mean(-1, keepdim=True)
    scale = torch.rsqrt(wide.var(-1, unbiased=False, keepdim=True) + ctx.epsilon)  # type: ignore[attr-defined]
    made = _ATEN.native_layer_norm_backward(
        gradient.float().contiguous(),
        wide.contiguous(),
        weight.shape,
        mean,
        scale,
        weight.float(),
        bias.float(),
        [True] * 3,
    )
    return made[0].to(x.dtype), made[1].to(weight.dtype), made[2].to(bias.dtype), None


_SOFTMAX = Operator("softmax", "(Tensor x) -> Tensor", 1, partial(_plan, "softmax"), _like, _of_softmax, _save_output)
_LOG_SOFTMAX = Operator(
    "log_softmax", "(Tensor x) -> Tensor", 1, partial(_plan, "log_softmax"), _like, _of_log_softmax, _save_output
)
_RMS_NORM = Operator(
    "rms_norm", "(Tensor x, Tensor weight, float eps) -> Tensor", 2,
    lambda x, weight, eps: _plan("rms_norm", x, weight, None, eps), _like, _of_rms_norm, _save_inputs,
)  # fmt: skip
_LAYER_NORM = Operator(
    "layer_norm", "(Tensor x, Tensor weight, Tensor bias, float eps) -> Tensor", 3,
    partial(_plan, "layer_norm"), _like, _of_layer_norm, _save_inputs,
)  # fmt: skip


def _plan_cumsum(x: torch.Tensor) -> Plan:
    checks.dtype_of("cumsum", "x", x, _SUMMED)
    if x.dim() == 0:
        raise RuntimeError("cumsum(): x must have at least one dimension")
    device, results = x.get_device(), ((tuple(x.shape), x.dtype),)
    if x.numel() == 0:
        return Plan(device, results, None, ())
    call = variant("cumsum.kpy", device, {"DTYPE": x.dtype})
    count, stride = _rows("cumsum", x)
    return Plan(device, results, call, (count, x.size(-1), stride))


_CUMSUM: Operator = Operator(
    "cumsum", "(Tensor x) -> Tensor", 1, _plan_cumsum, _like,
    lambda ctx, gradient: _CUMSUM(gradient.flip(-1)).flip(-1),
)  # fmt: skip


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the softmax over the last dimension.

    Args:
        x: float32, float16 or bfloat16; at most 32,768 elements in the last dimension.
        dim: the last dimension.

    Raises:
        RuntimeError: the element type, the length or the strides are not supported.
        ValueError: `dim` is another dimension.
    """
    return _over_last(_SOFTMAX, x, dim)


def log_softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the logarithm of the softmax over the last dimension; see `softmax`."""
    return _over_last(_LOG_SOFTMAX, x, dim)


def cumsum(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the prefix sums of the last dimension, of rows of any length; integers keep their type."""
    return _over_last(_CUMSUM, x, dim)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Return `x / sqrt(mean(x²) + eps) * weight`, over the last dimension.

    Args:
        x: float32, float16 or bfloat16; at most 32,768 elements in the last dimension.
        weight: as many elements as the last dimension of `x` has, of its type.

    Raises:
        RuntimeError: shapes, types, devices or strides do not fit.
    """
    made: torch.Tensor = _RMS_NORM(x, weight, float(eps))
    return made


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """Return `(x - mean) / sqrt(variance + eps) * weight + bias`, over the last dimension; see `rms_norm`."""
    made: torch.Tensor = _LAYER_NORM(x, weight, bias, float(eps))
    return made


def _over_last(operator: Operator, x: torch.Tensor, dim: int) -> torch.Tensor:
    if dim != -1 and dim != x.dim() - 1:
        raise ValueError(f"{operator.name}(): dim must be the last dimension, not {dim}: transpose x first")
    made: torch.Tensor = operator(x)
    return made


def _check(operator: str, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> None:
    checks.dtype_of(operator, "x", x, _DTYPES)
    if x.dim() == 0:
        raise RuntimeError(f"{operator}(): x must have at least one dimension")
    if x.size(-1) > LONGEST:
        raise RuntimeError(f"{operator}(): the last dimension of x has {x.size(-1)} elements, more than {LONGEST}")
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None:
            _check_weight(operator, name, one, x)


def _check_weight(operator: str, name: str, weight: torch.Tensor, x: torch.Tensor) -> None:
    checks.same(operator, "x", x, name, weight)
    if tuple(weight.shape) != tuple(x.shape[-1:]) or not weight.is_contiguous():
        sizes = tuple(weight.shape)
        raise RuntimeError(
            f"{operator}(): {name} must be contiguous with {x.size(-1)} elements, not of the shape {sizes}"
        )
