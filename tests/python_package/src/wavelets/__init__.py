"""Haar wavelets of numbers."""

from array import array

from wavelets.haar import step


def transformed(values: list[float]) -> list[float]:
    """Return means and half differences of pairs."""
    given, made = array("d", values), array("d", values)
    step(given, made, len(values))
    return list(made)
