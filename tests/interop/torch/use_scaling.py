"""An operator with a gradient, of a function of `scaling.mojo`."""

import ktc
import torch
from ktc.torch import operator

library = ktc.load("scaling.mojo")


@operator(library.scale)
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    ctx.by = inputs[1]


def backward(ctx, gradient):
    return scale(gradient.contiguous(), ctx.by), None


scale.register_autograd(backward, setup_context=setup_context)

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.arange(5.0, device=device, requires_grad=True)
y = torch.compile(scale, fullgraph=True, backend="aot_eager")(x, 3.0)
y.sum().backward()
print(y.tolist(), x.grad.tolist())
torch.library.opcheck(scale, (x, 2.0))
