"""Rebuilds on save: which files a program is made of, and what stays in memory between two builds of it."""
