"""Operators of edition 2026."""
