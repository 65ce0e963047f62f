"""Arrays of other libraries: where they lie, and exported functions that take them as tensors."""
