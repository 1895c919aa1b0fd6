# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Window mapping of side inputs, under Beam's path."""

from headrace.sdk.pardo.window_mapping import default_window_mapping_fn

__all__ = ["default_window_mapping_fn"]
