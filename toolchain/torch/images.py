"""Operators of images: `conv2d`, `max_pool2d`, `avg_pool2d`, of tensors in torch's format `channels_last`."""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from ktc.torch import checks
from ktc.torch.products import ACTIVATIONS, derivative
from ktc.torch.registration import Operator, Plan
from ktc.torch.variants import Call, variant

Pair: TypeAlias = int | Sequence[int]

_FLOATS = frozenset((torch.float64, torch.float32, torch.float16, torch.bfloat16))
_ATEN = torch.ops.aten


def _variant(file: str, x: torch.Tensor, **definitions: object) -> Call:
    return variant(file, x.get_device(), {"DTYPE": x.dtype, **definitions})


def _pair(operator: str, name: str, value: Pair) -> tuple[int, int]:
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) == 1:
        return pair[0], pair[0]
    if len(pair) != 2:
        raise ValueError(f"{operator}(): {name} must be one number or two, not {value!r}")
    return pair[0], pair[1]


def _options(operator: str, stride: Pair, padding: Pair, dilation: Pair) -> tuple[int, ...]:
    words = (("stride", stride), ("padding", padding), ("dilation", dilation))
    return tuple(one for name, value in words for one in _pair(operator, name, value))


def _extents(x: torch.Tensor, window: tuple[int, int], options: tuple[int, ...]) -> tuple[int, int]:
    """Return the height and width of the result."""
    stride, padding, dilation = options[:2], options[2:4], options[4:]
    made = [(x.size(2 + i) + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    return made[0], made[1]


def _check(operator: str, x: torch.Tensor, window: tuple[int, int], options: tuple[int, ...]) -> tuple[int, ...]:
    """Check images; return their sizes and strides as the variants take them."""
    checks.dtype_of(operator, "x", x, _FLOATS)
    if x.dim() != 4:
        raise RuntimeError(f"{operator}(): x must be (batches, channels, height, width), not {tuple(x.shape)}")
    if min(*options[:2], *options[4:], *window) < 1 or min(options[2:4]) < 0:
        raise ValueError(f"{operator}(): strides, dilations and windows are at least 1, and paddings at least 0")
    if min(_extents(x, window, options)) < 1:
        raise RuntimeError(f"{operator}(): a window of {window} does not fit into x, {tuple(x.shape)}")
    if x.stride(1) != 1 and x.size(1) > 1:
        text = f"{operator}(): the channels of x must lie side by side"
        raise RuntimeError(f"{text}: pass x.to(memory_format=torch.channels_last)")
    return (x.size(0), x.size(2), x.size(3), x.size(1), x.stride(0), x.stride(2), x.stride(3))


# ---- convolution ----


def _plan_conv2d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, options: tuple[int, ...], activation: str,
    tf32: bool,
) -> Plan:  # fmt: skip
    sizes = _check_conv2d(x, weight, bias, options, activation)
    filters, _, rows, columns = weight.shape
    height, width = _extents(x, (rows, columns), tuple(options))
    definitions = {"BIAS": bias is not None, "ACTIVATION": activation, "TF32": tf32}
    call = _variant("convolution.kpy", x, **definitions) if x.size(0) * filters else None
    numbers = (*sizes, filters, rows, columns, height, width, *options)
    return Plan(x.get_device(), (((x.size(0), height, width, filters), x.dtype),), call, numbers)


def _check_conv2d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, options: tuple[int, ...], activation: str
) -> tuple[int, ...]:
    if weight.dim() != 4 or (x.dim() == 4 and weight.size(1) != x.size(1)):
        text = f"{tuple(weight.shape)} for x {tuple(x.shape)}"
        raise RuntimeError(f"conv2d(): weight must be (filters, channels, rows, columns), not {text}")
    sizes = _check("conv2d", x, (weight.size(2), weight.size(3)), tuple(options))
    checks.same("conv2d", "x", x, "weight", weight)
    if not weight.is_contiguous(memory_format=torch.channels_last):
        raise RuntimeError("conv2d(): pass weight.to(memory_format=torch.channels_last)")
    if activation not in ACTIVATIONS:
        raise ValueError(f"conv2d(): activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    if bias is not None:
        checks.same("conv2d", "x", x, "bias", bias)
        if tuple(bias.shape) != (weight.size(0),) or not bias.is_contiguous():
            raise RuntimeError(f"conv2d(): bias must be contiguous with {weight.size(0)} elements")
    return sizes


def _fake_conv2d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, options: tuple[int, ...], activation: str,
    tf32: bool,
) -> torch.Tensor:  # fmt: skip
    height, width = _extents(x, (weight.size(2), weight.size(3)), tuple(options))
    return torch.empty((x.size(0), height, width, weight.size(0)), dtype=x.dtype, device=x.device)


def _save_conv2d(ctx: object, inputs: tuple[object, ...], output: torch.Tensor) -> None:
    x, weight, bias, *ctx.options = inputs  # type: ignore[attr-defined]
    ctx.save_for_backward(x, weight, bias)  # type: ignore[attr-defined]


def _of_conv2d(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    x, weight, bias = ctx.saved_tensors  # type: ignore[attr-defined]
    options, activation, tf32 = ctx.options  # type: ignore[attr-defined]
    options = tuple(options)  # torch passes lists
    if activation != "none":
        gradient = derivative(activation, gradient, _CONV2D(x, weight, bias, options, "none", tf32))
    of_images = gradient.permute(0, 3, 1, 2)
    has_bias = bias is not None
    made = _ATEN.convolution_backward(
        of_images, x, weight, [weight.size(0)] if has_bias else None, options[:2], options[2:4], options[4:], False,
        [0, 0], 1, [True, True, has_bias],
    )  # fmt: skip
    return made[0], made[1], made[2] if has_bias else None, None, None, None


_CONV2D = Operator(
    "conv2d", "(Tensor x, Tensor weight, Tensor? bias, int[] options, str activation, bool tf32) -> Tensor", 3,
    _plan_conv2d, _fake_conv2d, _of_conv2d, _save_conv2d,
)  # fmt: skip


def conv2d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, stride: Pair = 1, padding: Pair = 0,
    dilation: Pair = 1, *, activation: str = "none", tf32: bool | None = None,
) -> torch.Tensor:  # fmt: skip
    """Return `activation(conv2d(x, weight) + bias)`, computed by one kernel.

    Args:
        x: (batches, channels, height, width) in the memory format `channels_last`, as the result is.
        weight: (filters, channels, rows, columns), in the same memory format and of the same type.
        bias: (filters).
        stride, padding, dilation: as `torch.nn.functional.conv2d` has them.
        activation: as `matmul` has it.
        tf32: whether factors of float32 may be rounded to 10 bits; by default as torch allows its own convolutions.

    Raises:
        RuntimeError: shapes, types, devices or strides do not fit.
        ValueError: an option is not possible.
    """
    checks.are_tensors("conv2d", x=x, weight=weight)
    options = _options("conv2d", stride, padding, dilation)
    allowed = bool(torch.backends.cudnn.allow_tf32) if tf32 is None else tf32
    rounds = x.dtype == torch.float32 and x.is_cuda and allowed
    made: torch.Tensor = _CONV2D(x, weight, bias, options, activation, rounds)
    return made.permute(0, 3, 1, 2)


# ---- pooling ----


def _plan_pool(operator: str, x: torch.Tensor, window: tuple[int, ...], options: tuple[int, ...], counts: bool) -> Plan:
    size = (window[0], window[1])
    sizes = _check(operator, x, size, tuple(options))
    height, width = _extents(x, size, tuple(options))
    call = _variant("pooling.kpy", x, OPERATOR=operator, COUNTS_PADDING=counts) if x.numel() else None
    results = (((x.size(0), height, width, x.size(1)), x.dtype),)
    return Plan(x.get_device(), results, call, (*sizes, *window, height, width, *options))


def _fake_pool(x: torch.Tensor, window: tuple[int, ...], options: tuple[int, ...], *_: object) -> torch.Tensor:
    height, width = _extents(x, (window[0], window[1]), tuple(options))
    return torch.empty((x.size(0), height, width, x.size(1)), dtype=x.dtype, device=x.device)


def _save_pool(ctx: object, inputs: tuple[object, ...], output: torch.Tensor) -> None:
    x, *ctx.options = inputs  # type: ignore[attr-defined]
    ctx.save_for_backward(x)  # type: ignore[attr-defined]


def _of_max_pool2d(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
    window, options = ctx.options  # type: ignore[attr-defined]
    words = (window, options[:2], options[2:4], options[4:], False)
    _, places = _ATEN.max_pool2d_with_indices(x, *words)
    of_images = gradient.permute(0, 3, 1, 2)
    return _ATEN.max_pool2d_with_indices_backward(of_images, x, *words, places), None, None


def _of_avg_pool2d(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
    window, options, counts = ctx.options  # type: ignore[attr-defined]
    of_images = gradient.permute(0, 3, 1, 2)
    made = _ATEN.avg_pool2d_backward(of_images, x, window, options[:2], options[2:4], False, counts, None)
    return made, None, None, None


_MAX_POOL2D = Operator(
    "max_pool2d", "(Tensor x, int[] window, int[] options) -> Tensor", 1,
    lambda x, window, options: _plan_pool("max_pool2d", x, window, options, True), _fake_pool, _of_max_pool2d,
    _save_pool,
)  # fmt: skip
_AVG_POOL2D = Operator(
    "avg_pool2d", "(Tensor x, int[] window, int[] options, bool counts_padding) -> Tensor", 1,
    lambda x, window, options, counts: _plan_pool("avg_pool2d", x, window, options, counts), _fake_pool, _of_avg_pool2d,
    _save_pool,
)  # fmt: skip


def max_pool2d(
    x: torch.Tensor, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1
) -> torch.Tensor:
    """Return the greatest number of each window; `x` and the result are in the memory format `channels_last`.

    Raises:
        RuntimeError: the shape, type or strides are not supported.
        ValueError: an option is not possible.
    """
    checks.are_tensors("max_pool2d", x=x)
    window = _pair("max_pool2d", "kernel_size", kernel_size)
    options = _options("max_pool2d", kernel_size if stride is None else stride, padding, dilation)
    made: torch.Tensor = _MAX_POOL2D(x, window, options)
    return made.permute(0, 3, 1, 2)


def avg_pool2d(
    x: torch.Tensor, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, *, count_include_pad: bool = True
) -> torch.Tensor:
    """Return the mean of each window; see `max_pool2d`."""
    checks.are_tensors("avg_pool2d", x=x)
    window = _pair("avg_pool2d", "kernel_size", kernel_size)
    options = _options("avg_pool2d", kernel_size if stride is None else stride, padding, 1)
    made: torch.Tensor = _AVG_POOL2D(x, window, options, count_include_pad)
    return made.permute(0, 3, 1, 2)
