"""`ktc format`: a source text in the fixed style, with its comments and with the same tree."""
