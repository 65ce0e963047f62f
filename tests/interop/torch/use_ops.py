"""The operators of the package `ops` beside this file."""

import torch
from ktc.torch import CustomOpLibrary

ops = CustomOpLibrary("ops")
x = torch.arange(6.0)
result = torch.empty_like(x)
ops.add_constant[{"value": 7}](result, x)
print(result)
