"""Coders: how values of a class become bytes, and how keys are compared."""
