"""Classes of fields: what a data class would do, with code that is shared."""

import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest
from ktc.base.records import as_dict, entity, record, replace


@record
class Point:
    """Two numbers, and a note that does not count."""

    x: int
    y: int = 0
    note: Any = field(default=None, compare=False)


@dataclass(slots=True, unsafe_hash=True, repr=False)
class Plain:
    x: int
    y: int = 0


@entity
class Place:
    at: int
    name: str = ""


@entity
class Room(Place):
    doors: int = 1


@entity
class Shelf:
    at: int
    books: list[str] = field(default_factory=list)


MANY = record(type("Many", (), {"__annotations__": {f"field{at}": "int" for at in range(30)}}))


def test_records_are_compared_by_their_fields() -> None:
    assert Point(1) == Point(1, 0, "note") and hash(Point(1)) == hash(Point(x=1, y=0)) == hash(Plain(1))
    assert Point(1) != Point(1, 2) and Point(1) != Plain(1)
    assert repr(Point(1, note="n")) == "Point(x=1, y=0, note='n')"
    assert replace(Point(1, 2, "n"), y=3).note == "n"
    assert pickle.loads(pickle.dumps(Point(1, 2, "n"))).note == "n"
    assert Point.__match_args__ == ("x", "y", "note") and not hasattr(Point(1), "__dict__")


def test_entities_are_themselves_alone() -> None:
    assert Place(1) != Place(1) and Room(1, "hall").doors == 1 and Room(1, doors=2).doors == 2
    first, second = Shelf(1), Shelf(2)
    first.books.append("a")
    assert second.books == []


def test_a_record_as_a_dictionary() -> None:
    made = as_dict(Point(1, note=(Shelf(2, ["a"]), {"b": Place(3)})))
    assert made == {"x": 1, "y": 0, "note": ({"at": 2, "books": ["a"]}, {"b": {"at": 3, "name": ""}})}


def test_any_number_of_fields() -> None:
    made: Any = MANY
    assert made(*range(30)) == made(*range(30)) != made(*range(1, 31))
    assert made(*range(30)).field29 == 29


def test_wrong_calls_raise_what_python_raises() -> None:
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
