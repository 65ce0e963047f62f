"""Text to tokens, with indentation; and what literals stand for."""
