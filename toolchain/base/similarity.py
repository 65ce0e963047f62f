"""Which names look like a misspelt one."""

from collections.abc import Iterable


def close_matches(name: str, names: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return up to `n` of some names that look like a name, likeliest first."""
    from difflib import get_close_matches  # late: only for errors

    return get_close_matches(name, list(names), n, cutoff)


def similarity(one: str, other: str) -> float:
    """Return how much two names look alike, from 0 to 1."""
    from difflib import SequenceMatcher  # late: only for errors

    return SequenceMatcher(None, other, one).ratio()
