"""ktc: ir."""
