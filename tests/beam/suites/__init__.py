"""Beam's own suites, with Headrace's runner for unmodified programs."""
