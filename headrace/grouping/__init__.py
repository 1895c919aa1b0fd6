"""Groupings: how elements, windows, triggers and the clock meet, one key at a time."""
