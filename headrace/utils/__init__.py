"""Timestamps and windowed values, under Beam's names for their modules."""
