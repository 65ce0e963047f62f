"""ktc: cli."""
