"""A network of ktc's operators: trained, compiled by torch, and compared with torch's own operators."""

import ktc.torch as kt
import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    """A normalisation and two products, with what follows each product in the same kernel."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))
        self.up = torch.nn.Parameter(torch.randn(hidden, width) * width**-0.5)
        self.bias = torch.nn.Parameter(torch.zeros(hidden))
        self.down = torch.nn.Parameter(torch.randn(width, hidden) * hidden**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normal = kt.rms_norm(x, self.scale, 1e-6)
        between = kt.matmul(normal, self.up.mT, bias=self.bias, activation="gelu")
        return kt.matmul(between, self.down.mT, residual=x)


def main() -> None:
    """Train it to return its input backwards."""
    torch.manual_seed(0)
    block = Block(16, 64)
    x = torch.randn(32, 16)
    wanted = x.flip(-1)
    optimizer = torch.optim.Adam(block.parameters(), 0.01)
    for _ in range(200):
        optimizer.zero_grad()
        loss = F.mse_loss(block(x), wanted)
        loss.backward()
        optimizer.step()
    print("trained:", loss.item() < 0.05)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    print("compiled:", torch.allclose(compiled(x), block(x)))
    with torch.no_grad():
        normal = F.rms_norm(x, (16,), block.scale, 1e-6)
        own = F.linear(F.gelu(F.linear(normal, block.up, block.bias)), block.down) + x
        print("as torch's:", torch.allclose(block(x), own, atol=1e-5))


if __name__ == "__main__":
    main()
