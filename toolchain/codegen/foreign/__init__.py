"""Calls of C with structs, and entry points for C and Python."""
