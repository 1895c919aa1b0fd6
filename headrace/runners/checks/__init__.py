"""Checks while a pipeline runs: of times, of stored values, and that functions change nothing."""
