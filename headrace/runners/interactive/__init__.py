"""Beam's runner in notebooks, which is refused, under Beam's name for the package."""
