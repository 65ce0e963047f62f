"""Evaluation at compile time."""
