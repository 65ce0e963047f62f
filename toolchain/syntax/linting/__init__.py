"""Warnings that need no types."""
