"""Instances of functions: signatures, the work list, and the library's archive."""
