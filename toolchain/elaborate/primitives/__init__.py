"""The closed table of primitive operations."""
