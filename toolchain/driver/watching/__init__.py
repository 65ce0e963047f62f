"""Rebuilds on save: which files a program is made of, and the state in memory between two builds of it."""
