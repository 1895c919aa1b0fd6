# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Conversion of type hints to their normal form, under Beam's name for the module."""

from headrace.sdk.typehints.hints import normalized as convert_to_beam_type

__all__ = ["convert_to_beam_type"]
