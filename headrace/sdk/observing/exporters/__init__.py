"""Exporters: metrics and events of a run for other systems."""
