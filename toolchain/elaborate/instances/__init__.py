"""Instances of functions: signatures, the work list, and what the library's archive keeps."""
