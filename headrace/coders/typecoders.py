# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The registry of coders, under Beam's path."""

from headrace.sdk.coders.registry.coder_registry import CoderRegistry, registry

__all__ = ["CoderRegistry", "registry"]
