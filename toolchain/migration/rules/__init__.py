"""The rules: each finds the places of one or several kinds of changes in a text."""
