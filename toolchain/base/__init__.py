"""ktc: base."""
