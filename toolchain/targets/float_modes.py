"""Relaxations of a kernel's floating-point arithmetic.

The default is exact: each operation rounds once, and subnormal numbers are numbers; only a product and a sum become one
operation (`fma`), which rounds once instead of twice.
"""

FLUSH, APPROXIMATE, REASSOCIATE, UNFUSED = 1, 2, 4, 8
MODES = {"ftz": FLUSH, "approx": APPROXIMATE, "reassoc": REASSOCIATE, "no-contract": UNFUSED}
"""ftz: subnormal numbers are 0; approx: divisions and square roots by the GPU's approximations; reassoc: sums and
products in any order; no-contract: no `fma` that the program does not call."""

FAST = FLUSH | APPROXIMATE | REASSOCIATE
VENDORS = ("nvidia", "amd")


class UnknownMode(Exception):
    """A word that is no mode."""


def mask_of(words: str) -> int:
    """Return the modes that words with commas between them name; "exact" is none, "fast" the first three.

    Raises:
        UnknownMode: with a text for the user.
    """
    mask = 0
    for word in filter(None, (part.strip() for part in words.split(","))):
        if word not in MODES and word not in ("fast", "exact"):
            raise UnknownMode(f"'{word}' is not a floating-point mode; the modes are exact, fast, {', '.join(MODES)}")
        mask |= {"fast": FAST, "exact": 0}.get(word, 0) | MODES.get(word, 0)
    return mask
