"""What AIR has no form for."""

from ktc.diag.diagnostic import Bug


def unsupported(text: str) -> Bug:
    """Return the `Bug` for a piece of LLVM text that has no form in AIR."""
    return Bug(f"this has no form in AIR: {' '.join(text.split())[:300]}", "emit")
