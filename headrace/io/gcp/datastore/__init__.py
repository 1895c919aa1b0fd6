# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Datastore, under Beam's name for the package."""
