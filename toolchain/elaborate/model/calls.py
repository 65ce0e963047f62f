"""What resolving and lowering a call pass on: the chosen candidate, and operands that are fetched or written later."""

from typing import Any

from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.types import FunctionValue
from ktc.elaborate.model.values import Arg
from ktc.records import entity


@entity
class Candidate:
    """A function that fits a call.

    Args:
        slots: for each argument of the function: None for its default, an `Arg`, or a list of them.
    """

    instance: Instance
    slots: list[Any]
    cost: int


@entity
class Computed:
    """Where a value came from: an item of `base` at `args`, its field `name`, or what its `__getattr__` gave for it."""

    base: Any
    args: list[Arg]
    node: Any
    name: str = ""
    is_field: bool = False


@entity
class DeferredOperand:
    """An item, or what `__getattr__` gives for `name`, that is fetched when the other operands have been evaluated."""

    getter: FunctionValue
    args: list[Arg]
    node: Any
    name: str = ""
