"""Statements, one file for each kind."""
