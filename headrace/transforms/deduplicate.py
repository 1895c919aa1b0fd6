"""Deduplication, under Beam's path."""

from headrace.sdk.deduplicate import Deduplicate, DeduplicatePerKey

__all__ = ["Deduplicate", "DeduplicatePerKey"]
