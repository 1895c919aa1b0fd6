# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Assertions for unittest, under Beam's name for the module."""

from headrace.sdk.testing.assertions.extra_assertions import ExtraAssertionsMixin

__all__ = ["ExtraAssertionsMixin"]
