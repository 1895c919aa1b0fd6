# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Lookups for each element, under Beam's module path."""

from headrace.sdk.joins.enrichment import Enrichment, EnrichmentSourceHandler, cross_join

__all__ = ["Enrichment", "EnrichmentSourceHandler", "cross_join"]
