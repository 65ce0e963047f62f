"""Modules, imports and names."""
