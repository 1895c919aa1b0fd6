"""Runs as plain data: a script and a chain of groupings, as pipelines and as programs."""
