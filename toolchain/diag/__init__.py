"""ktc: diag."""
