"""ktc: an ahead-of-time compiler for a Pythonic GPU kernel language."""
