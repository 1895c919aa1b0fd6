"""Beam's portable runner, which is refused, under Beam's name for the module."""

from headrace.sdk.beam_runners import PortableRunner

__all__ = ["PortableRunner"]
