"""Beam as an independent reference implementation: the same random cases, run by Beam's own code."""
