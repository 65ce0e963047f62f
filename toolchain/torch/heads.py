"""Operators of heads beside attention: `rope`, `paged_attention`."""

import torch
from ktc.torch import checks
from ktc.torch.registration import Operator, Plan
from ktc.torch.variants import Call, variant

_DTYPES = frozenset((torch.float32, torch.float16, torch.bfloat16))
_DEEPEST, _MOST_SHARED = 256, 16


def _variant(file: str, x: torch.Tensor, **definitions: object) -> Call:
    return variant(file, x.get_device(), {"DTYPE": x.dtype, "COLUMNS": x.size(-1), **definitions})


# ---- rotary position embedding ----


def _plan_rope(x: torch.Tensor, interleaved: bool, base: float) -> Plan:
    checks.dtype_of("rope", "x", x, _DTYPES)
    if x.dim() != 4 or x.size(3) % 2:
        shape = tuple(x.shape)
        raise RuntimeError(f"rope(): x must be (batches, length, heads, depth) with an even depth, not {shape}")
    if x.stride(3) != 1:
        checks.strided("rope", "x", x)
    call = _variant("rope.kpy", x, INTERLEAVED=interleaved) if x.numel() else None
    return Plan(x.get_device(), ((tuple(x.shape), x.dtype),), call, (*x.shape[:3], *x.stride()[:3], base))


def _save_rope(ctx: object, inputs: tuple[object, ...], output: torch.Tensor) -> None:
    _, *ctx.options = inputs  # type: ignore[attr-defined]


def _of_rope(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    """The turn back: that of pairs whose members are exchanged, exchanged again."""
    interleaved, base, first_position = ctx.options  # type: ignore[attr-defined]
    made = _ROPE(_exchanged(gradient, interleaved), interleaved, base, first_position)
    return _exchanged(made, interleaved), None, None, None


def _exchanged(x: torch.Tensor, interleaved: bool) -> torch.Tensor:
    if interleaved:
        return x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return x.roll(x.size(-1) // 2, -1)


_ROPE = Operator(
    "rope", "(Tensor x, bool interleaved, float base, int first_position) -> Tensor", 1, _plan_rope,
    lambda x, *_: torch.empty(x.shape, dtype=x.dtype, device=x.device), _of_rope, _save_rope, free=1,
)  # fmt: skip


def rope(
    x: torch.Tensor, *, first_position: int = 0, base: float = 10_000.0, interleaved: bool = False
) -> torch.Tensor:
    """Return queries or keys turned by their positions (rotary position embedding).

    Args:
        x: (batches, length, heads, depth), float32, float16 or bfloat16; the depth is even.
        first_position: the position of the first row.
        base: of the angles, `position / base ** (2 * i / depth)`.
        interleaved: pairs are neighbours; otherwise a pair is an element of each half.

    Raises:
        RuntimeError: the shape, type or strides are not supported.
    """
    if not isinstance(x, torch.Tensor):
        checks.are_tensors("rope", x=x)
    made: torch.Tensor = _ROPE(x, interleaved, float(base), first_position)
    return made


# ---- attention to pages ----


def _plan_paged(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, scale: float
) -> Plan:
    _check_pages(q, k, v, table, lengths)
    sequences, heads, _ = q.shape
    numbers = (sequences, k.size(0), k.size(1), table.size(1), scale)
    call = _variant("decoding.kpy", q, HEADS=heads, KEY_HEADS=k.size(2)) if q.numel() else None
    return Plan(q.get_device(), ((tuple(q.shape), q.dtype),), call, numbers)


def _check_pages(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor) -> None:
    for name, one, dims in (("q", q, 3), ("k", k, 4), ("v", v, 4), ("table", table, 2), ("lengths", lengths, 1)):
        if one.device != q.device:
            raise RuntimeError(f"paged_attention(): {name} is on {one.device}, and q on {q.device}")
        if one.dim() != dims or not one.is_contiguous():
            shape = tuple(one.shape)
            raise RuntimeError(f"paged_attention(): {name} must be contiguous with {dims} dimensions, not {shape}")
        if dims > 2:
            checks.dtype_of("paged_attention", name, one, _DTYPES)
            checks.same("paged_attention", "q", q, name, one)
        elif one.dtype != torch.int32 or one.size(0) != q.size(0):
            raise RuntimeError(f"paged_attention(): {name} must be int32, of as many sequences as q has")
    heads, depth = q.size(1), q.size(2)
    if k.shape != v.shape or k.size(3) != depth:
        raise RuntimeError(
            f"paged_attention(): k and v must be (pages, length, heads, {depth}): {k.shape} and {v.shape}"
        )
    if depth > _DEEPEST or k.size(2) == 0 or heads % k.size(2) or heads // k.size(2) > _MOST_SHARED:
        text = f"a depth of at most {_DEEPEST}, and at most {_MOST_SHARED} heads of q for each of k"
        raise RuntimeError(f"paged_attention(): needs {text}, not {tuple(q.shape)} and {tuple(k.shape)}")


_PAGED = Operator(
    "paged_attention", "(Tensor q, Tensor k, Tensor v, Tensor table, Tensor lengths, float scale) -> Tensor", 5,
    _plan_paged, lambda q, *_: torch.empty(q.shape, dtype=q.dtype, device=q.device),
)  # fmt: skip


def paged_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor, *,
    scale: float | None = None,
) -> torch.Tensor:  # fmt: skip
    """Return the attention of one query of each sequence to the keys and values in its pages.

    Args:
        q: (sequences, heads, depth).
        k, v: (pages, page length, key heads, depth).
        table: (sequences, most pages), int32: the pages of each sequence in order.
        lengths: (sequences), int32: the number of keys of each sequence.
        scale: 1 / sqrt(depth) by default.

    Raises:
        RuntimeError: shapes, types, devices or strides do not fit. Numbers of pages and lengths are not checked.
    """
    checks.are_tensors("paged_attention", q=q, k=k, v=v, table=table, lengths=lengths)
    made: torch.Tensor = _PAGED(q, k, v, table, lengths, q.size(-1) ** -0.5 if scale is None else float(scale))
    return made
