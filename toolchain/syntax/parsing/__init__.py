"""Tokens to syntax trees: grammar tables, the LALR driver, messages, recovery after errors."""
