"""Bodies of functions: prologues, destructors, the drained work list."""
