"""ktc: elaborate."""
