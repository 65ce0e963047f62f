"""Operators of PyTorch from exported functions of a program."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeAlias

import torch
from ktc.api.arrays.device_functions import DeviceCall
from ktc.api.libraries import Function

Allocate: TypeAlias = Callable[..., object]


def operator(
    function: Function, *, name: str = "", mutates_args: Sequence[str] = ()
) -> Callable[[Allocate], torch.library.CustomOpDef]:
    """Make an operator of PyTorch of an exported function; it is a decorator.

    The decorated function has PyTorch's annotations and returns tensors for the results, whose values do not matter:
    `torch.empty_like(x)`. Their number and order is that of the exported function's arguments which the decorated
    function does not have. It also gives the shapes to `torch.compile`.

    Args:
        function: takes tensors, as `ktc.load(…).name` has it.
        name: of the operator, "namespace::name"; by default "ktc_user::" and that of the decorated function.
        mutates_args: which of the decorated function's tensors are changed where they are.

    Returns:
        The operator, as `torch.library.custom_op` makes it: called as a function, with `register_autograd`.

    Raises:
        TypeError: the function takes no tensors, or the decorated function has an argument that it does not have.
    """
    if not isinstance(function, Function) or not isinstance(function.raw, DeviceCall):
        raise TypeError("ktc.torch.operator takes an exported function with tensors, from ktc.load")
    names = function.raw.names

    def decorate(allocate: Allocate) -> torch.library.CustomOpDef:
        own = list(inspect.signature(allocate).parameters)
        unknown = [one for one in own if one not in names]
        if unknown:
            raise TypeError(f"'{function.__name__}' has no argument '{unknown[0]}'; it takes {', '.join(names)}")
        made = [one for one in names if one not in own]

        @wraps(allocate)
        def compute(*args: object, **named: object) -> object:
            results = allocate(*args, **named)
            tensors = results if isinstance(results, tuple) else () if results is None else (results,)
            if len(tensors) != len(made):
                expected = ", ".join(made) or "nothing"
                raise TypeError(f"'{allocate.__name__}' must return tensors for {expected}, not {len(tensors)}")
            function(**dict(zip(made, tensors, strict=True)), **dict(zip(own, args, strict=False)), **named)
            return results

        title = name or f"ktc_user::{allocate.__name__}"
        found = torch.library.custom_op(title, compute, mutates_args=tuple(mutates_args))
        found.register_fake(allocate)
        return found

    return decorate


__all__ = ("operator",)
