"""Checks of arguments: the exception names the operator and the argument, as torch's own do."""

import torch


def are_tensors(operator: str, **values: object) -> None:
    """Check that arguments are tensors.

    Raises:
        TypeError: one is something else.
    """
    for name, value in values.items():
        if not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            raise TypeError(f"{operator}(): argument '{name}' must be Tensor, not {kind}")


def same(operator: str, first: str, one: torch.Tensor, second: str, other: torch.Tensor) -> None:
    """Check that two tensors have the same element type and device.

    Raises:
        RuntimeError: they have not.
    """
    if one.dtype != other.dtype:
        raise RuntimeError(
            f"{operator}(): expected {second} to have the dtype of {first}: {one.dtype} and {other.dtype}"
        )
    if one.device != other.device:
        text = f"expected all tensors to be on the same device: {first} is on {one.device}, {second} on {other.device}"
        raise RuntimeError(f"{operator}(): {text}")


def dtype_of(operator: str, name: str, value: torch.Tensor, allowed: frozenset[torch.dtype]) -> None:
    """Check the element type of a tensor.

    Raises:
        RuntimeError: the kernels do not take it.
    """
    if value.dtype not in allowed:
        names = ", ".join(sorted(str(one).removeprefix("torch.") for one in allowed))
        raise RuntimeError(f"{operator}(): {name} has dtype {value.dtype}; supported are {names}")


def strided(operator: str, name: str, value: torch.Tensor) -> None:
    """Refuse a tensor whose strides the kernels do not take.

    Raises:
        RuntimeError: always.
    """
    strides = tuple(value.stride())
    raise RuntimeError(
        f"{operator}(): {name} has strides {strides}, which the kernels do not take: pass {name}.contiguous()"
    )
