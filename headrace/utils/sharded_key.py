"""Keys with shards, under Beam's path."""

from headrace.sdk.group_into_batches import ShardedKey

__all__ = ["ShardedKey"]
