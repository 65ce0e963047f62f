"""ktc: driver."""
