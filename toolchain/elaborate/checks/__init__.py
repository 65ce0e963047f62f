"""Checks of code that no instance reaches: generic bodies, defaults, unused functions."""
