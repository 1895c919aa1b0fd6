# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The local runner as an object, under Beam's name for the module."""

from headrace.sdk.pipelines.beam_runners import (
    BundleBasedDirectRunner,
    DirectRunner,
    SwitchingDirectRunner,
)

__all__ = ["BundleBasedDirectRunner", "DirectRunner", "SwitchingDirectRunner"]
