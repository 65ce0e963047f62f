"""The result of overload resolution: the chosen candidate."""

from ktc.base.records import entity
from ktc.elaborate.model.instance import Instance
from ktc.elaborate.model.values import Slot


@entity
class Candidate:
    """A function that fits a call.

    Args:
        slots: what each argument of the function gets.
    """

    instance: Instance
    slots: list[Slot]
    cost: int
