# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Base classes of transforms, under Beam's name for the module."""

from headrace.sdk.pipelines.transform import PTransform, ptransform_fn

__all__ = ["PTransform", "ptransform_fn"]
