"""Observation of runs: what happens in each round, for reports, the live page and exporters of metrics."""
