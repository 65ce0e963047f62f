"""What references point into, and whether accesses conflict."""
