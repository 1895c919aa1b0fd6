"""Runners under Beam's names for the modules."""
