"""Products of matrices: `matmul`, `batched_matmul`."""

import torch
from ktc.torch import checks
from ktc.torch.registration import Operator, Plan
from ktc.torch.variants import variant

_FLOATS = frozenset((torch.float64, torch.float32, torch.float16, torch.bfloat16))
_FP8 = frozenset((torch.float8_e4m3fn, torch.float8_e5m2))
_DTYPES = _FLOATS | _FP8 | frozenset((torch.int8, torch.int32))
_RESULTS = {torch.float8_e4m3fn: torch.bfloat16, torch.float8_e5m2: torch.bfloat16, torch.int8: torch.int32}
ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid")
_ATEN = torch.ops.aten


def layout_of(operator: str, name: str, x: torch.Tensor) -> tuple[bool, int]:
    """Return whether a matrix is kept by columns, and how far its rows (or columns) are apart."""
    row, column = x.stride(-2), x.stride(-1)
    rows, columns = x.size(-2), x.size(-1)
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return False, max(row, columns)
    if (row == 1 or rows == 1) and column >= rows:
        return True, column
    checks.strided(operator, name, x)
    raise AssertionError


def _plan(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, residual: torch.Tensor | None,
    scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, activation: str, tf32: bool, out_dtype: torch.dtype,
) -> Plan:  # fmt: skip
    sizes = _check(a, b, bias, residual, scale_a, scale_b, activation, out_dtype)
    results = ((sizes, out_dtype),)
    if 0 in sizes:
        return Plan(a.get_device(), results, None, ())
    transposed_a, a_stride = layout_of("matmul", "a", a)
    transposed_b, b_stride = layout_of("matmul", "b", b)
    device, is_batch = a.get_device(), a.dim() == 3
    call = variant(
        "matmul.kpy", device,
        {
            "DTYPE": a.dtype, "OUT": out_dtype, "TRANSPOSE_A": transposed_a, "TRANSPOSE_B": transposed_b,
            "BATCHED": is_batch, "ACTIVATION": activation, "TF32": tf32, "BIAS": bias is not None,
            "RESIDUAL": residual is not None, "SCALED": scale_a is not None,
        },
    )  # fmt: skip
    numbers = (
        a.size(0) if is_batch else 1,
        a.size(-2),
        b.size(-1),
        a.size(-1),
        a.stride(0),
        a_stride,
        b.stride(0),
        b_stride,
    )
    return Plan(device, results, call, numbers)


def _plan_into(
    out: torch.Tensor, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, residual: torch.Tensor | None,
    scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, activation: str, tf32: bool,
) -> Plan:  # fmt: skip
    plan = _plan(a, b, bias, residual, scale_a, scale_b, activation, tf32, out.dtype)
    sizes = plan.results[0][0] if plan.results[0] is not None else ()
    if tuple(out.shape) != sizes or out.device != a.device or not out.is_contiguous():
        raise RuntimeError(f"matmul(): out must be contiguous on {a.device}, of the shape {sizes}, not {_shape(out)}")
    return plan


def _fake(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, residual: torch.Tensor | None,
    scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, activation: str, tf32: bool, out_dtype: torch.dtype,
) -> torch.Tensor:  # fmt: skip
    sizes = _check(a, b, bias, residual, scale_a, scale_b, activation, out_dtype)
    return a.new_empty(sizes, dtype=out_dtype)


def _fake_into(
    out: torch.Tensor, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, residual: torch.Tensor | None,
    scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, activation: str, tf32: bool,
) -> None:  # fmt: skip
    _check(a, b, bias, residual, scale_a, scale_b, activation, out.dtype)


def _save(ctx: object, inputs: tuple[object, ...], output: torch.Tensor) -> None:
    a, b, bias, residual, scale_a, _, activation, tf32, _ = inputs
    ctx.save_for_backward(a, b, bias)  # type: ignore[attr-defined]
    ctx.options = (activation, tf32, residual is not None, scale_a is not None)  # type: ignore[attr-defined]


def _gradient(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    a, b, bias = ctx.saved_tensors  # type: ignore[attr-defined]
    activation, tf32, has_residual, is_scaled = ctx.options  # type: ignore[attr-defined]
    if is_scaled:
        raise RuntimeError("matmul(): products with scales have no gradient")
    needs = ctx.needs_input_grad  # type: ignore[attr-defined]
    of_sums = gradient
    if activation != "none":
        sums = OPERATOR(a, b, bias, None, None, None, "none", tf32, a.dtype)
        of_sums = derivative(activation, gradient, sums)
    of_a = of_b = of_bias = None
    of_sums = of_sums.contiguous()
    if needs[0]:
        of_a = OPERATOR(of_sums, b.mT, None, None, None, None, "none", tf32, a.dtype)
    if needs[1]:
        of_b = OPERATOR(a.mT, of_sums, None, None, None, None, "none", tf32, a.dtype)
    if bias is not None and needs[2]:
        of_bias = of_sums.flatten(0, -2).sum(0)
    return of_a, of_b, of_bias, gradient if has_residual else None, None, None, None, None, None


def derivative(activation: str, gradient: torch.Tensor, sums: torch.Tensor) -> torch.Tensor:
    """Return the gradient of an activation's argument."""
    if activation == "relu":
        return _ATEN.threshold_backward(gradient, sums, 0)
    if activation == "silu":
        return _ATEN.silu_backward(gradient, sums)
    if activation == "sigmoid":
        return _ATEN.sigmoid_backward(gradient, torch.sigmoid(sums))
    return _ATEN.gelu_backward(gradient, sums, approximate="none" if activation == "gelu" else "tanh")


OPERATOR = Operator(
    "matmul",
    "(Tensor a, Tensor b, Tensor? bias, Tensor? residual, Tensor? scale_a, Tensor? scale_b, str activation, bool tf32,"
    " ScalarType out_dtype) -> Tensor",
    6, _plan, _fake, _gradient, _save,
)  # fmt: skip
INTO = Operator(
    "matmul_out",
    "(Tensor(a!) out, Tensor a, Tensor b, Tensor? bias, Tensor? residual, Tensor? scale_a, Tensor? scale_b,"
    " str activation, bool tf32) -> ()",
    7, _plan_into, _fake_into, writes=True,
)  # fmt: skip


def matmul(
    a: torch.Tensor, b: torch.Tensor, *, bias: torch.Tensor | None = None, activation: str = "none",
    residual: torch.Tensor | None = None, scale_a: torch.Tensor | None = None, scale_b: torch.Tensor | None = None,
    tf32: bool | None = None, out_dtype: torch.dtype | None = None, out: torch.Tensor | None = None,
) -> torch.Tensor:  # fmt: skip
    """Return `activation(a @ b + bias) + residual`, computed by one kernel.

    Args:
        a: (…, m, k), or (k). Dimensions before the last two are rows as well if `b` is a matrix.
        b: (k, n), or (k), or (batches, k, n) with `a` (batches, m, k). Both may be transposed: `b.mT` costs nothing.
        bias: (n), of the result's type.
        activation: "none", "relu", "gelu", "gelu_tanh", "silu" or "sigmoid".
        residual: of the result's shape and type.
        scale_a, scale_b: one number of float32 each, for factors of float8; the product is multiplied by both.
        tf32: whether factors of float32 may be rounded to 10 bits; by default as torch allows its own products.
        out_dtype: the result's type; that of `a` by default, bfloat16 for float8, int32 for int8.
        out: a contiguous tensor that is written and returned; it cannot have a gradient.

    Raises:
        RuntimeError: shapes, types, devices or strides do not fit; the message names the argument.
        ValueError: there is no such activation.
    """
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        checks.are_tensors("matmul", a=a, b=b)
    if b.dim() == 1:
        if bias is not None or out is not None or residual is not None:
            raise RuntimeError("matmul(): a product with a vector takes no bias, residual or out: pass b.unsqueeze(-1)")
        made = matmul(
            a, b.unsqueeze(-1), activation=activation, scale_a=scale_a, scale_b=scale_b, tf32=tf32, out_dtype=out_dtype
        )
        return made.squeeze(-1)
    dims = a.dim()
    if dims == 1:
        made = matmul(
            a.unsqueeze(0), b, bias=bias, activation=activation, residual=residual, scale_a=scale_a, scale_b=scale_b,
            tf32=tf32, out_dtype=out_dtype, out=None if out is None else out.unsqueeze(0),
        )  # fmt: skip
        return made.squeeze(0)
    dtype, sizes = a.dtype, None
    rounds = dtype == torch.float32 and a.is_cuda and (allows_tf32() if tf32 is None else tf32)
    if dims > 2 and b.dim() == 2:
        sizes = (*a.shape[:-1], b.size(-1))
        a = _flat("a", a)
        residual = None if residual is None else _flat("residual", residual)
        out = None if out is None else _flat("out", out)
    if out is not None:
        if out.requires_grad and torch.is_grad_enabled():
            raise RuntimeError("matmul(): out cannot require a gradient")
        INTO(out, a, b, bias, residual, scale_a, scale_b, activation, rounds)
        return out if sizes is None else out.view(sizes)
    kind = out_dtype or (_RESULTS.get(dtype) or dtype)
    made = OPERATOR(a, b, bias, residual, scale_a, scale_b, activation, rounds, kind)
    return made if sizes is None else made.view(sizes)


def batched_matmul(a: torch.Tensor, b: torch.Tensor, **options: object) -> torch.Tensor:
    """Return the products of two batches of matrices, (batches, m, k) and (batches, k, n); options as `matmul` has.

    Raises:
        RuntimeError: as `matmul`, or a tensor has not three dimensions.
    """
    checks.are_tensors("batched_matmul", a=a, b=b)
    for name, one in (("a", a), ("b", b)):
        if one.dim() != 3:
            raise RuntimeError(f"batched_matmul(): {name} must have 3 dimensions, not {one.dim()}")
    return matmul(a, b, **options)  # type: ignore[arg-type]


def allows_tf32() -> bool:
    """Return whether torch allows its own products to round float32 to 10 bits."""
    return bool(torch.backends.cuda.matmul.allow_tf32)


def _flat(name: str, x: torch.Tensor) -> torch.Tensor:
    """Return a tensor as a matrix, without a copy."""
    if x.dim() == 2:
        return x
    try:
        return x.view(-1, x.size(-1))
    except RuntimeError:
        checks.strided("matmul", name, x)
        raise


def _check(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, residual: torch.Tensor | None,
    scale_a: torch.Tensor | None, scale_b: torch.Tensor | None, activation: str, kind: torch.dtype,
) -> tuple[int, ...]:  # fmt: skip
    """Check a product's arguments; return the result's shape."""
    checks.dtype_of("matmul", "a", a, _DTYPES)
    checks.same("matmul", "a", a, "b", b)
    if activation not in ACTIVATIONS:
        raise ValueError(f"matmul(): activation must be one of {', '.join(ACTIVATIONS)}, not {activation!r}")
    if b.dim() != 2 and not (b.dim() == 3 and a.dim() == 3 and a.size(0) == b.size(0)):
        raise RuntimeError(f"matmul(): b must be a matrix, or as many matrices as a: {_shape(a)} and {_shape(b)}")
    if a.size(-1) != b.size(-2):
        raise RuntimeError(f"matmul(): a and b shapes cannot be multiplied ({_shape(a)} and {_shape(b)})")
    sizes = (*a.shape[:-1], b.size(-1))
    if bias is not None and (tuple(bias.shape) != sizes[-1:] or not bias.is_contiguous()):
        raise RuntimeError(f"matmul(): bias must be contiguous with {sizes[-1]} elements, not {_shape(bias)}")
    if residual is not None and (tuple(residual.shape) != sizes or not residual.is_contiguous()):
        raise RuntimeError(f"matmul(): residual must be contiguous and of the result's shape, not {_shape(residual)}")
    for name, one in (("bias", bias), ("residual", residual)):
        if one is not None and (one.dtype != kind or one.device != a.device):
            raise RuntimeError(f"matmul(): {name} must be of {kind} on {a.device}, not of {one.dtype} on {one.device}")
    if (scale_a is None) != (scale_b is None):
        raise RuntimeError("matmul(): scale_a and scale_b come together")
    for name, one in (("scale_a", scale_a), ("scale_b", scale_b)):
        if one is not None and (one.dtype != torch.float32 or one.numel() != 1 or one.device != a.device):
            raise RuntimeError(f"matmul(): {name} must be one float32 number on {a.device}")
    return sizes


def _shape(x: torch.Tensor) -> str:
    return "x".join(map(str, x.shape)) or "a number"
