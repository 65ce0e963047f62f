"""Operators as torch has them: a schema, an implementation for CPU and CUDA, shapes without data, a gradient.

Output: objects that are called as functions. A call's launches depend, but for addresses, on the shapes, strides and
types of its tensors and on its options only. They are a plan, made and checked once and found again by these.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from ktc.torch.variants import Call, start

Shape: TypeAlias = tuple[int, ...]

NAMESPACE = "ktc"
LIBRARY = torch.library.Library(NAMESPACE, "FRAGMENT")

_MOST_PLANS = 4096
"""Of one operator, for programs whose shapes never repeat."""
_TYPES = (torch.Tensor, torch.nn.Parameter)
_STRIDES = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
_is_compiling: Call = torch.compiler.is_compiling
_records: Call = torch.is_grad_enabled
_dispatch_modes: Call = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_function_modes: Call = getattr(torch._C, "_len_torch_function_stack", lambda: 1)
_transforms: Call = getattr(torch._C._functorch, "peek_interpreter_stack", lambda: 1)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one call is computed.

    Attributes:
        results: the shape and the element type of each result; None for one that nobody asked for.
        call: the variant; None if there is nothing to compute. It takes the stream, the device, the addresses of
            results and tensors (0 where there is none), and `numbers`.
        single: the only result, with None for the element type of the first tensor.
    """

    device: int
    results: tuple[tuple[Shape, torch.dtype] | None, ...]
    call: Call | None
    numbers: tuple[object, ...]
    single: tuple[Shape, torch.dtype | None] | None = None


def has_watchers() -> bool:
    """Whether torch must see each call: a compilation, a mode (fake tensors, tracing) or a transform is active."""
    return bool(_is_compiling() or _dispatch_modes() or _function_modes() or _transforms() is not None)


def is_plain(value: object, records: bool) -> bool:
    """Whether a value is a tensor of the CPU or of a GPU that nothing but the operator needs to know of.

    Args:
        records: whether gradients are recorded.
    """
    if not isinstance(value, torch.Tensor) or type(value) not in _TYPES:
        return False
    return not (records and value.requires_grad) and bool(value.is_cuda or value.is_cpu)


class Operator:
    """An operator of torch, `torch.ops.ktc.NAME`.

    Attributes:
        overload: the registered overload of torch.
    """

    def __init__(
        self, name: str, schema: str, count: int, plan: Callable[..., Plan], fake: Call,
        gradient: Call | None = None, save: Call | None = None, writes: bool = False, free: int = 0,
    ) -> None:  # fmt: skip
        """Register an operator.

        Args:
            schema: its arguments and results, as torch writes them. Tensors come first.
            count: how many of its arguments are tensors.
            plan: checks arguments and returns how they are computed.
            fake: returns tensors of the results' shapes, of tensors without data.
            gradient, save: as `torch.library.register_autograd` has them.
            writes: its first tensor is the result.
            free: how many of the last arguments are numbers that change from call to call, so that no plan depends on
                them. They are passed to the variant after the plan's numbers.
        """
        self.name, self._count, self._plan, self._writes, self._free = name, count, plan, writes, free
        self._tensors = [word.split()[-1] for word in schema[1 : schema.index(") ->")].split(",")[:count]]
        self._plans: dict[object, Plan] = {}
        LIBRARY.define(f"{name}{schema}", tags=(_STRIDES, torch.Tag.pt2_compliant_tag))
        for device in ("CPU", "CUDA"):
            LIBRARY.impl(name, self._dispatched, device)
        torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=LIBRARY)
        if gradient is not None:
            torch.library.register_autograd(f"{NAMESPACE}::{name}", gradient, setup_context=save, lib=LIBRARY)
        self.overload = getattr(getattr(torch.ops, NAMESPACE), name).default

    def __call__(self, *arguments: Any) -> Any:
        """Compute it, of the schema's arguments, without torch's dispatcher where nothing would watch the call.

        Raises:
            TypeError: an argument is no tensor.
        """
        if has_watchers():
            return self.overload(*arguments)
        records = bool(_records())
        for one in arguments[: self._count]:
            if one is not None and not is_plain(one, records):
                self._require_tensors(arguments)
                return self.overload(*arguments)
        return self._run(*arguments)

    def _require_tensors(self, arguments: tuple[object, ...]) -> None:
        for name, one in zip(self._tensors, arguments, strict=False):
            if one is not None and not isinstance(one, torch.Tensor):
                raise TypeError(f"{self.name}(): argument '{name}' must be Tensor, not {type(one).__name__}")

    def _dispatched(self, *arguments: Any) -> Any:
        """Compute it, called by torch's dispatcher, which makes lists of tuples."""
        return self._run(*[tuple(one) if isinstance(one, list) else one for one in arguments])

    def _run(self, *arguments: Any) -> Any:
        count, free = self._count, ()
        if self._free:
            arguments, free = arguments[: -self._free], arguments[-self._free :]
        first = arguments[0]
        if count == 1:
            key = (first.shape, first.stride(), first.dtype, first.get_device(), *arguments[1:])
            addresses = [first.data_ptr()]
        else:
            words: list[object] = []
            addresses = []
            for one in arguments[:count]:
                if one is None:
                    words.append(None)
                    addresses.append(0)
                else:
                    words += (one.shape, one.stride(), one.dtype, one.get_device())
                    addresses.append(one.data_ptr())
            key = (*words, *arguments[count:])
        plan = self._plans.get(key) or self._new_plan(key, arguments)
        if self._writes:
            if plan.call is not None:
                start(plan.call, plan.device, *addresses, *plan.numbers, *free)
            return None
        if plan.single is not None:
            sizes, dtype = plan.single
            made = first.new_empty(sizes) if dtype is None else first.new_empty(sizes, dtype=dtype)
            if plan.call is not None:
                start(plan.call, plan.device, made.data_ptr(), *addresses, *plan.numbers, *free)
            return made
        several = [
            first.new_empty((0,), dtype=torch.float32) if one is None else first.new_empty(one[0], dtype=one[1])
            for one in plan.results
        ]
        if plan.call is not None:
            places = [0 if one is None else made.data_ptr() for one, made in zip(plan.results, several, strict=True)]
            start(plan.call, plan.device, *places, *addresses, *plan.numbers, *free)
        return tuple(several)

    def _new_plan(self, key: object, arguments: tuple[Any, ...]) -> Plan:
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        plan = self._plan(*arguments)
        if len(plan.results) == 1 and plan.results[0] is not None:
            sizes, dtype = plan.results[0]
            plan = replace(plan, single=(sizes, None if dtype == arguments[0].dtype else dtype))
        self._plans[key] = plan
        return plan
