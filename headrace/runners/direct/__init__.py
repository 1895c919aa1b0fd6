"""The local runner as an object, under Beam's names for it."""

from headrace.sdk.beam_runners import DirectRunner

__all__ = ["DirectRunner"]
