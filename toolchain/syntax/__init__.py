"""ktc: syntax."""
