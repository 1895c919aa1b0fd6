# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Helpers for tests, under Beam's module path."""

from headrace.sdk.testing.temp_dirs import TempDir, compute_hash

__all__ = ["TempDir", "compute_hash"]
