"""An operator of torch made of two kernels: on the CPU and on a GPU, with its gradient, in a small network."""

import ktc
import torch

lib = ktc.load("soft.kpy")
forward, backward = lib.kernel("forward"), lib.kernel("backward")


def blocks(x):
    return (x.numel() + 255) // 256


@torch.library.custom_op("layers::soft", mutates_args=(), device_types=("cpu", "cuda"))
def soft(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    forward[blocks(x), 256](x.detach(), y, x.numel())
    return y


@soft.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("layers::soft_backward", mutates_args=(), device_types=("cpu", "cuda"))
def soft_backward(x: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    x, given = x.contiguous(), given.contiguous()
    gradient = torch.empty_like(x)
    backward[blocks(x), 256](x.detach(), given.detach(), gradient, x.numel())
    return gradient


@soft_backward.register_fake
def _(x, given):
    return torch.empty_like(x)


soft.register_autograd(
    lambda ctx, given: soft_backward(*ctx.saved_tensors, given),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)

torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
check = torch.randn(5, requires_grad=True, device=device)
torch.library.opcheck(soft, (check,))
soft(check).sum().backward()
wanted = torch.where(check > 0, torch.ones_like(check), 1 / (1 - check) ** 2)
print("gradient:", torch.allclose(check.grad, wanted))

points = torch.linspace(-2, 2, 64, device=device).reshape(-1, 1)
target = points.sin()


def trained(activation):
    """Return the loss of a small network after some steps, from the same start on each device."""
    torch.manual_seed(1)
    first, second = torch.nn.Linear(1, 16).to(device), torch.nn.Linear(16, 1).to(device)
    optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.02)
    for _step in range(200):
        loss = ((second(activation(first(points))) - target) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


own, wanted = trained(soft), trained(lambda x: torch.where(x > 0, x, x / (1 + x.abs())))
print("trained:", own < 0.05 and abs(own - wanted) < 1e-3, *([] if abs(own - wanted) < 1e-3 else [own, wanted]))
