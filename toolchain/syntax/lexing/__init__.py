"""Text to tokens, with indentation; and the values of literals."""
