"""Linking: the linkers of this machine, their command lines, and their output files."""
