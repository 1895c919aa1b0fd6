# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Keys with shards, under Beam's path."""

from headrace.sdk.batching.group_into_batches import ShardedKey

__all__ = ["ShardedKey"]
