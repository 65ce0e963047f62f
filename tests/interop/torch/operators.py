"""The operators of `ktc.torch` beside torch's own: values, gradients, registration, errors. On a GPU if there is one.

    python operators.py [PART…]

Prints a line for each part; an assertion says what differs.
"""

import sys
from collections.abc import Callable

import ktc.torch as kt
import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random numbers on the device."""
    return torch.randn(*shape, device=DEVICE).to(dtype)


def close(name: str, made: torch.Tensor, wanted: torch.Tensor, tolerance: float = 3e-5) -> None:
    """Compare in the largest difference, as a part of the largest number."""
    assert made.shape == wanted.shape and made.dtype == wanted.dtype, (name, made.shape, wanted.shape, made.dtype)
    error = (made.float() - wanted.float()).abs().max() / wanted.float().abs().max().clamp_min(1e-9)
    assert error < tolerance, (name, float(error))


def both(name: str, ours: Callable, theirs: Callable, *tensors: torch.Tensor, tolerance: float = 3e-5) -> None:
    """Compare results without gradients, results with them, and the gradients."""
    close(name, ours(*tensors), theirs(*tensors), tolerance)
    found = []
    for call in (ours, theirs):
        leaves = [one.detach().clone().requires_grad_() for one in tensors]
        made = call(*leaves)
        made.backward(torch.linspace(-1, 1, made.numel(), device=DEVICE).view(made.shape).to(made.dtype))
        found.append((made.detach(), *[one.grad for one in leaves]))
    for number, (mine, other) in enumerate(zip(*found, strict=True)):
        close(f"{name}, {number}", mine, other, tolerance)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Attention of tensors (batches, length, heads, depth), by the formula."""
    k, v = (one.repeat_interleave(q.size(2) // one.size(2), 2) for one in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) * q.size(3) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.float()).to(q.dtype)


def products() -> None:
    """Products: transposed, batched, with epilogues, into given memory."""
    a, b, bias, more = numbers(33, 65), numbers(65, 18), numbers(18), numbers(33, 18)
    both("matmul", kt.matmul, torch.matmul, a, b)
    both("a transposed", lambda a, b: kt.matmul(a.T, b), lambda a, b: a.T @ b, a, numbers(33, 5))
    both("b transposed", lambda a, b: kt.matmul(a, b.mT), lambda a, b: a @ b.mT, a, numbers(7, 65))
    both("rows", kt.matmul, torch.matmul, numbers(3, 4, 65), b)
    both("batches", kt.batched_matmul, torch.bmm, numbers(3, 33, 65), numbers(3, 65, 5))
    close("vector", kt.matmul(a[0], b), a[0] @ b)
    close("column", kt.matmul(a, b[:, 0]), a @ b[:, 0])
    close("part of a matrix", kt.matmul(a[:, 1:33], b[2:34]), a[:, 1:33] @ b[2:34])
    functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid}
    functions["gelu_tanh"] = lambda x: F.gelu(x, approximate="tanh")
    for name, function in functions.items():
        both(
            name,
            lambda a, b, bias, more, name=name: kt.matmul(a, b, bias=bias, activation=name, residual=more),
            lambda a, b, bias, more, function=function: function(a @ b + bias) + more,
            a, b, bias, more,
        )  # fmt: skip
    out = torch.empty(33, 18, device=DEVICE)
    assert kt.matmul(a, b, bias=bias, out=out) is out
    close("out", out, a @ b + bias)
    assert kt.matmul(a[:0], b).shape == (0, 18)
    assert not kt.matmul(a[:, :0], b[:0]).any()
    c, d = numbers(16, 32, dtype=torch.bfloat16), numbers(32, 8, dtype=torch.bfloat16)
    close("bfloat16", kt.matmul(c, d), c @ d, 2e-2)
    close("wider", kt.matmul(c, d, out_dtype=torch.float32), c.float() @ d.float(), 2e-2)
    sizes, experts = torch.tensor([0, 5, 5, 33], dtype=torch.int32, device=DEVICE), numbers(3, 65, 8)
    wanted = torch.cat([a[:5] @ experts[0], a[5:] @ experts[2]])
    close("groups", kt.grouped_matmul(a, experts, sizes), wanted)
    close("groups, transposed", kt.grouped_matmul(a, experts.mT.contiguous().mT, sizes), wanted)
    print("products: right")


def rows() -> None:
    """Operators of rows."""
    x, weight, bias = numbers(3, 5, 100), numbers(100), numbers(100)
    both("softmax", kt.softmax, lambda x: F.softmax(x, -1), x)
    both("log_softmax", kt.log_softmax, lambda x: F.log_softmax(x, -1), x)
    both("rms_norm", kt.rms_norm, lambda x, w: F.rms_norm(x, (100,), w, 1e-6), x, weight)
    both("layer_norm", kt.layer_norm, lambda x, w, b: F.layer_norm(x, (100,), w, b), x, weight, bias)
    both("cumsum", kt.cumsum, lambda x: torch.cumsum(x, -1), x)
    close("part of rows", kt.softmax(x[0, :, 4:54]), F.softmax(x[0, :, 4:54], -1))
    close("bfloat16", kt.softmax(x.bfloat16()), F.softmax(x.bfloat16(), -1), 2e-2)
    assert kt.softmax(x.to("meta")).is_meta, "a tensor without data goes through torch's dispatcher"
    print("rows: right")


def heads() -> None:
    """Attention, positions, pages."""
    q, k, v = numbers(2, 19, 4, 16), numbers(2, 23, 2, 16), numbers(2, 23, 2, 16)
    both("attention", kt.flash_attention, attention, q, k, v)
    mask = torch.ones(19, 23, dtype=torch.bool, device=DEVICE).tril(23 - 19)
    both("causal", lambda *x: kt.flash_attention(*x, causal=True), lambda *x: attention(*x, mask), q, k, v)
    near = mask & ~torch.ones_like(mask).tril(23 - 19 - 6)
    both("window", lambda *x: kt.flash_attention(*x, causal=True, window=6), lambda *x: attention(*x, near), q, k, v)
    none = [one.requires_grad_() for one in (numbers(1, 2, 1, 16), numbers(1, 0, 1, 16))]
    kt.flash_attention(none[0], none[1], none[1]).sum().backward()
    assert not none[0].grad.any(), "a query that sees no key has a gradient of zeros"
    packed = numbers(2, 19, 3, 4, 16)
    close("packed", kt.flash_attention(*packed.unbind(2)), attention(*packed.unbind(2)))
    angles = torch.arange(3, 22, device=DEVICE)[:, None] * 10_000.0 ** (-torch.arange(8, device=DEVICE) / 8)
    c, s = angles.cos()[:, None], angles.sin()[:, None]

    def turned(x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * c - b * s, a * s + b * c), -1)

    both("rope", lambda x: kt.rope(x, first_position=3), turned, q)
    later = torch.cat((q[:, :1], q), 1)  # the position is a number of the call, not of its plan
    close("rope, later", kt.rope(q, first_position=4), kt.rope(later, first_position=3)[:, 1:])
    pages = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32, device=DEVICE)
    lengths = torch.tensor([7, 3], dtype=torch.int32, device=DEVICE)
    keys, values, asked = numbers(4, 4, 2, 16), numbers(4, 4, 2, 16), numbers(2, 4, 16)
    made = kt.paged_attention(asked, keys, values, pages, lengths)
    for one, length in enumerate(lengths.tolist()):
        known = [x[pages[one].long()].flatten(0, 1)[None, :length] for x in (keys, values)]
        close("pages", made[one], attention(asked[one][None, None], *known)[0, 0])
    print("heads: right")


def images() -> None:
    """Convolution and pooling."""
    x = numbers(2, 6, 9, 11).to(memory_format=torch.channels_last)
    weight, bias = numbers(4, 6, 3, 3).to(memory_format=torch.channels_last), numbers(4)
    options = {"stride": (2, 1), "padding": 1, "dilation": (1, 2)}
    both(
        "conv2d",
        lambda x, w, b: kt.conv2d(x, w, b, activation="relu", **options),
        lambda x, w, b: F.relu(F.conv2d(x, w, b, **options)),
        x, weight, bias,
    )  # fmt: skip
    close("no bias", kt.conv2d(x, weight), F.conv2d(x, weight))
    both("max_pool2d", lambda x: kt.max_pool2d(x, 3, 2, 1), lambda x: F.max_pool2d(x, 3, 2, 1), x)
    both("avg_pool2d", lambda x: kt.avg_pool2d(x, (2, 3)), lambda x: F.avg_pool2d(x, (2, 3)), x)
    print("images: right")


def registered() -> None:
    """What torch asks of operators, and compilation without a break of the graph."""
    a, b, w, q = numbers(9, 16), numbers(16, 8), numbers(16), numbers(1, 9, 2, 16)
    x, f = (numbers(*s).to(memory_format=torch.channels_last) for s in ((1, 2, 6, 6), (3, 2, 3, 3)))
    for name, arguments in {
        "matmul": (a, b, None, None, None, None, "silu", False, torch.float32),
        "softmax": (a,), "log_softmax": (a,), "cumsum": (a,), "rms_norm": (a, w, 1e-6), "layer_norm": (a, w, w, 1e-5),
        "attention": (q, q, q, True, 0, 0.25, True), "rope": (q, False, 1e4, 3),
        "conv2d": (x, f, None, [1, 1, 0, 0, 1, 1], "none", False), "max_pool2d": (x, [2, 2], [2, 2, 0, 0, 1, 1]),
    }.items():  # fmt: skip
        leaves = [one.clone().requires_grad_() if isinstance(one, torch.Tensor) else one for one in arguments]
        done = torch.library.opcheck(getattr(torch.ops.ktc, name).default, leaves)
        assert set(done.values()) == {"SUCCESS"}, (name, done)

    def block(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return kt.softmax(kt.matmul(kt.rms_norm(x, w), b, activation="gelu"))

    both("compiled", torch.compile(block, fullgraph=True, backend="aot_eager"), block, a, w, b)
    print("registered: right")


def errors() -> None:
    """The exceptions, which name the argument."""
    a, b = numbers(4, 8), numbers(8, 4)
    for call, kind, text in (
        (lambda: kt.matmul(a, a), RuntimeError, "shapes cannot be multiplied (4x8 and 4x8)"),
        (lambda: kt.matmul(a, b.double()), RuntimeError, "expected b to have the dtype of a"),
        (lambda: kt.matmul(a, [1]), TypeError, "argument 'b' must be Tensor, not list"),
        (lambda: kt.matmul(a, b, bias=3), TypeError, "argument 'bias' must be Tensor, not int"),
        (lambda: kt.max_pool2d(numbers(1, 2, 5, 5), (1, 2, 3)), ValueError, "kernel_size must be one number or two"),
        (lambda: kt.matmul(a[::2, ::2], b[:4]), RuntimeError, "a has strides (16, 2)"),
        (lambda: kt.matmul(a, b, activation="tanh"), ValueError, "activation must be one of none, relu"),
        (lambda: kt.matmul(a, b, bias=a), RuntimeError, "bias must be contiguous with 4 elements"),
        (lambda: kt.matmul(a, b, out=a), RuntimeError, "out must be contiguous"),
        (lambda: kt.softmax(a, 0), ValueError, "dim must be the last dimension"),
        (lambda: kt.softmax(a.T), RuntimeError, "x.contiguous()"),
        (lambda: kt.softmax(a.double()), RuntimeError, "x has dtype torch.float64; supported are bfloat16, float16"),
        (lambda: kt.softmax([3.0]), TypeError, "argument 'x' must be Tensor, not list"),
        (lambda: kt.rms_norm(a, b), RuntimeError, "weight must be contiguous with 8 elements"),
        (lambda: kt.flash_attention(a, a, a), RuntimeError, "q must be (batches, length, heads, depth)"),
        (lambda: kt.conv2d(numbers(1, 2, 5, 5), numbers(1, 2, 3, 3)), RuntimeError, "channels_last"),
    ):  # fmt: skip
        try:
            call()
        except kind as error:
            assert text in str(error), (text, str(error))
        else:
            raise AssertionError(f"no error: {text}")
    print("errors: right")


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False
    parts = (products, rows, heads, images, registered, errors)
    for part in parts:
        if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
            part()
