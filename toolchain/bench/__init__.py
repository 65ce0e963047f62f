"""ktc: bench."""
