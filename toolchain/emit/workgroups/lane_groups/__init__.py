"""Loops inside of threads, run by sixteen neighbouring threads at once."""
