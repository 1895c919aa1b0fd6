# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Deduplication, under Beam's path."""

from headrace.sdk.batching.deduplicate import Deduplicate, DeduplicatePerKey

__all__ = ["Deduplicate", "DeduplicatePerKey"]
