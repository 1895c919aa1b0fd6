"""The local runner as an object, under Beam's name for the module."""

from headrace.sdk.beam_runners import (
    BundleBasedDirectRunner,
    DirectRunner,
    SwitchingDirectRunner,
)

__all__ = ["BundleBasedDirectRunner", "DirectRunner", "SwitchingDirectRunner"]
