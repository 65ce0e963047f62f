"""ktc: interop."""
