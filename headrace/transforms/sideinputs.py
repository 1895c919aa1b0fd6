"""Window mapping of side inputs, under Beam's path."""

from headrace.sdk.window_mapping import default_window_mapping_fn

__all__ = ["default_window_mapping_fn"]
