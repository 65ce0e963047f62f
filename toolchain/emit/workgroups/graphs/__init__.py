"""A kernel as a graph of blocks: control flow, uniformity of values, effects."""
