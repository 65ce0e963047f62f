"""Attributes that are computed when they are asked for, once for each object."""

from collections.abc import Callable
from typing import Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class Lazy(Generic[Owner, Value]):
    """A method as an attribute: its result stands in the object from then on, where Python looks first.

    `functools.cached_property` takes a lock each time in Python 3.11, which is longer than most of what is found here.
    """

    def __init__(self, make: Callable[[Owner], Value]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, one: None, owner: type) -> "Lazy[Owner, Value]": ...

    @overload
    def __get__(self, one: Owner, owner: type) -> Value: ...

    def __get__(self, one: Owner | None, owner: type) -> "Lazy[Owner, Value] | Value":
        if one is None:
            return self
        value = self.make(one)
        one.__dict__[self.name] = value
        return value
