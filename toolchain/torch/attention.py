"""Attention: `flash_attention`, with its gradient."""

import torch
from ktc.torch import checks
from ktc.torch.registration import Operator, Plan
from ktc.torch.variants import Call, variant

_DTYPES = frozenset((torch.float32, torch.float16, torch.bfloat16))
_DEEPEST = 512


def _variant(q: torch.Tensor, file: str, function: str, causal: bool, window: int) -> Call:
    definitions = {"DTYPE": q.dtype, "COLUMNS": q.size(3), "CAUSAL": causal, "WINDOW": window}
    return variant(file, q.get_device(), definitions, function)


def _plan(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, window: int, scale: float, with_logs: bool
) -> Plan:
    _check(q, k, v, causal, window)
    batches, queries, heads, _ = q.shape
    logs = ((batches, heads, queries), torch.float32) if with_logs else None
    numbers = (
        batches, queries, k.size(1), heads, k.size(2), *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], scale
    )  # fmt: skip
    call = _variant(q, "attention.kpy", "forward", causal, window) if q.numel() else None
    return Plan(q.get_device(), ((tuple(q.shape), q.dtype), logs), call, numbers)


def _fake(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, window: int, scale: float, with_logs: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    _check(q, k, v, causal, window)
    made = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    sizes = (q.size(0), q.size(2), q.size(1)) if with_logs else (0,)
    return made, torch.empty(sizes, dtype=torch.float32, device=q.device)


def _save(ctx: object, inputs: tuple[object, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    q, k, v, *ctx.options, _ = inputs  # type: ignore[attr-defined]
    ctx.save_for_backward(q, k, v, *output)  # type: ignore[attr-defined]
    ctx.mark_non_differentiable(output[1])  # type: ignore[attr-defined]


def _of_attention(ctx: object, gradient: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    q, k, v, made, logs = ctx.saved_tensors  # type: ignore[attr-defined]
    causal, window, scale = ctx.options  # type: ignore[attr-defined]
    if q.numel() == 0 or k.numel() == 0:  # no query sees a key
        return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v), None, None, None, None
    tensors = (gradient.contiguous(), made, logs, q.contiguous(), k.contiguous(), v.contiguous())
    return (*_GRADIENT(*tensors, causal, window, scale), None, None, None, None)


def _plan_gradient(
    gradient: torch.Tensor, output: torch.Tensor, logs: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    causal: bool, window: int, scale: float,
) -> Plan:  # fmt: skip
    results = tuple((tuple(one.shape), one.dtype) for one in (q, k, v))
    call = _variant(q, "attention_gradient.kpy", "backward", causal, window)
    return Plan(q.get_device(), results, call, (q.size(0), q.size(1), k.size(1), q.size(2), k.size(2), scale))


def _fake_gradient(
    gradient: torch.Tensor, output: torch.Tensor, logs: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    *_: object,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


_ATTENTION = Operator(
    "attention",
    "(Tensor q, Tensor k, Tensor v, bool causal, int window, float scale, bool with_logs) -> (Tensor, Tensor)",
    3, _plan, _fake, _of_attention, _save,
)  # fmt: skip
_GRADIENT = Operator(
    "attention_backward",
    "(Tensor gradient, Tensor output, Tensor logs, Tensor q, Tensor k, Tensor v, bool causal, int window, float scale)"
    " -> (Tensor, Tensor, Tensor)",
    6, _plan_gradient, _fake_gradient,
)  # fmt: skip


def flash_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False, window: int = 0,
    scale: float | None = None, return_logs: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Return `softmax(q @ kᵀ * scale) @ v` for each head.

    Args:
        q: (batches, queries, heads, depth), float32, float16 or bfloat16; the depth is a multiple of 8, at most 512.
        k, v: (batches, keys, key heads, depth); the number of heads is a multiple of the number of key heads.
        causal: a query sees the keys up to its own position; the queries are the last positions.
        window: with `causal`, how many keys a query sees at most; 0 for all.
        scale: 1 / sqrt(depth) by default.
        return_logs: also return the logarithm of each row's sum of exponentials, (batches, heads, queries), float32.

    Raises:
        RuntimeError: shapes, types, devices or strides do not fit.
        ValueError: a window without `causal`.
    """
    if not (isinstance(q, torch.Tensor) and isinstance(k, torch.Tensor) and isinstance(v, torch.Tensor)):
        checks.are_tensors("flash_attention", q=q, k=k, v=v)
    needs_logs = return_logs or (torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad))
    factor = q.size(-1) ** -0.5 if scale is None else float(scale)
    made, logs = _ATTENTION(q, k, v, causal, window, factor, needs_logs)
    return (made, logs) if return_logs else made


def _check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, window: int) -> None:
    for name, one in (("q", q), ("k", k), ("v", v)):
        checks.dtype_of("flash_attention", name, one, _DTYPES)
        checks.same("flash_attention", "q", q, name, one)
        if one.dim() != 4:
            raise RuntimeError(
                f"flash_attention(): {name} must be (batches, length, heads, depth), not {tuple(one.shape)}"
            )
        if one.stride(3) != 1 and one.size(3) > 1:
            checks.strided("flash_attention", name, one)
    if window < 0 or (window and not causal):
        raise ValueError("flash_attention(): window is at least 1 key and needs causal=True")
    depth = q.size(3)
    if depth == 0 or depth % 8 or depth > _DEEPEST:
        raise RuntimeError(
            f"flash_attention(): the depth of q must be a multiple of 8, at most {_DEEPEST}, not {depth}"
        )
    if k.shape != v.shape:
        raise RuntimeError(
            f"flash_attention(): k and v must have the same shape: {tuple(k.shape)} and {tuple(v.shape)}"
        )
    if k.size(0) != q.size(0) or k.size(3) != depth:
        raise RuntimeError(f"flash_attention(): k does not fit q: {tuple(k.shape)} and {tuple(q.shape)}")
    if k.size(2) == 0 or q.size(2) % k.size(2):
        raise RuntimeError(f"flash_attention(): {q.size(2)} heads of q are no multiple of {k.size(2)} heads of k")
