"""Questions that the syntax tree alone answers."""
