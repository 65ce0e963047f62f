"""Captures, escaping closures, and functions as values at run time."""
