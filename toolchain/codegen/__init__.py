"""ktc: codegen."""
