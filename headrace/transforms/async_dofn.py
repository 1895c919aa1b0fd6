# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Calls of DoFns in the background, under Beam's module path."""

from headrace.sdk.batching.async_dofn import AsyncWrapper

__all__ = ["AsyncWrapper"]
