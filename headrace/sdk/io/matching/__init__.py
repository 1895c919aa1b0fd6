"""Patterns of files: the files that match now, and those that match later."""
