"""Linking: what there is to link with, its command lines, and the files that it makes."""
