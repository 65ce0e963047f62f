"""Expressions, one file for each kind."""
