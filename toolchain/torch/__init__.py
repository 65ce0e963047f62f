"""ktc's kernel library as operators of PyTorch: for tensors of the CPU and of NVIDIA's GPUs.

They are functions as torch's own are, and registered with `torch.library` under `torch.ops.ktc`: they have gradients,
go through `torch.compile` without a graph break, run in the current stream, and can be captured in CUDA graphs. A
call's kernels are compiled at their first use, and kept in ktc's cache.
"""

try:
    import torch as _torch
except ImportError as error:
    raise ImportError("ktc.torch needs PyTorch: pip install 'ktc[torch]'", name="torch") from error

from ktc.torch.attention import flash_attention
from ktc.torch.custom_ops import CustomOp, CustomOpLibrary
from ktc.torch.grouped import grouped_matmul
from ktc.torch.heads import paged_attention, rope
from ktc.torch.images import avg_pool2d, conv2d, max_pool2d
from ktc.torch.products import batched_matmul, matmul
from ktc.torch.rows import cumsum, layer_norm, log_softmax, rms_norm, softmax
from ktc.torch.user_operators import operator

__all__ = (
    "CustomOp", "CustomOpLibrary", "avg_pool2d", "batched_matmul", "conv2d", "cumsum", "flash_attention",
    "grouped_matmul", "layer_norm", "log_softmax", "matmul", "max_pool2d", "operator", "paged_attention",
    "rms_norm", "rope", "softmax",
)  # fmt: skip

del _torch
