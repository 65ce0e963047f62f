"""ktc: emit."""
