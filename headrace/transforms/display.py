# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Display data, under Beam's name for the module."""

from headrace.sdk.typehints.display_data import DisplayData, DisplayDataItem, HasDisplayData

__all__ = ["DisplayData", "DisplayDataItem", "HasDisplayData"]
