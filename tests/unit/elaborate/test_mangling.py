"""Symbols follow from what an instance is, not from addresses of ktc's objects or the names of its classes."""

from typing import cast

from ktc.elaborate.model.elaboration import Elaboration
from ktc.elaborate.model.types import OPAQUE, UnboundParameter
from ktc.elaborate.types.mangling import key_text

NO_ELABORATION = cast("Elaboration", None)


def test_open_parameters_are_named_by_their_names() -> None:
    assert key_text(NO_ELABORATION, (UnboundParameter("dtype", 3), UnboundParameter("width", 4))) == "(?dtype,?width)"
    assert key_text(NO_ELABORATION, OPAQUE) == "?"
