# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Runners under Beam's names for the modules."""
